"""Whether a log is dirty enough to be cleaned, and how far (LogCleanerManager, LogToClean)."""

from collections.abc import Sequence

import msgspec

from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.segments.segment import Segment


class CleanableLog(msgspec.Struct, frozen=True):
    """A log and what a cleaning of it would read.

    Offsets before `first_dirty_offset` have been cleaned before; those from `first_uncleanable_offset` on, which is
    the base offset of a segment, are left alone.
    """

    log: PartitionLog
    first_dirty_offset: int
    first_uncleanable_offset: int
    clean_bytes: int
    cleanable_bytes: int
    is_overdue: bool
    """Whether a record has not been cleaned for `max.compaction.lag.ms`."""

    @property
    def dirty_ratio(self) -> float:
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0

    @property
    def is_due(self) -> bool:
        """Whether the log is to be cleaned now."""
        return self.cleanable_bytes > 0 and (
            self.is_overdue or self.dirty_ratio > self.log.config.min_cleanable_dirty_ratio
        )

    @property
    def segments(self) -> Sequence[Segment]:
        """The segments that may be cleaned, oldest first."""
        return [segment for segment in self.log.segments if segment.base_offset < self.first_uncleanable_offset]


def cleanable_log(log: PartitionLog, cleaned_to: int | None, last_stable_offset: int, now_ms: int) -> CleanableLog:
    """Return what a cleaning of a log would read.

    `cleaned_to` is the end of the part that was cleaned before, None if it was never cleaned. One that does not lie
    within the log does not count. Transactions that are decided end before `last_stable_offset`.

    Raises:
        OSError: the time at which a segment was written cannot be read.
    """
    first_dirty = log.log_start_offset
    if cleaned_to is not None and first_dirty < cleaned_to <= log.log_end_offset:
        first_dirty = cleaned_to
    finished = log.segments[:-1]
    dirty = [segment for segment in finished if segment.next_offset > first_dirty]
    uncleanable = _first_uncleanable_offset(log, dirty, last_stable_offset, now_ms)
    return CleanableLog(
        log=log,
        first_dirty_offset=min(first_dirty, uncleanable),
        first_uncleanable_offset=uncleanable,
        clean_bytes=sum(segment.size_bytes for segment in finished if segment.base_offset < first_dirty),
        cleanable_bytes=sum(segment.size_bytes for segment in dirty if segment.base_offset < uncleanable),
        is_overdue=_is_overdue(dirty, log.config.max_compaction_lag_ms, now_ms),
    )


def _first_uncleanable_offset(log: PartitionLog, dirty: Sequence[Segment], last_stable_offset: int, now_ms: int) -> int:
    """The base offset of the first segment that is active, not decided to its end, or too young."""
    end = log.segments[-1].base_offset if log.segments else log.log_start_offset
    lag_ms = log.config.min_compaction_lag_ms
    for segment in dirty:
        is_young = lag_ms > 0 and segment.largest_timestamp_ms() > now_ms - lag_ms
        if is_young or segment.next_offset > last_stable_offset:
            return segment.base_offset
    return end


def _is_overdue(dirty: Sequence[Segment], max_lag_ms: int, now_ms: int) -> bool:
    """Whether the first batch of a segment is older than allowed; one without a timestamp does not count."""
    oldest_ms = min((segment.first_timestamp_ms for segment in dirty if segment.first_timestamp_ms > 0), default=now_ms)
    return oldest_ms < now_ms - max_lag_ms
