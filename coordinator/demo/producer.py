"""A stock kafka-python producer that numbers its records and reports where each one was stored.

    python -m coordinator.demo.producer --bootstrap HOST:PORT --topic orders --per-second 100

Reports: `produced` with records of [partition, offset, order]; `closed` after the last one is acknowledged.
"""

import queue

import click
from kafka import KafkaProducer

from coordinator.demo.reports import report, stop_when_stdin_closes


@click.command
@click.option("--bootstrap", required=True)
@click.option("--topic", required=True)
@click.option("--per-second", type=int, required=True)
def main(bootstrap: str, topic: str, per_second: int) -> None:
    """Produce until stdin closes."""
    stopping = stop_when_stdin_closes()
    acknowledged: queue.SimpleQueue[list[int]] = queue.SimpleQueue()
    producer = KafkaProducer(bootstrap_servers=bootstrap, client_id="producer", acks="all")
    order = 0
    while not stopping.wait(1 / per_second):
        # The callback runs on the producer's own thread; the order number has to travel with it.
        future = producer.send(topic, key=str(order).encode(), value=str(order).encode())
        future.add_callback(lambda stored, order=order: acknowledged.put([stored.partition, stored.offset, order]))
        future.add_errback(lambda error, order=order: report("not_produced", order=order, why=repr(error)))
        order += 1
        if order % per_second == 0:
            report("produced", records=_drain(acknowledged))
    producer.flush()
    producer.close()
    report("produced", records=_drain(acknowledged))
    report("closed", sent=order)


def _drain(acknowledged: "queue.SimpleQueue[list[int]]") -> list[list[int]]:
    return [acknowledged.get() for _ in range(acknowledged.qsize())]


if __name__ == "__main__":
    main()
