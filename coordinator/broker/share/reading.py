"""What a share partition knows of its log without asking it: how much there is to read, and how much of it at once."""

from typing import Final

from coordinator.broker.share.fetched_batches import FetchedBatches
from coordinator.log.partition.partition_log import PartitionLog

READ_FIRST_BYTES: Final = 1 << 17
"""What is read at first, at most. Only if that has too few records, more is: clients ask for 50 MB."""
READ_FIRST_BYTES_MIN: Final = 1 << 13
"""What is read at first, at least: the records that come next may be larger."""
TO_SPARE: Final = 2
"""A read is so many times as large as if all records were as large as those of the one before."""
NOWHERE: Final = -1


class LogReading:
    """Where a share partition reads its log. A fetch looks at that before it reads, and seldom at the log itself."""

    def __init__(self, log: PartitionLog) -> None:
        self._log = log
        self._record_bytes = READ_FIRST_BYTES
        """The bytes of a record, in the read before; at first so many that all is read that may be."""
        self._offset = NOWHERE
        self._skipped_bytes = 0
        """The bytes of the log before `_offset`, of all that were ever appended to it."""
        self._is_summed = False
        """Whether they are the sum of what was read, and not found in the log."""

    def first_bytes(self, records: int) -> int:
        """What to read at first for so many records."""
        return min(max(TO_SPARE * records * self._record_bytes, READ_FIRST_BYTES_MIN), READ_FIRST_BYTES)

    def available_bytes(self, offset: int, served_bytes: int) -> int:
        """The bytes from an offset on, of those of all appended ones that are served.

        Raises:
            MalformedMessage: a batch on the way to the offset is damaged.
            OffsetOutOfRange: the log does not have the offset.
            OSError: the log cannot be read.
        """
        if offset != self._offset:
            self._count(offset)
        left_bytes = served_bytes - self._skipped_bytes
        if left_bytes <= 0 and self._is_summed and offset < self._log.high_watermark:
            # Compaction may have made batches larger since they were counted.
            self._count(offset)
            left_bytes = served_bytes - self._skipped_bytes
        return max(left_bytes, 0)

    def _count(self, offset: int) -> None:
        self._skipped_bytes = self._log.appended_bytes - self._log.bytes_from(offset)
        self._offset, self._is_summed = offset, False

    def begins_before_log(self, offset: int) -> bool:
        """Whether the log has lost an offset since it was counted from there."""
        return offset == self._offset and offset < self._log.log_start_offset

    def forget(self) -> None:
        """What was counted is no longer right: the log is asked again."""
        self._offset = NOWHERE

    def was_read(self, from_offset: int, read: FetchedBatches, target: int, next_offset: int) -> None:
        """Batches were read from an offset on, for records up to `target`; the next fetch begins at `next_offset`."""
        if read.last_offset >= target:
            self._record_bytes = read.bytes_through(target) // (target - from_offset + 1) + 1
        if from_offset == self._offset and from_offset < next_offset <= read.last_offset + 1:
            self._skipped_bytes += read.bytes_before(next_offset)
            self._offset, self._is_summed = next_offset, True
