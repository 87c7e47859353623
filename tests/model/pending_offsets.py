"""Committed and pending offsets of a group as a list in the order of the appends: slow, but simple."""

from dataclasses import dataclass, field

from coordinator.core.offsets.records import CommittedOffset


@dataclass
class ListedOffsets:
    """The slow twin of `CommittedOffsets`, for one topic."""

    committed: dict[int, CommittedOffset] = field(default_factory=dict)
    pending: list[tuple[int, int, CommittedOffset | None]] = field(default_factory=list)
    """(producer id, partition, offset) in the order of the appends; None: a later commit counts already."""

    def put(self, partition: int, offset: CommittedOffset) -> None:
        self.committed[partition] = offset
        self.pending = [(who, what, None if what == partition else each) for who, what, each in self.pending]

    def put_pending(self, producer_id: int, partition: int, offset: CommittedOffset) -> None:
        self.pending = [each for each in self.pending if each[:2] != (producer_id, partition)]
        self.pending.append((producer_id, partition, offset))

    def remove(self, partition: int) -> None:
        self.committed.pop(partition, None)
        self.pending = [each for each in self.pending if each[1] != partition]

    def complete(self, producer_id: int, committed: bool) -> None:
        left: list[tuple[int, int, CommittedOffset | None]] = []
        for who, partition, offset in self.pending:
            if who != producer_id:
                left.append((who, partition, offset))
            elif committed and offset is not None:
                self.committed[partition] = offset
                left = [(other, what, None if what == partition else each) for other, what, each in left]
        self.pending = left
