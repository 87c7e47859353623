from coordinator.broker.share.fetched_batches import FetchedBatches
from coordinator.log.partition.partition_log import PartitionLog

READ_FIRST_BYTES: int
"""What is read at first, at most. Only if that has too few records, more is: clients ask for 50 MB."""
READ_FIRST_BYTES_MIN: int
"""What is read at first, at least: the records that come next may be larger."""

class LogReading:
    """Where a share partition reads its log. A fetch looks at that before it reads, and seldom at the log itself."""

    def __init__(self, log: PartitionLog) -> None: ...
    def first_bytes(self, records: int) -> int:
        """What to read at first for so many records."""

    def available_bytes(self, offset: int, served_bytes: int) -> int:
        """The bytes from an offset on, of those of all appended ones that are served.

        Raises:
            MalformedMessage: a batch on the way to the offset is damaged.
            OffsetOutOfRange: the log does not have the offset.
            OSError: the log cannot be read.
        """

    def begins_before_log(self, offset: int) -> bool:
        """Whether the log has lost an offset since it was counted from there."""

    def forget(self) -> None:
        """What was counted is no longer right: the log is asked again."""

    def was_read(self, from_offset: int, read: FetchedBatches, target: int, next_offset: int) -> None:
        """Batches were read from an offset on, for records up to `target`; the next fetch begins at `next_offset`."""
