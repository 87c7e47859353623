"""Whether the last records of a log are markers of transactions, which no consumer is given (KIP-98)."""

from typing import Final

from _wire.batch_times import HEAD_BYTES, placed_batches
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.segments.reads import position_of

MARKERS_READ: Final = 16
"""Offsets before the end of a log that are read to find its markers. They are read once, when it has been opened."""


def data_end_offset(log: PartitionLog) -> int:
    """The offset after the last record that consumers are given, or more: the end of the log where that is not known.

    Known are the markers that were written since the log was opened, and the last few before that, which are read.

    Raises:
        CorruptBatch: a batch is damaged.
        OSError: the log cannot be read.
    """
    end = log.log_end_offset
    if log.markers_end == end:
        return log.markers_from
    if log.appended_bytes:
        return end
    log.markers_from = log.markers_end = end  # also if it cannot be read
    log.markers_from = _read_from(log, max(log.log_start_offset, end - MARKERS_READ))
    return log.markers_from


def _read_from(log: PartitionLog, offset: int) -> int:
    end = log.log_end_offset
    if not log.segments.items or offset >= end:
        return end
    segment = log.segments.items[-1]
    data_end = offset = max(offset, segment.base_offset)
    position = position_of(segment, offset)
    while position < segment.size_bytes:
        head = segment.read_exactly(position, min(HEAD_BYTES, segment.size_bytes - position))
        batch = next(placed_batches(head), None)
        if batch is None:
            return end
        if not batch.is_control:
            data_end = batch.next_offset
        position += batch.size_bytes
    return min(data_end, end)
