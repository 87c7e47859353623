"""The committed offsets of a group, whatever kind of group it is. Only events change them.

Counterpart in Kafka: `OffsetMetadataManager.Offsets`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from coordinator.core.offset_records import CommittedOffset


class TopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


class Producer(NamedTuple):
    """A transactional producer and its epoch (KIP-98)."""

    producer_id: int
    producer_epoch: int


class TransactionMarker(NamedTuple):
    """The end of a transaction, written to every partition that it touched (KIP-98)."""

    producer: Producer
    committed: bool
    coordinator_epoch: int


@dataclass(slots=True)
class CommittedOffsets:
    """The last committed offset of each partition, and the pending offsets of open transactions."""

    by_topic: dict[str, dict[int, CommittedOffset]] = field(default_factory=dict)
    """Topic → partition → committed offset; no topic without a partition."""
    pending: dict[tuple[int, TopicPartition], CommittedOffset | None] = field(default_factory=dict)
    """(producer id, partition) → what an open transaction committed, in the order in which it was appended.

    None: a later commit has replaced it already, so that completing the transaction changes nothing (KIP-447).
    """

    # Decisions read these.

    def get(self, tp: TopicPartition) -> CommittedOffset | None:
        return self.by_topic.get(tp.topic, {}).get(tp.partition)

    def has_pending(self, tp: TopicPartition) -> bool:
        """Whether an open transaction committed an offset for the partition."""
        return bool(self.pending) and any(pending == tp for _, pending in self.pending)

    def partitions(self) -> Iterator[TopicPartition]:
        """The partitions with a committed offset."""
        return (TopicPartition(topic, index) for topic, offsets in self.by_topic.items() for index in offsets)

    def partitions_with_any(self) -> dict[TopicPartition, None]:
        """The partitions with a committed offset or a pending one, each once."""
        return dict.fromkeys((*self.partitions(), *(tp for _, tp in self.pending)))

    # Events change the offsets by these.

    def put(self, topic: str, offsets: Mapping[int, CommittedOffset]) -> None:
        """Set committed offsets. They replace offsets of the same partitions that transactions have pending."""
        known = self.by_topic.get(topic)
        if known is None:
            self.by_topic[topic] = dict(offsets)
        else:
            known.update(offsets)
        if self.pending:
            for producer_id, tp in self.pending:
                if tp.topic == topic and tp.partition in offsets:
                    self.pending[producer_id, tp] = None

    def remove(self, tp: TopicPartition) -> None:
        """Remove the committed offset of a partition, and those that transactions have pending for it."""
        offsets = self.by_topic.get(tp.topic)
        if offsets is not None:
            offsets.pop(tp.partition, None)
            if not offsets:
                del self.by_topic[tp.topic]
        for key in [key for key in self.pending if key[1] == tp]:
            del self.pending[key]

    def put_pending(self, producer_id: int, tp: TopicPartition, offset: CommittedOffset) -> None:
        """Keep a transaction's offset until it completes; the order of the keys is that of the appends."""
        self.pending.pop((producer_id, tp), None)
        self.pending[producer_id, tp] = offset

    def complete_transaction(self, producer_id: int, committed: bool) -> None:
        """Commit or drop the pending offsets of a transaction; of two offsets for a partition the later append wins."""
        earlier: list[tuple[int, TopicPartition]] = []
        for key, offset in list(self.pending.items()):
            if key[0] != producer_id:
                earlier.append(key)
                continue
            del self.pending[key]
            if committed and offset is not None:
                tp = key[1]
                self.by_topic.setdefault(tp.topic, {})[tp.partition] = offset
                self.pending.update(dict.fromkeys(other for other in earlier if other[1] == tp))
