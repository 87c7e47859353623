"""The offsets of a group that open transactions have committed, by partition and by producer (KIP-98, KIP-447).

Each operation costs as much as it has offsets to look at, however many others are pending. All is kept in dicts of
numbers and offsets, which the garbage collector need not look at.

Counterpart in Kafka: `OffsetMetadataManager.pendingTransactionalOffsets` and `openTransactions`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

import msgspec

from coordinator.core.causes import Requester
from coordinator.core.offsets.records import CommittedOffset

Holders = int | set[int]
"""The id of the producer with a pending offset for a partition; a set of them if there are several."""

UNKNOWN_COMMITTER: Final = Requester("", "")
"""Of offsets that were loaded: it is not stored who committed them."""

NO_PARTITIONS: Final[Mapping[int, Holders]] = {}


class OffsetsOfTopic(msgspec.Struct):
    """What one transaction committed in one topic."""

    offsets: dict[int, CommittedOffset] = msgspec.field(default_factory=dict)
    """Partition → offset."""
    orders: dict[int, int] = msgspec.field(default_factory=dict)
    """Partition → which of the pending offsets of the group it is, counted as they were appended."""


class OffsetsOfTransaction(msgspec.Struct):
    """What one transaction committed."""

    by_topic: dict[str, OffsetsOfTopic] = msgspec.field(default_factory=dict)
    """No topic without any."""
    count: int = 0
    committer: Requester = UNKNOWN_COMMITTER
    """The client that committed them last."""
    member_id: str = ""
    """The member that it named; empty if it named none, and after a load."""


@dataclass(slots=True, eq=False)
class PendingOffsets:  # noqa: PLW1641 - it changes
    """The pending offsets of a group."""

    by_producer: dict[int, OffsetsOfTransaction] = field(default_factory=dict)
    """Producer id → its pending offsets; no producer without any."""
    holders: dict[str, dict[int, Holders]] = field(default_factory=dict)
    """Topic → partition → who has an offset pending; no topic and no partition without any."""
    superseded: dict[str, dict[int, int]] = field(default_factory=dict)
    """Topic → partition → order: offsets up to it change nothing any more, as a later commit counts already (KIP-447).

    Only of partitions with a pending offset.
    """
    count: int = 0
    """How many offsets are pending."""
    last_order: int = 0

    def __len__(self) -> int:
        return self.count

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PendingOffsets) and list(self.in_order()) == list(other.in_order())

    def of_topic(self, topic: str) -> Mapping[int, Holders]:
        """The partitions with a pending offset."""
        return self.holders.get(topic, NO_PARTITIONS)

    def partitions(self) -> Iterator[tuple[str, int]]:
        """Topic and partition of those with a pending offset, each once."""
        return ((topic, partition) for topic, partitions in self.holders.items() for partition in partitions)

    def count_of(self, producer_id: int) -> int:
        """How many offsets the transaction of a producer has pending."""
        of_producer = self.by_producer.get(producer_id)
        return 0 if of_producer is None else of_producer.count

    def committer_of(self, producer_id: int) -> tuple[Requester, str]:
        """The client that committed last in the transaction of a producer, and the member that it named."""
        of_producer = self.by_producer[producer_id]
        return of_producer.committer, of_producer.member_id

    def note_committer(self, producer_id: int, committer: Requester, member_id: str) -> None:
        """Who has just committed in the transaction of a producer."""
        of_producer = self.by_producer.get(producer_id)
        if of_producer is not None:
            of_producer.committer, of_producer.member_id = committer, member_id

    def moved_back(
        self, producer_id: int, committed_offsets: Mapping[str, Mapping[int, CommittedOffset]], offsets_max: int | None
    ) -> dict[str, list[list[int]]]:
        """What `complete` would set back, if the transaction is committed: topic → [partition, from, to].

        `committed_offsets` are the committed offsets, topic → partition → offset.
        """
        found: dict[str, list[list[int]]] = {}
        of_producer = self.by_producer.get(producer_id, OffsetsOfTransaction())
        left = of_producer.count if offsets_max is None else min(offsets_max, of_producer.count)
        for topic, of_topic in islice(of_producer.by_topic.items(), left):
            committed_of_topic = committed_offsets.get(topic)
            if committed_of_topic is not None:
                back = [
                    [partition, had.offset, offset.offset]
                    for partition, offset in islice(of_topic.offsets.items(), left)
                    if (had := committed_of_topic.get(partition)) is not None
                    and offset.offset < had.offset
                    and not self._is_superseded(topic, partition, of_topic.orders[partition])
                ]
                if back:
                    found[topic] = back
            left -= min(left, len(of_topic.offsets))
            if not left:
                break
        return found

    def count_with(self, producer_id: int, committed: Mapping[str, Mapping[int, CommittedOffset]]) -> int:
        """How many offsets will be pending after a commit (topic → partition → offset) in a transaction."""
        of_producer = self.by_producer.get(producer_id, OffsetsOfTransaction()).by_topic
        count = self.count
        for topic, offsets in committed.items():
            existing = of_producer.get(topic)
            count += len(offsets) if existing is None else len(offsets.keys() - existing.offsets.keys())
        return count

    def in_order(self) -> Iterator[tuple[tuple[int, tuple[str, int]], CommittedOffset | None]]:
        """((producer id, (topic, partition)), offset) in the order of the appends; None if the offset is superseded."""
        found = sorted(
            (order, producer_id, topic, partition)
            for producer_id, of_producer in self.by_producer.items()
            for topic, of_topic in of_producer.by_topic.items()
            for partition, order in of_topic.orders.items()
        )
        for order, producer_id, topic, partition in found:
            offset = self.by_producer[producer_id].by_topic[topic].offsets[partition]
            yield (producer_id, (topic, partition)), None if self._is_superseded(topic, partition, order) else offset

    def _is_superseded(self, topic: str, partition: int, order: int) -> bool:
        return order <= self.superseded.get(topic, {}).get(partition, 0)

    def put(self, producer_id: int, topic: str, offsets: Mapping[int, CommittedOffset]) -> None:
        """Keep what a transaction commits (partition → offset) until it completes."""
        if not offsets:
            return
        of_producer = self.by_producer.setdefault(producer_id, OffsetsOfTransaction())
        of_topic = of_producer.by_topic.setdefault(topic, OffsetsOfTopic())
        before, first = len(of_topic.offsets), self.last_order + 1
        self.last_order += len(offsets)
        of_topic.offsets.update(offsets)
        of_topic.orders.update(zip(offsets, range(first, self.last_order + 1), strict=True))
        of_producer.count += len(of_topic.offsets) - before
        self.count += len(of_topic.offsets) - before
        holders = self.holders.setdefault(topic, {})
        for partition in offsets:
            holder = holders.setdefault(partition, producer_id)
            if isinstance(holder, set):
                holder.add(producer_id)
            elif holder != producer_id:
                holders[partition] = {holder, producer_id}

    def supersede(self, topic: str, partitions: Iterable[int]) -> None:
        """What is pending for these partitions changes nothing any more: they were committed to without transaction."""
        holders = self.holders.get(topic)
        if holders is not None:
            pending = [partition for partition in partitions if partition in holders]
            if pending:
                self.superseded.setdefault(topic, {}).update(dict.fromkeys(pending, self.last_order))

    def remove_partition(self, topic: str, partition: int) -> None:
        """Remove what is pending for a partition."""
        holder = self.of_topic(topic).get(partition)
        if holder is None:
            return
        for producer_id in holder if isinstance(holder, set) else (holder,):
            of_topic = self.by_producer[producer_id].by_topic[topic]
            del of_topic.offsets[partition], of_topic.orders[partition]
            self._forget(producer_id, topic, 1)
        self._forget_partition(topic, partition)

    def complete(
        self, producer_id: int, committed: bool, offsets_max: int | None
    ) -> Iterator[tuple[str, int, CommittedOffset]]:
        """End the transaction of a producer, or only for its first `offsets_max` offsets; None: all of them.

        Yields topic, partition and offset where its offset is the last that was appended. To be read to the end.
        """
        of_producer = self.by_producer.get(producer_id, OffsetsOfTransaction())
        left = of_producer.count if offsets_max is None else min(offsets_max, of_producer.count)
        for topic, of_topic in list(islice(of_producer.by_topic.items(), left)):
            if not left:
                break
            partitions = list(islice(of_topic.offsets, left))
            left -= len(partitions)
            for partition in partitions:
                offset, order = of_topic.offsets.pop(partition), of_topic.orders.pop(partition)
                is_last = committed and not self._is_superseded(topic, partition, order)
                holder = self.holders[topic][partition]
                if not isinstance(holder, set) or len(holder) == 1:
                    self._forget_partition(topic, partition)
                else:
                    holder.remove(producer_id)
                    if is_last:
                        self.superseded.setdefault(topic, {})[partition] = order
                if is_last:
                    yield topic, partition, offset
            self._forget(producer_id, topic, len(partitions))

    def _forget(self, producer_id: int, topic: str, count: int) -> None:
        """So many offsets that a producer had pending in a topic were removed."""
        of_producer = self.by_producer[producer_id]
        if not of_producer.by_topic[topic].offsets:
            del of_producer.by_topic[topic]
        of_producer.count -= count
        if not of_producer.count:
            del self.by_producer[producer_id]
        self.count -= count

    def _forget_partition(self, topic: str, partition: int) -> None:
        """Nothing is pending for the partition any more."""
        _remove(self.holders, topic, partition)
        _remove(self.superseded, topic, partition)


def _remove(by_topic: dict[str, Any], topic: str, partition: int) -> None:
    """Remove a partition, and its topic with the last one."""
    partitions = by_topic.get(topic)
    if partitions is not None:
        partitions.pop(partition, None)
        if not partitions:
            del by_topic[topic]
