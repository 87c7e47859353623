"""A log that is read at any offset: for fetches, for lookups and for replays."""

from collections.abc import Generator, Iterator

from _wire.records import BatchHeader
from coordinator.log.errors import OffsetOutOfRange
from coordinator.log.partition.flushable_log import FlushableLog
from coordinator.log.partition.sequential_reads import view_on
from coordinator.log.segments import reads as segment_reads

REPLAY_BYTES = 1 << 20


class ReadableLog(FlushableLog):
    """The records from `log_start_offset` on."""

    log_start_offset: int

    def read(
        self, offset: int, max_bytes: int, *, at_least_one_batch: bool = True, before_offset: int | None = None
    ) -> bytes:
        """As `view`, in bytes of their own."""
        found = self.view(offset, max_bytes, at_least_one_batch=at_least_one_batch, before_offset=before_offset)
        return found if isinstance(found, bytes) else bytes(found)

    def read_steps(self, offset: int, bytes_max: int) -> Generator[None, None, bytes]:
        """As `read`, for who reads logs of other nodes, too. This one is here, so the result comes at once."""
        yield from ()
        return self.read(offset, bytes_max, before_offset=self.log_end_offset)

    def view(
        self, offset: int, max_bytes: int, *, at_least_one_batch: bool = True, before_offset: int | None = None
    ) -> bytes | memoryview:
        """Return whole batches, starting with the one that contains `offset`; the caller skips the records before it.

        At most `max_bytes` are returned, or one larger batch if `at_least_one_batch`. The batches come from one
        segment, so more may follow. Batches that start at `before_offset` or later are left out. The result is empty at
        the end of the log.

        Raises:
            CorruptBatch: there is no whole batch where one is expected. Checksums are not verified.
            OffsetOutOfRange: `offset` is before `log_start_offset` or after `log_end_offset`.
            OSError: the log cannot be read.
        """
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise OffsetOutOfRange(self.name, offset, self.log_start_offset, self.log_end_offset)
        limit = self.high_watermark if before_offset is None else before_offset
        following = view_on(self, offset, max_bytes, limit)
        if following is not None:
            return following
        segments = self.segments
        for segment in segments.items[segments.index_of(offset) :]:
            if offset >= limit:
                break
            data = segment_reads.read(
                segment, offset, max_bytes, at_least_one_batch=at_least_one_batch, before_offset=limit
            )
            if data or segment_reads.position_of(segment, offset) < segment.size_bytes:
                return data
        return b""

    def bytes_from(self, offset: int) -> int:
        """Return the bytes of the batches from the one that contains `offset` to the end of the log.

        Raises:
            CorruptBatch: a batch on the way to the offset is damaged.
            OffsetOutOfRange: `offset` is before `log_start_offset` or after `log_end_offset`.
            OSError: the log cannot be read.
        """
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise OffsetOutOfRange(self.name, offset, self.log_start_offset, self.log_end_offset)
        if offset == self.log_end_offset:
            return 0
        first = self.segments.index_of(offset)
        size_bytes = sum(segment.size_bytes for segment in self.segments.items[first:])
        return size_bytes - segment_reads.position_of(self.segments.items[first], offset)

    def batches(self, from_offset: int, read_bytes: int = REPLAY_BYTES) -> Iterator[tuple[BatchHeader, bytes]]:
        """Iterate over the batches, from the one that contains `from_offset` to the end of the log.

        Batches that are appended during the iteration are included. `read_bytes` are read at a time, more for a larger
        batch.

        Raises:
            CorruptBatch: a checksum is wrong, a batch is not whole, or its offsets do not follow those before it.
            OffsetOutOfRange: `from_offset` is before `log_start_offset` or after `log_end_offset`.
            OSError: the log cannot be read.
        """
        if not self.log_start_offset <= from_offset <= self.log_end_offset:
            raise OffsetOutOfRange(self.name, from_offset, self.log_start_offset, self.log_end_offset)
        offset = from_offset
        # Segments may be deleted, or replaced by a cleaned one, during the iteration.
        while (segment := self.segments.after(offset)) is not None:
            segment_reads.check_damages_again(segment)
            yield from segment_reads.batches(segment, offset, read_bytes)
            offset = max(offset, segment.next_offset)

    def offset_after_damage(self, offset: int) -> int:
        """Return where a reader goes on after an offset that is known to be damaged; else the next segment's start."""
        for segment in self.segments.items[self.segments.index_of(offset) :]:
            if segment.base_offset > offset:
                return segment.base_offset
            for damage in segment.damages:
                if damage.first_offset <= offset < damage.next_offset:
                    return damage.next_offset
        return self.log_end_offset
