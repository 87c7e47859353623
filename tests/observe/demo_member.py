"""A consumer as a process: LIBRARY BOOTSTRAP TOPIC GROUP CLIENT_ID PROTOCOL. Ends in order at SIGTERM.

LIBRARY: kafka-python or confluent-kafka; PROTOCOL: classic or consumer (KIP-848, confluent-kafka alone). It prints a
line for each assignment.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any, Final

SESSION_MS: Final = 3_000
POLL_SECONDS: Final = 0.2


def main() -> None:
    library, *arguments = sys.argv[1:]
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    _LIBRARIES[library](stopping, *arguments)


def print_assigned(partitions: Iterable[Any]) -> None:
    print("assigned", len(list(partitions)), flush=True)


def with_kafka_python(
    stopping: threading.Event, bootstrap: str, topic: str, group: str, client_id: str, protocol: str
) -> None:
    from kafka import ConsumerRebalanceListener, KafkaConsumer

    assert protocol == "classic"

    class Listener(ConsumerRebalanceListener):
        def on_partitions_revoked(self, revoked: Any) -> None:
            """Nothing to do."""

        def on_partitions_assigned(self, assigned: Any) -> None:
            print_assigned(assigned)

    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=group,
        client_id=client_id,
        session_timeout_ms=SESSION_MS,
        heartbeat_interval_ms=SESSION_MS // 6,
    )
    consumer.subscribe([topic], listener=Listener())
    while not stopping.is_set():
        consumer.poll(timeout_ms=int(POLL_SECONDS * 1000))
    consumer.close()


def with_confluent_kafka(
    stopping: threading.Event, bootstrap: str, topic: str, group: str, client_id: str, protocol: str
) -> None:
    from confluent_kafka import Consumer

    settings: dict[str, Any] = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "client.id": client_id,
        "group.protocol": protocol,
    }
    if protocol == "classic":
        settings |= {"session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": SESSION_MS // 6}
    consumer = Consumer(settings)
    consumer.subscribe([topic], on_assign=lambda _, partitions: print_assigned(partitions))
    while not stopping.is_set():
        consumer.poll(POLL_SECONDS)
    consumer.close()


_LIBRARIES: Final[dict[str, Callable[..., None]]] = {
    "kafka-python": with_kafka_python,
    "confluent-kafka": with_confluent_kafka,
}

if __name__ == "__main__":
    main()
