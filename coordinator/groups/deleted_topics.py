"""Which topics are gone while committed offsets in them are still stored.

Counterpart in Kafka: `GroupCoordinatorService.onPartitionsDeleted`.
"""

from collections.abc import Callable, Container, Iterable

from coordinator.core.offsets.delete import GoneTopics


class DeletedTopics:
    """Remembers, by partition of `__consumer_offsets`, the deleted topics whose offsets it still has to delete.

    A partition that is being loaded takes no commits. So the offsets in it are those of topics that existed when the
    load began and were not deleted since; that a topic of the same name was created meanwhile changes nothing. The
    record is kept in memory only: a topic that is deleted and created again just before a crash keeps the offsets of
    those partitions that were not loaded, or had not appended yet, when it was deleted. A group that is being rebuilt
    alone (`failed_keys.py`) deletes its offsets afterwards, and keeps them if its partition has to be loaded before.
    """

    def __init__(self, existing_topics: Callable[[], Container[str]]) -> None:
        """`existing_topics` returns the names at the time of the call; they do not change afterwards."""
        self._existing_topics = existing_topics
        self.partitions: set[int] = set()
        """Those about which something is remembered."""
        self._before_load: dict[int, Container[str]] = {}
        self._deleted: dict[int, set[str]] = {}

    def load_begins(self, partitions: Iterable[int]) -> None:
        """Note which topics exist. A load that is tried again goes by what the first one noted."""
        existing = self._existing_topics()
        for partition in partitions:
            self.partitions.add(partition)
            self._before_load.setdefault(partition, existing)

    def delete(self, partition: int, topics: Iterable[str]) -> None:
        """The topics are gone, and the partition has to forget the offsets in them."""
        self.partitions.add(partition)
        self._deleted.setdefault(partition, set()).update(topics)

    def gone_for(self, partition: int) -> GoneTopics:
        """Which topics are gone for a partition that was just loaded."""
        return GoneTopics(frozenset(self._deleted.get(partition, ())), self._before_load[partition])

    def forgotten(self, partition: int) -> None:
        """The partition has deleted all these offsets."""
        self.partitions.discard(partition)
        self._before_load.pop(partition, None)
        self._deleted.pop(partition, None)

    def unload(self, partition: int) -> None:
        """Another node takes care of the partition."""
        self.forgotten(partition)
