"""Compares the records that were produced, read and committed, to check the claims of the demo."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

Report = dict[str, Any]


class Record(NamedTuple):
    """A record of the topic: its partition, its offset, and the number that its producer assigned."""

    partition: int
    offset: int
    order: int


def records(reports: Iterable[Report], event: str) -> list[Record]:
    """Return the records of all reports of one event ("produced" or "read"), in order."""
    return [Record(*record) for report in reports if report["event"] == event for record in report["records"]]


def committed(reports: Iterable[Report]) -> dict[int, int]:
    """Return partition → the highest committed offset in the reports."""
    next_offsets: dict[int, int] = {}
    for report in reports:
        if report["event"] == "committed":
            for partition, offset in report["offsets"]:
                next_offsets[partition] = max(offset, next_offsets.get(partition, 0))
    return next_offsets


def uncommitted(reports: Sequence[Report]) -> set[Record]:
    """Return the records that a process read but did not commit. If it is killed, other members read them again."""
    next_offsets = committed(reports)
    return {record for record in records(reports, "read") if record.offset >= next_offsets.get(record.partition, 0)}


def lost(produced: Iterable[Record], read: Iterable[Record]) -> set[Record]:
    """Return the records that were produced but not read."""
    return set(produced) - set(read)


def read_twice(read: Iterable[Record], allowed: set[Record]) -> set[Record]:
    """Return the records that were read more than once, without those in `allowed`."""
    return {record for record, times in Counter(read).items() if times > 1} - allowed


def resumed_elsewhere(reports: Iterable[Report], committed_offsets: dict[int, int]) -> dict[int, int]:
    """Return partition → the first offset read, for partitions where it differs from the committed offset."""
    first_read: dict[int, int] = {}
    for record in records(reports, "read"):
        first_read[record.partition] = min(record.offset, first_read.get(record.partition, record.offset))
    return {
        partition: offset for partition, offset in first_read.items() if offset != committed_offsets.get(partition, 0)
    }
