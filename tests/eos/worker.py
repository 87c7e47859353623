"""A process that copies records from one topic to another, each batch and its offsets in one transaction (librdkafka).

python -m tests.eos.worker BOOTSTRAP GROUP TRANSACTIONAL_ID SOURCE SINK ALIVE

The file ALIVE is touched after each batch: librdkafka's send_offsets_to_transaction may hang forever when the broker
was restarted (its issues 5456 and 5511), and a worker that does nothing has to be replaced.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

RECORDS_AT_ONCE: Final = 25
POLL_SECONDS: Final = 0.2
SECONDS: Final = 30
SESSION_MS: Final = 6_000


class Worker:
    """A consumer and a producer, which are replaced after an error that they do not get over."""

    def __init__(self, bootstrap: str, group: str, transactional_id: str, source: str, sink: str) -> None:
        self._sink = sink
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "session.timeout.ms": SESSION_MS,
                "heartbeat.interval.ms": 500,
                "reconnect.backoff.max.ms": 500,
            }
        )
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": 10_000,
                "reconnect.backoff.max.ms": 500,
            }
        )
        self._producer.init_transactions(SECONDS)
        self._consumer.subscribe([source])

    def copy_next(self) -> None:
        """Copy what there is, in one transaction.

        Raises:
            KafkaException: the clients have to be replaced.
        """
        messages: list[Any] = [
            each for each in self._consumer.consume(RECORDS_AT_ONCE, POLL_SECONDS) if each.error() is None
        ]
        if not messages:
            return
        self._producer.begin_transaction()
        try:
            for message in messages:
                self._producer.produce(self._sink, message.value(), partition=message.partition())
            self._producer.send_offsets_to_transaction(
                _next_offsets(messages), self._consumer.consumer_group_metadata(), SECONDS
            )
            self._commit()
        except KafkaException as problem:
            if problem.args[0].fatal() or not problem.args[0].txn_requires_abort():
                raise
            self._abort()
            for tp in _first_offsets(messages):
                self._consumer.seek(tp)

    def _commit(self) -> None:
        _until_final(self._producer.commit_transaction)

    def _abort(self) -> None:
        _until_final(self._producer.abort_transaction)

    def close(self) -> None:
        self._consumer.close()


def _until_final(end: Callable[[float], object]) -> None:
    while True:
        try:
            end(SECONDS)
            return
        except KafkaException as problem:
            if not problem.args[0].retriable():
                raise
            print("again:", problem, flush=True)


def _next_offsets(messages: list[Any]) -> list[TopicPartition]:
    last = {message.partition(): message for message in messages}
    return [TopicPartition(each.topic(), partition, each.offset() + 1) for partition, each in last.items()]


def _first_offsets(messages: list[Any]) -> list[TopicPartition]:
    first = {message.partition(): message for message in reversed(messages)}
    return [TopicPartition(each.topic(), partition, each.offset()) for partition, each in first.items()]


def main() -> None:
    alive = Path(sys.argv[-1])
    while True:
        try:
            worker = Worker(*sys.argv[1:-1])
        except KafkaException as problem:
            print("cannot begin:", problem, flush=True)
            continue
        try:
            while True:
                worker.copy_next()
                alive.touch()
        except KafkaException as problem:
            print("replaced:", problem, flush=True)
        worker.close()


if __name__ == "__main__":
    main()
