"""The events of the committed offsets of a group. See `events.py`."""

from collections.abc import Mapping
from dataclasses import dataclass

from coordinator.core.committed_offsets import Producer, TopicPartition
from coordinator.core.group import Group
from coordinator.core.offset_records import CommittedOffset


@dataclass(slots=True)
class OffsetsCommitted:
    """Offsets were committed, topic → partition → offset: those of one request that were accepted."""

    group_id: str
    at_ms: int
    offsets: Mapping[str, Mapping[int, CommittedOffset]]

    def apply(self, group: Group) -> None:
        for topic, committed in self.offsets.items():
            group.offsets.put(topic, committed)


@dataclass(slots=True)
class TransactionalOffsetsCommitted:
    """Offsets that take effect when their transaction is committed (KIP-98, KIP-447)."""

    group_id: str
    at_ms: int
    producer: Producer
    offsets: Mapping[str, Mapping[int, CommittedOffset]]

    def apply(self, group: Group) -> None:
        for topic, committed in self.offsets.items():
            for partition, offset in committed.items():
                group.offsets.put_pending(self.producer.producer_id, TopicPartition(topic, partition), offset)


@dataclass(slots=True)
class TransactionCompleted:
    """A transaction with pending offsets of the group was committed or aborted."""

    group_id: str
    at_ms: int
    producer: Producer
    committed: bool

    def apply(self, group: Group) -> None:
        group.offsets.complete_transaction(self.producer.producer_id, self.committed)


@dataclass(slots=True)
class OffsetsDeleted:
    """Committed offsets that an administrator deleted, or that went with their group or topic."""

    group_id: str
    at_ms: int
    partitions: tuple[TopicPartition, ...]

    def apply(self, group: Group) -> None:
        for tp in self.partitions:
            group.offsets.remove(tp)


@dataclass(slots=True)
class OffsetsExpired:
    """Committed offsets that were not renewed for `offsets.retention.minutes`, or whose own retention time is over."""

    group_id: str
    at_ms: int
    partitions: tuple[TopicPartition, ...]

    def apply(self, group: Group) -> None:
        for tp in self.partitions:
            group.offsets.remove(tp)
