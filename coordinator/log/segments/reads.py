"""Reading of a segment: the search for an offset or a time, and reads that go around damage (LogSegment.java)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from _wire.records import (
    BATCH_HEADER_BYTES,
    BatchHeader,
    CorruptBatch,
    batch_headers,
    damaged_batch,
    end_of_whole_batches,
    find_batch,
    next_offset_after,
)
from coordinator.config.key import INT64_MAX
from coordinator.log.recovery.damage import Damage, DamagedOffsets, scan
from coordinator.log.segments.batch_header import (
    DELTA_POSITION,
    HEAD_BYTES,
    LENGTH_END,
    MAGIC_POSITION,
    OFFSET_BYTES,
    RECORD_FORMAT,
    TIMESTAMP_BYTES,
    TIMESTAMPS_END,
)
from coordinator.log.segments.segment import Segment
from coordinator.logger import logger

SEARCH_BYTES: Final = 8 * 1024
"""Bytes of one read of a search. An index position is seldom more than index.interval.bytes before the batch."""


def position_of(segment: Segment, offset: int) -> int:
    """Return the position of the batch that contains `offset` or is the first after it; the end if there is none.

    Raises:
        CorruptBatch: the offset lies in a damaged batch, or a batch on the way to it is damaged.
        OSError: the file cannot be read.
    """
    if not segment.damages and (read_end := segment.read_ends.get(offset)) is not None:
        return read_end
    start, expected = _start_of_search(segment, offset)
    try:
        return _position_from(segment, start, expected, offset)
    except CorruptBatch as problem:
        if not _look_for_damage(segment, start, expected, problem.offset + 1):
            # What looked like damage may be a gap, as compaction leaves them.
            segment.has_gaps = True
    start, expected = _start_of_search(segment, offset)
    return _position_from(segment, start, expected, offset)


def _start_of_search(segment: Segment, offset: int) -> tuple[int, int]:
    """Position and lowest offset of a batch at or before the one that contains `offset`.

    Raises:
        CorruptBatch: the offset lies in a damaged batch.
    """
    start, expected = _indexed_position(segment, offset)
    for damage in segment.damages:
        if damage.first_offset <= offset < damage.next_offset:
            raise damage.error()
        if damage.next_offset <= offset and damage.end > start:
            start, expected = damage.end, damage.next_offset
    return start, expected


def _indexed_position(segment: Segment, offset: int) -> tuple[int, int]:
    """As `_start_of_search`, by the offset index. Entries that do not name the start of their batch are dropped."""
    while (entry := segment.offset_index.entry_before(offset - segment.base_offset)) is not None:
        number, relative_offset, position = entry
        head = segment.file.read_at(position, HEAD_BYTES)
        if len(head) == HEAD_BYTES and head[MAGIC_POSITION] == RECORD_FORMAT:
            base_offset = int.from_bytes(head[:OFFSET_BYTES], "big", signed=True)
            delta = int.from_bytes(head[DELTA_POSITION:], "big", signed=True)
            if base_offset + delta == segment.base_offset + relative_offset:
                return position, base_offset
        _report_index(segment, segment.offset_index.path)
        segment.offset_index.drop(number)
    return 0, segment.base_offset


def _report_index(segment: Segment, path: Path) -> None:
    """Log one line about an index entry that does not fit the log file."""
    logger.warning("an entry of an index does not fit its log file; it is left out", file=str(path))


def _position_from(segment: Segment, position: int, lowest_offset: int, offset: int) -> int:
    """As `position_of`, from a batch on that is not after it and that begins at `lowest_offset` or later."""
    end = _next_damage(segment, position)
    while position < end:
        data = segment.read_exactly(position, min(SEARCH_BYTES, end - position))
        step, found = _find_batch(segment, data, offset, lowest_offset, position)
        position, lowest_offset = position + step, -1
        if found:
            return position
        if step == 0:
            raise _corrupt(segment, position, "", f"{len(data)} bytes are less than a header")
    if position > end or (end == segment.size_bytes and segment.base_offset <= offset < segment.next_offset):
        raise _corrupt(segment, position, "batch_length", f"offset {offset} is not found before the end of the segment")
    return position


def _next_damage(segment: Segment, position: int) -> int:
    """The position of the first damage from a position on; the end of the segment if there is none."""
    if not segment.damages:
        return segment.size_bytes
    return next((damage.position for damage in segment.damages if damage.position >= position), segment.size_bytes)


def _find_batch(segment: Segment, data: bytes, offset: int, lowest_offset: int, position: int) -> tuple[int, bool]:
    try:
        return find_batch(data, offset, lowest_offset, segment.has_gaps)
    except CorruptBatch as problem:
        raise _corrupt(segment, position + problem.offset, problem.field, problem.why) from None


def _look_for_damage(segment: Segment, position: int, expected: int, before: int) -> bool:
    """Read the batches from `position` up to `before` with their checksums; note what is damaged and log it.

    Returns:
        Whether there is damage that was not known.
    """
    found = False
    end = _next_damage(segment, position)
    scanned = scan(
        segment, position, end, expected, next_base_offset=max(segment.next_offset, expected), may_have_gaps=True
    )
    for item in scanned:
        if isinstance(item, Damage):
            segment.note_damage(item)
            found = True
        if item.position >= before:
            break
    return found


def check_damages_again(segment: Segment) -> None:
    """Forget what is no longer damaged: what was read wrongly once may be right on the disk."""
    for damage in list(segment.damages):
        scanned = scan(
            segment,
            damage.position,
            damage.end,
            damage.first_offset,
            next_base_offset=damage.next_offset,
            may_have_gaps=True,
        )
        if damage.size_bytes and not any(isinstance(item, Damage) for item in scanned):
            segment.damages.remove(damage)


def read(
    segment: Segment, offset: int, max_bytes: int, *, at_least_one_batch: bool, before_offset: int
) -> bytes | memoryview:
    """Return whole batches, starting with the one that contains `offset`. Their checksums are verified.

    Raises:
        CorruptBatch: the batch that contains `offset` is damaged.
        OSError: the file cannot be read.
    """
    try:
        position = position_of(segment, offset)
    except DamagedOffsets:
        check_damages_again(segment)
        position = position_of(segment, offset)
    try:
        data = _read_at(segment, position, max_bytes, at_least_one_batch, before_offset)
    except CorruptBatch:
        if not _damaged_up_to(segment, offset, position):
            raise
    else:
        damaged = damaged_batch(data, offset)
        if damaged == 0 and not _damaged_up_to(segment, offset, position):
            # There was a gap before the first batch, as compaction leaves them.
            damaged = damaged_batch(data, INT64_MAX)
        if damaged < 0 or not _damaged_up_to(segment, offset, position + damaged):
            if data and damaged < 0:
                segment.note_read_end(next_offset_after(data), position + len(data))
            return data
    return _read_at(segment, position_of(segment, offset), max_bytes, at_least_one_batch, before_offset)


def _damaged_up_to(segment: Segment, offset: int, position: int) -> bool:
    """Look for damage from before the batch that contains `offset` on, up to the batch at a later position."""
    start, expected = _start_of_search(segment, offset)
    return _look_for_damage(segment, start, expected, position + 1)


def _read_at(
    segment: Segment, position: int, max_bytes: int, at_least_one_batch: bool, before_offset: int
) -> bytes | memoryview:
    """Return whole batches from `position`, which is the start of a batch or the end of the segment."""
    left = _end_of_good(segment, position) - position
    data = segment.read_exactly(position, max(0, min(max_bytes, left)))
    end = end_of_whole_batches(data, before_offset)
    if end == 0 and left > 0:
        base_offset, size_bytes = _offset_and_size_at(segment, position)
        at_least_one_batch = at_least_one_batch and base_offset < before_offset
        return segment.read_exactly(position, size_bytes) if at_least_one_batch else b""
    return data if end == len(data) else memoryview(data)[:end]


def _end_of_good(segment: Segment, position: int) -> int:
    """The end of the batches that can be read from a position on.

    Raises:
        CorruptBatch: the position is that of a damaged batch.
    """
    for damage in segment.damages:
        if damage.position == position:
            raise damage.error()
        if damage.position > position:
            return damage.position
    return segment.size_bytes


def _offset_and_size_at(segment: Segment, position: int) -> tuple[int, int]:
    """Return the base offset and the size in bytes of the batch at `position`, which is in the file completely."""
    left = _end_of_good(segment, position) - position
    head = segment.read_exactly(position, min(LENGTH_END, left))
    base_offset = int.from_bytes(head[:OFFSET_BYTES], "big", signed=True)
    size_bytes = LENGTH_END + int.from_bytes(head[OFFSET_BYTES:], "big", signed=True)
    if not BATCH_HEADER_BYTES <= size_bytes <= left:
        raise _corrupt(segment, position, "batch_length", f"a batch of {size_bytes} bytes where {left} bytes are left")
    if not segment.base_offset <= base_offset < segment.next_offset:
        raise _corrupt(
            segment, position, "base_offset", f"{base_offset} in a segment that ends at {segment.next_offset}"
        )
    return base_offset, size_bytes


def batches(segment: Segment, offset: int, read_bytes: int) -> Iterator[tuple[BatchHeader, bytes]]:
    """Iterate over the batches, from the one that contains `offset` to the end of the segment.

    Batches that are appended during the iteration are included. `read_bytes` are read at a time, more for a larger
    batch.

    Raises:
        CorruptBatch: a checksum is wrong, a batch is not whole, or its offsets do not follow those before it.
        OSError: the file cannot be read.
    """
    position, lowest_offset = position_of(segment, offset), segment.base_offset
    while position < segment.size_bytes:
        data = _read_at(segment, position, read_bytes, at_least_one_batch=True, before_offset=INT64_MAX)
        try:
            headers = batch_headers(data)
        except CorruptBatch as problem:
            _look_for_damage(segment, position, lowest_offset, position + problem.offset + 1)
            raise _corrupt(segment, position + problem.offset, problem.field, problem.why) from None
        for header in headers:
            if header.base_offset < lowest_offset or header.last_offset >= segment.next_offset:
                offsets = f"{header.base_offset} to {header.last_offset}"
                allowed = f"{lowest_offset} to {segment.next_offset - 1}"
                _look_for_damage(segment, position, lowest_offset, position + header.position + 1)
                raise _corrupt(segment, position + header.position, "base_offset", f"{offsets} is not in {allowed}")
            lowest_offset = header.next_offset
            yield header, bytes(data[header.position : header.position + header.size_in_bytes])
        position += len(data)


def _corrupt(segment: Segment, position: int, field: str, why: str) -> CorruptBatch:
    """Return the exception for a problem at `position` of the log file."""
    return CorruptBatch(
        "RecordBatch", RECORD_FORMAT, field, position, f"{why} ({segment.log_path.parent.name}/{segment.log_path.name})"
    )


def offset_before(segment: Segment, timestamp_ms: int) -> int:
    """Return an offset up to which all timestamps are before `timestamp_ms`.

    Entries of the time index that do not fit the log file are dropped.

    Raises:
        OSError: the file cannot be read.
    """
    while (entry := segment.time_index.entry_before(timestamp_ms)) is not None:
        number, entry_ms, relative_offset = entry
        if time_entry_fits(segment, entry_ms, relative_offset):
            return segment.base_offset + relative_offset
        _report_index(segment, segment.time_index.path)
        segment.time_index.drop(number)
    return segment.base_offset


def time_entry_fits(segment: Segment, timestamp_ms: int, relative_offset: int) -> bool:
    """Return whether an entry of the time index names a batch with its timestamp."""
    offset = segment.base_offset + relative_offset
    try:
        head = segment.file.read_at(position_of(segment, offset), TIMESTAMPS_END)
    except CorruptBatch:
        return False
    last_offset = int.from_bytes(head[:OFFSET_BYTES], "big") + int.from_bytes(head[DELTA_POSITION:HEAD_BYTES], "big")
    return (last_offset, int.from_bytes(head[-TIMESTAMP_BYTES:], "big", signed=True)) == (offset, timestamp_ms)
