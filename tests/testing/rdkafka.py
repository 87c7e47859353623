"""Stock consumers of confluent-kafka with the consumer protocol (KIP-848), each polled by a thread of its own."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError

POLL_SECONDS: Final = 0.05


class RdkafkaConsumer:
    """Consumes until it is closed, or stops polling for good when it is hung. `errors` are those that it reports."""

    def __init__(
        self, bootstrap: str, topics: Sequence[str], group_id: str, *, protocol: str = "consumer", **settings: Any
    ) -> None:
        self.client_id = str(settings["client_id"])
        self.values: list[bytes] = []
        self.read: list[tuple[str, int, int]] = []
        """Topic, partition and offset of each record."""
        self.errors: list[KafkaError] = []
        self._ending = threading.Event()
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group_id,
                "group.protocol": protocol,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "log_level": 2,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 100,
                **{name.replace("_", "."): value for name, value in settings.items()},
            }
        )
        self._consumer.subscribe(list(topics))
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Leave the group."""
        if not self._ending.is_set():
            self._ending.set()
            self._thread.join()
            self._consumer.close()

    def _poll(self) -> None:
        while not self._ending.is_set():
            message = self._consumer.poll(POLL_SECONDS)
            if message is None:
                continue
            error, value = message.error(), message.value()
            if error is not None:
                self.errors.append(error)
            elif value is not None:
                self.values.append(value)
                self.read.append((str(message.topic()), int(message.partition() or 0), int(message.offset() or 0)))
                self._consumer.commit(message=message)


@contextmanager
def consuming(
    bootstrap: str, topics: Sequence[str], group_id: str, count: int = 1, **settings: Any
) -> Iterator[list[RdkafkaConsumer]]:
    """So many consumers, with the client ids GROUP-1 and so on unless said otherwise, which are closed at the end."""
    with ExitStack() as stack:
        started = []
        for number in range(1, count + 1):
            own = {"client_id": f"{group_id}-{number}", **settings}
            one = RdkafkaConsumer(bootstrap, topics, group_id, **own)
            stack.callback(one.close)
            started.append(one)
        yield started
