"""The topics of the world: they come, grow, go and come again, and producers write to them, also in transactions."""

from collections.abc import Callable, Collection, Container, Mapping
from typing import Final, NamedTuple

from tests.world.spans import FOREVER

RECORDS_PER_SECOND: Final = 20
"""Of each partition."""
NO_ID: Final = bytes(16)

Partition = tuple[str, bytes, int]
"""Name and id of the topic, and the index: partitions of a topic that was made again are other ones."""


class TopicChange(NamedTuple):
    """What an administrator did to a topic. `partitions` is how many it has from then on."""

    at_ms: int
    name: str
    topic_id: bytes
    partitions: int


class Transaction:
    """A transaction of a producer that writes to one partition. It ends by itself, or never."""

    def __init__(self, name: str, partition: Partition, first_offset: int, started_ms: int) -> None:
        self.name, self.partition = name, partition
        self.first_offset, self.started_ms = first_offset, started_ms
        self.ended_ms = FOREVER

    def is_open_at(self, at_ms: int) -> bool:
        return self.started_ms <= at_ms < self.ended_ms


class Topics:
    """What the coordinator and its audit read of the cluster, and what clients see in Metadata."""

    def __init__(self, now_ms: Callable[[], int], when_changed: Callable[[], None] = lambda: None) -> None:
        self._now_ms, self._when_changed = now_ms, when_changed
        self._count: dict[str, int] = {}
        self._ids: dict[str, bytes] = {}
        self._names: dict[bytes, str] = {}
        self._created: dict[tuple[bytes, int], int] = {}
        self._deleted: dict[bytes, int] = {}
        self._last_id = 0
        self.topics_version = 0
        self.created_version = 0
        self.changes: list[TopicChange] = []
        self.transactions: list[Transaction] = []

    def begin_transaction(self, topic: str, index: int) -> Transaction:
        """A producer writes to a partition, and has not committed or aborted that."""
        end = self.log_end_offset(topic, index)
        assert end is not None
        name = f"producer-{len(self.transactions)}"
        begun = Transaction(name, self.partition(topic, index), end, self._now_ms())
        self.transactions.append(begun)
        return begun

    def create(self, name: str, partitions: int) -> None:
        """A new topic, or more partitions."""
        is_new = name not in self._count
        if not is_new and partitions <= self._count[name]:
            return
        if is_new:
            self._last_id += 1
            self._ids[name] = self._last_id.to_bytes(16, "big")
            self._names[self._ids[name]] = name
        for index in range(self._count.get(name, 0), partitions):
            self._created[self._ids[name], index] = self._now_ms()
        self._count[name] = partitions
        if is_new:
            self.created_version = self.topics_version + 1
        self._changed(name)

    def delete(self, name: str) -> None:
        topic_id = self._ids.pop(name)
        del self._count[name], self._names[topic_id]
        self._deleted[topic_id] = self._now_ms()
        self.topics_version += 1
        self.changes.append(TopicChange(self._now_ms(), name, topic_id, 0))
        self._when_changed()

    def _changed(self, name: str) -> None:
        self.topics_version += 1
        self.changes.append(TopicChange(self._now_ms(), name, self._ids[name], self._count[name]))
        self._when_changed()

    # ---- as the coordinator sees them

    def partition_count(self, name: str) -> int:
        return self._count.get(name, 0)

    @property
    def topics(self) -> Mapping[str, int]:
        """Name → partitions, of those that there are."""
        return self._count

    def names(self) -> Container[str]:
        return frozenset(self._count)

    def has_metadata(self, topic: str) -> bool:
        return True

    def existing(self, names: Collection[str]) -> set[str]:
        return self._count.keys() & set(names)

    def topic_id(self, name: str) -> bytes:
        return self._ids.get(name, NO_ID)

    def topic_name(self, topic_id: bytes) -> str | None:
        return self._names.get(topic_id)

    def log_end_offset(self, topic: str, partition: int) -> int | None:
        if partition >= self._count.get(topic, 0):
            return None
        return self.log_end_at(self.partition(topic, partition), self._now_ms())

    def data_end_offset(self, topic: str, partition: int) -> int | None:
        return self.log_end_offset(topic, partition)

    def last_stable_offset(self, topic: str, partition: int) -> int | None:
        """Up to where read_committed reads now."""
        if partition >= self._count.get(topic, 0):
            return None
        return self.last_stable_at(self.partition(topic, partition), self._now_ms())

    def last_stable_at(self, partition: Partition, at_ms: int) -> int | None:
        end = self.log_end_at(partition, at_ms)
        begun = self.open_at(partition, at_ms)
        return end if begun is None else begun.first_offset

    def open_at(self, partition: Partition, at_ms: int) -> Transaction | None:
        """The transaction that has been open for the longest time in a partition."""
        found = (
            transaction
            for transaction in self.transactions
            if transaction.partition == partition and transaction.is_open_at(at_ms)
        )
        return min(found, key=lambda each: each.started_ms, default=None)

    def appended_ms(self, partition: Partition, offset: int) -> int | None:
        """When the record at an offset was written, at least, as all records are written one after the other."""
        _, topic_id, index = partition
        created_ms = self._created.get((topic_id, index))
        return None if created_ms is None else created_ms + -(-(offset + 1) * 1000 // RECORDS_PER_SECOND)

    # ---- as the world sees them

    def partition(self, name: str, index: int) -> Partition:
        return name, self.topic_id(name), index

    def log_end_at(self, partition: Partition, at_ms: int) -> int | None:
        """The log end offset at a time; None: the partition was not there."""
        _, topic_id, index = partition
        created_ms = self._created.get((topic_id, index))
        if created_ms is None or at_ms < created_ms or at_ms >= self._deleted.get(topic_id, FOREVER):
            return None
        return (at_ms - created_ms) * RECORDS_PER_SECOND // 1000
