from collections.abc import Sequence
from typing import Final

from _wire.records import BatchHeader
from coordinator.log.config import LogConfig
from coordinator.log.files import OpenFile
from coordinator.log.recovery.damage import Damage
from coordinator.log.segments.index import OffsetIndex, TimeIndex

NO_TIMESTAMP: Final = -1
READ_ENDS_MAX: Final = 32

class PrebuiltBatch:
    """A batch of the server's own, built with the offsets that it has in the log. It is not changed."""

    @property
    def data(self) -> bytes: ...
    @property
    def last_offset(self) -> int: ...
    def __init__(self, data: bytes, last_offset: int) -> None: ...

class SegmentFile:
    """The log file of a segment, where its batches are appended, and when its indexes get their next entry.

    The batches have offsets from `base_offset` (inclusive) to `next_offset` (exclusive).
    """

    base_offset: int
    next_offset: int
    size_bytes: int
    first_timestamp_ms: int
    """The largest timestamp of the first batch; NO_TIMESTAMP: there is none."""
    max_timestamp_ms: int
    offset_of_max_timestamp: int
    max_message_bytes: int
    file: OpenFile
    offset_index: OffsetIndex
    time_index: TimeIndex
    damages: list[Damage]
    """What is known to be damaged, by position. Reads go around it."""
    read_ends: dict[int, int]
    """Where the last reads ended: offset → position, of a few, oldest first. Readers go on there."""

    def __init__(self, base_offset: int, config: LogConfig) -> None:
        """`file` and the indexes are set before the first append."""
    def configure(self, config: LogConfig) -> None:
        """Use other settings from the next append on."""
    def note_read_end(self, offset: int, position: int) -> None:
        """A read ended before the batch at this offset, which begins at this position or will be appended there."""

    def forget_batches(self) -> None:
        """Be empty again; `file` and the indexes stay as they are."""
    def has_room_for(self, size_bytes: int, last_offset: int, timestamp_ms: int) -> bool:
        """Return whether batches fit into this segment; otherwise a new one must be rolled (LogSegment.shouldRoll).

        The age is the time from the first batch's timestamp to `timestamp_ms`; 0 if the first batch has no timestamp.
        """
    def append(self, batches: bytes | bytearray, headers: Sequence[BatchHeader]) -> None:
        """Write batches, whose offsets are assigned, with one write.

        Raises:
            OSError: the write failed; the segment is unchanged.
        """
    def append_prebuilt(self, data: bytes, batches: Sequence[PrebuiltBatch], max_timestamp_ms: int) -> None:
        """Write the server's own batches with one write; `data` is their concatenation.

        Raises:
            OSError: the write failed; the segment is unchanged.
        """
    def track_batch(self, size_in_bytes: int, last_offset: int, max_timestamp_ms: int) -> None:
        """Add a batch at the end of the file to the segment's state and, if it is due, to the indexes.

        See LogSegment.append.
        """
    def index_max_timestamp(self) -> None:
        """Add an entry with the largest timestamp, if there is one, to the time index."""
    def cut_torn_tail(self) -> None:
        """Remove the bytes of a failed write, which a recovery must not find. If this fails, the next call retries.

        Raises:
            OSError: the file cannot be truncated.
        """
