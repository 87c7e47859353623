"""The committed offsets of a group, whatever kind of group it is. Only events change them.

Counterpart in Kafka: `OffsetMetadataManager.Offsets`.
"""

from collections.abc import Iterator, Mapping
from sys import intern

import msgspec

from coordinator.core.offsets.pending_offsets import PendingOffsets
from coordinator.core.offsets.records import CommittedOffset
from coordinator.core.topic_partition import TopicPartition


class CommittedOffsets(msgspec.Struct):
    """The last committed offset of each partition, and the pending offsets of open transactions."""

    by_topic: dict[str, dict[int, CommittedOffset]] = msgspec.field(default_factory=dict)
    """Topic → partition → committed offset; no topic without a partition."""
    pending: PendingOffsets | None = None
    """The offsets of open transactions; None: there are none."""

    # Decisions read these.

    def get(self, tp: TopicPartition) -> CommittedOffset | None:
        return self.by_topic.get(tp.topic, {}).get(tp.partition)

    def has_pending(self, tp: TopicPartition) -> bool:
        """Whether an open transaction committed an offset for the partition."""
        return self.pending is not None and tp.partition in self.pending.of_topic(tp.topic)

    def has_any(self, tp: TopicPartition) -> bool:
        """Whether the partition has a committed offset or a pending one."""
        return tp.partition in self.by_topic.get(tp.topic, ()) or self.has_pending(tp)

    def pending_of(self, producer_id: int) -> int:
        """How many offsets the transaction of a producer has pending."""
        return 0 if self.pending is None else self.pending.count_of(producer_id)

    def partitions(self) -> Iterator[TopicPartition]:
        """The partitions with a committed offset."""
        return (TopicPartition(topic, index) for topic, offsets in self.by_topic.items() for index in offsets)

    def partitions_with_any(self) -> dict[TopicPartition, None]:
        """The partitions with a committed offset or a pending one, each once."""
        pending = () if self.pending is None else self.pending.partitions()
        return dict.fromkeys((*self.partitions(), *(TopicPartition(*tp) for tp in pending)))

    # Events change the offsets by these.

    def put(self, topic: str, offsets: Mapping[int, CommittedOffset]) -> None:
        """Set committed offsets. They replace offsets of the same partitions that transactions have pending."""
        existing = self.by_topic.get(topic)
        if existing is None:
            self.by_topic[intern(topic)] = dict(offsets)  # one name for all groups: each request has its own
        else:
            existing.update(offsets)
        if self.pending is not None:
            self.pending.supersede(topic, offsets)

    def remove(self, tp: TopicPartition) -> None:
        """Remove the committed offset of a partition, and those that transactions have pending for it."""
        offsets = self.by_topic.get(tp.topic)
        if offsets is not None:
            offsets.pop(tp.partition, None)
            if not offsets:
                del self.by_topic[tp.topic]
        if self.pending is not None:
            self.pending.remove_partition(tp.topic, tp.partition)
            self._forget_pending_if_empty()

    def put_pending(self, producer_id: int, topic: str, offsets: Mapping[int, CommittedOffset]) -> None:
        """Keep a transaction's offsets until it completes."""
        if self.pending is None:
            self.pending = PendingOffsets()
        self.pending.put(producer_id, topic, offsets)

    def complete_transaction(self, producer_id: int, committed: bool, offsets_max: int | None = None) -> None:
        """Commit or drop the pending offsets of a transaction; of two offsets for a partition the later append wins.

        `offsets_max` limits how many of them; the others stay pending.
        """
        if self.pending is None:
            return
        for topic, partition, offset in self.pending.complete(producer_id, committed, offsets_max):
            self.by_topic.setdefault(topic, {})[partition] = offset
        self._forget_pending_if_empty()

    def _forget_pending_if_empty(self) -> None:
        if not self.pending:
            self.pending = None
