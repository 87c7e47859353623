"""Search of a log for the records of a time (UnifiedLog.fetchOffsetByTimestamp)."""

from collections.abc import Callable
from typing import NamedTuple

from _wire.records import find_max_timestamp, find_timestamp
from coordinator.log.partition_log import PartitionLog
from coordinator.log.segment import NO_TIMESTAMP, Segment
from coordinator.log.segment_reads import offset_before


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


def _live_segments(log: PartitionLog) -> list[Segment]:
    return [segment for segment in log.segments if segment.next_offset > log.log_start_offset]
