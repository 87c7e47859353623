"""The topics of the world: they come, grow, go and come again, and producers write to them all the time."""

from collections.abc import Callable, Collection, Container
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


class Topics:
    """What the coordinator and its audit read of the cluster, and what clients see in Metadata."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._count: dict[str, int] = {}
        self._ids: dict[str, bytes] = {}
        self._names: dict[bytes, str] = {}
        self._created: dict[tuple[bytes, int], int] = {}
        self._deleted: dict[bytes, int] = {}
        self._last_id = 0
        self.topics_version = 0
        self.created_version = 0
        self.changes: list[TopicChange] = []

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
        self._changed(name)
        if is_new:
            self.created_version = self.topics_version

    def delete(self, name: str) -> None:
        topic_id = self._ids.pop(name)
        del self._count[name], self._names[topic_id]
        self._deleted[topic_id] = self._now_ms()
        self.topics_version += 1
        self.changes.append(TopicChange(self._now_ms(), name, topic_id, 0))

    def _changed(self, name: str) -> None:
        self.topics_version += 1
        self.changes.append(TopicChange(self._now_ms(), name, self._ids[name], self._count[name]))

    # ---- as the coordinator sees them

    def partition_count(self, name: str) -> int:
        return self._count.get(name, 0)

    def names(self) -> Container[str]:
        return frozenset(self._count)

    def is_known(self, topic: str) -> bool:
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
