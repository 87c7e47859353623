"""Book-keeping over what was produced, read and committed: is every claim of the demo true?"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

Report = dict[str, Any]


class Record(NamedTuple):
    """A record of the topic: where it lies, and the number its producer gave it."""

    partition: int
    offset: int
    order: int


def records(reports: Iterable[Report], event: str) -> list[Record]:
    """The records of all reports of one kind, in their order: "produced" or "read"."""
    return [Record(*record) for report in reports if report["event"] == event for record in report["records"]]


def committed(reports: Iterable[Report]) -> dict[int, int]:
    """Partition → the highest offset that was committed, by any of those who reported."""
    next_offsets: dict[int, int] = {}
    for report in reports:
        if report["event"] == "committed":
            for partition, offset in report["offsets"]:
                next_offsets[partition] = max(offset, next_offsets.get(partition, 0))
    return next_offsets


def uncommitted(reports: Sequence[Report]) -> set[Record]:
    """What a process read past its last commits: what it takes with it when it is killed, and others read again."""
    next_offsets = committed(reports)
    return {record for record in records(reports, "read") if record.offset >= next_offsets.get(record.partition, 0)}


def lost(produced: Iterable[Record], read: Iterable[Record]) -> set[Record]:
    """Records that nobody read."""
    return set(produced) - set(read)


def read_twice(read: Iterable[Record], allowed: set[Record]) -> set[Record]:
    """Records read more than once, but for those in `allowed`."""
    return {record for record, times in Counter(read).items() if times > 1} - allowed


def resumed_elsewhere(reports: Iterable[Report], committed_offsets: dict[int, int]) -> dict[int, int]:
    """Partition → the first offset read, where that is another one than was committed for it."""
    first_read: dict[int, int] = {}
    for record in records(reports, "read"):
        first_read[record.partition] = min(record.offset, first_read.get(record.partition, record.offset))
    return {
        partition: offset for partition, offset in first_read.items() if offset != committed_offsets.get(partition, 0)
    }
