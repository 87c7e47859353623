"""Search of a log for the records of a time (UnifiedLog.fetchOffsetByTimestamp)."""

from collections.abc import Callable
from typing import Final, NamedTuple

from _wire.batch_times import HEAD_BYTES, batch_timestamp
from _wire.records import find_max_timestamp, find_timestamp
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.segments.reads import offset_before, position_of
from coordinator.log.segments.segment import Segment
from coordinator.log.segments.segment_file import NO_TIMESTAMP

SEARCH_BYTES_MAX: Final = 2 << 20
"""How far apart two entries of an offset index may be for `timestamp_at` to look between them."""


class TimestampedOffset(NamedTuple):
    """A record that was found by its timestamp."""

    offset: int
    timestamp_ms: int
    leader_epoch: int


def offset_for_timestamp(
    log: PartitionLog, timestamp_ms: int, pause: Callable[[], object] | None = None
) -> TimestampedOffset | None:
    """Return the first record whose timestamp is `timestamp_ms` or later; None if there is none.

    `pause` is called after some thousand records of a batch; the log may be another when it returns.

    Raises:
        CorruptBatch: a batch is damaged.
        OSError: the log cannot be read.
    """
    late = (segment for segment in _live_segments(log) if segment.max_timestamp_ms >= timestamp_ms)
    if (segment := next(late, None)) is None:
        return None
    start = offset_before(segment, timestamp_ms)
    for header, batch in log.batches(max(start, log.log_start_offset)):
        if header.max_timestamp_ms >= timestamp_ms:
            found = find_timestamp(batch, timestamp_ms, log.log_start_offset, pause)
            if found is not None:
                return TimestampedOffset(*found)
    return None


def max_timestamp(log: PartitionLog, pause: Callable[[], object] | None = None) -> TimestampedOffset | None:
    """Return the first of the records with the greatest timestamp (KIP-734); None if no record has a timestamp.

    `pause` is called as in `offset_for_timestamp`.

    Raises:
        CorruptBatch: a batch is damaged.
        OSError: the log cannot be read.
    """
    latest = max(_live_segments(log), key=lambda segment: segment.max_timestamp_ms, default=None)
    if latest is None or latest.max_timestamp_ms == NO_TIMESTAMP:
        return None
    offset = max(latest.offset_of_max_timestamp, log.log_start_offset)
    data = log.read(offset, 0, before_offset=log.log_end_offset)
    found = find_max_timestamp(data, pause)
    return None if found is None else TimestampedOffset(*found)


def timestamp_at(log: PartitionLog, offset: int) -> int | None:
    """The timestamp (ms) of the first record from `offset` on, as the header of its batch tells it.

    None if there is no such record, or it has no timestamp, or the offset index is too sparse to find it by few reads.

    Raises:
        CorruptBatch: the batch, or one on the way to it, is damaged.
        OSError: the log cannot be read.
    """
    offset = max(offset, log.log_start_offset)
    segment = log.segments.after(offset)
    if segment is None:
        return None
    offset = max(offset, segment.base_offset)
    if _search_bytes(segment, offset) > SEARCH_BYTES_MAX:
        return None
    position = position_of(segment, offset)
    if position < segment.size_bytes:
        return batch_timestamp(segment.read_exactly(position, min(HEAD_BYTES, segment.size_bytes - position)))
    return None


def _search_bytes(segment: Segment, offset: int) -> int:
    """The bytes between the index entries before and after an offset: that many are read to find it, at most."""
    index = segment.offset_index
    entry = index.entry_before(offset - segment.base_offset)
    number, position = (-1, 0) if entry is None else (entry[0], entry[2])
    end = index.positions[number + 1] if number + 1 < len(index.positions) else segment.size_bytes
    return end - position


def _live_segments(log: PartitionLog) -> list[Segment]:
    return [segment for segment in log.segments if segment.next_offset > log.log_start_offset]
