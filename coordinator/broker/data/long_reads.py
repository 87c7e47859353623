"""Reads much of one partition in steps: a client may ask for `fetch.max.bytes` of it, and batches may be tiny."""

from collections.abc import Callable
from typing import Final

from _wire.records import CorruptBatch, next_offset_after
from coordinator.log.errors import OffsetOutOfRange
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.runtime.slices import Steps

PART_BYTES: Final = 2 << 20
"""What is read in one step: a millisecond, or several where each record has a batch of its own."""


def read_part(
    log: PartitionLog, offset: int, max_bytes: int, *, at_least_one_batch: bool, before_offset: int | None
) -> bytes | memoryview:
    """As `PartitionLog.view`, but no more than `PART_BYTES`, or one larger batch."""
    part_bytes = min(max_bytes, PART_BYTES)
    part = log.view(offset, part_bytes, at_least_one_batch=at_least_one_batch, before_offset=before_offset)
    if part or part_bytes == max_bytes:
        return part
    return log.view(offset, max_bytes, at_least_one_batch=False, before_offset=before_offset)


def read_on(
    log: PartitionLog,
    first: bytes | memoryview,
    max_bytes: int,
    before_offset: int,
    is_current: Callable[[], bool],
) -> Steps[bytes | memoryview]:
    """Return `first` and the batches after it that begin before `before_offset`, `max_bytes` together at most.

    What can no longer be read ends the result: the next fetch begins there, and gets the error. `is_current` says after
    each pause whether the log is still that of the partition.
    """
    records, offset = bytearray(first), next_offset_after(first)
    while (left_bytes := max_bytes - len(records)) > 0:
        yield
        if not is_current():
            break
        try:
            part = read_part(log, offset, left_bytes, at_least_one_batch=False, before_offset=before_offset)
        except (OffsetOutOfRange, OSError, CorruptBatch):
            break
        if not part:
            break
        records += part
        offset = next_offset_after(part)
    return memoryview(records)
