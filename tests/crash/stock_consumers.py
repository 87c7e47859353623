"""Stock consumers of confluent-kafka in a consumer group (KIP-848), which go on while their server is killed."""

from collections.abc import Mapping
from typing import Final

from tests.testing.rdkafka import RdkafkaConsumer
from tests.waiting import wait_for

COUNT: Final = 2
CATCH_UP_SECONDS: Final = 60


class StockConsumers:
    """They read some topics together, and commit what they have read."""

    def __init__(self, topics: list[str]) -> None:
        self._topics = topics
        self._consumers: list[RdkafkaConsumer] = []

    def start(self, bootstrap: str) -> None:
        """Once the topics exist."""
        self._consumers = [
            RdkafkaConsumer(bootstrap, self._topics, "stock-consumers", client_id=f"stock-{number}")
            for number in range(COUNT)
        ]

    @property
    def have_started(self) -> bool:
        return bool(self._consumers)

    def check(self, written: Mapping[tuple[str, int], int]) -> int:
        """Each of so many records by topic and partition is read, by one of them at least; returns how many that are.

        Raises:
            AssertionError: one is not, or an error ended a consumer.
        """
        wanted = {(topic, partition, offset) for (topic, partition), end in written.items() for offset in range(end)}
        self._wait_for(wanted)
        fatal = [error for consumer in self._consumers for error in consumer.errors if error.fatal()]
        assert not fatal, f"a consumer ended: {fatal}"
        return len(wanted)

    def _wait_for(self, wanted: set[tuple[str, int, int]]) -> None:
        def is_read() -> bool:
            return wanted <= {each for consumer in self._consumers for each in list(consumer.read)}

        wait_for(is_read, CATCH_UP_SECONDS, f"the consumers to read {len(wanted)} records")

    def close(self) -> None:
        for consumer in self._consumers:
            consumer.close()
