"""Damage in the log file of a segment: where it lies, and where the batches after it begin.

A batch is damaged if its checksum or its length is wrong, or if its offset does not follow those before it: the
checksum does not cover the base offset. The bytes are never changed here.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

import msgspec

from _wire.records import BATCH_HEADER_BYTES, BatchHeader, CorruptBatch, batch_headers
from coordinator.config.key import INT32_MAX
from coordinator.log.segments.batch_header import LENGTH_END, MAGIC_POSITION, OFFSET_BYTES, RECORD_FORMAT
from coordinator.logger import logger

INCOMPLETE: Final = "the file ends within a batch"
SEARCH_BYTES: Final = 1 << 20
SEARCHED_AT_MOST_BYTES: Final = 256 << 20
"""How far behind a damaged batch the next good one is looked for."""

SIGNS_OF_A_BATCH: Final = 2
"""How many of base offset, length and format have to be right in the header of a batch that was damaged."""


class DamagedOffsets(CorruptBatch):
    """A read of offsets that are known to be damaged: the log line is written."""


class Damage(msgspec.Struct, frozen=True):
    """Bytes of a log file that are no batch, and the offsets that are lost with them.

    The records from `first_offset` (inclusive) to `next_offset` (exclusive) were there, as far as that is known.
    `size_bytes` is 0 if the bytes are missing: the file is shorter than it was.
    """

    path: Path
    position: int
    size_bytes: int
    first_offset: int
    next_offset: int
    why: str

    @property
    def end(self) -> int:
        """The position of the first byte after it."""
        return self.position + self.size_bytes

    def error(self) -> DamagedOffsets:
        """The exception for a read of it."""
        place = f"{self.path.parent.name}/{self.path.name}"
        lost = f"{offsets_between(self.first_offset, self.next_offset)} cannot be read"
        return DamagedOffsets("RecordBatch", RECORD_FORMAT, "", self.position, f"{lost}: {self.why} ({place})")

    def report(self) -> None:
        """Log one line."""
        logger.error(
            "a log is damaged; the bytes are left as they are (see: coordinator log repair)",
            file=str(self.path),
            position=self.position,
            bytes=self.size_bytes,
            offset=self.first_offset,
            continued_at=self.next_offset,
            problem=self.why,
        )


def offsets_between(first_offset: int, next_offset: int) -> str:
    """Return `offset 4` or `offsets 4 to 6`; `next_offset` is not one of them."""
    last = next_offset - 1
    return f"offset {first_offset}" if last <= first_offset else f"offsets {first_offset} to {last}"


class LogFile(Protocol):
    """What a scan reads: a segment."""

    base_offset: int
    log_path: Path

    @property
    def max_message_bytes(self) -> int: ...

    def read_exactly(self, position: int, size: int) -> bytes: ...

    def walk(self, position: int, end: int, *, check_crc: bool) -> Iterator[BatchHeader]: ...


class Scanned(msgspec.Struct, frozen=True):
    """A good batch."""

    position: int
    header: BatchHeader


def scan(
    file: LogFile, position: int, end: int, expected: int, *, next_base_offset: int, may_have_gaps: bool
) -> Iterator[Scanned | Damage]:
    """Iterate over the batches between two positions of a log file and what is damaged between them.

    `expected` is the offset after the batch before `position`. The batches lie before `next_base_offset`, that of the
    next segment. Only with `may_have_gaps`, in a log that was compacted, may offsets be missing.

    Raises:
        OSError: the file cannot be read.
    """
    pending: Scanned | None = None
    before_pending = expected
    after_damage = False
    while position < end:
        why = INCOMPLETE
        try:
            for header in file.walk(position, end, check_crc=True):
                goes_back = header.base_offset < expected
                has_gap = pending is not None and pending.header.base_offset > before_pending
                if pending is not None and has_gap and before_pending <= header.base_offset < expected:
                    # There was a gap before the pending one, into which this one reaches: its base offset is wrong.
                    size = pending.header.size_in_bytes
                    wrong = f"base offset {pending.header.base_offset} is wrong"
                    yield Damage(file.log_path, pending.position, size, before_pending, header.base_offset, wrong)
                    pending, expected, goes_back = None, header.base_offset, False
                problem = _problem(file, header, expected, next_base_offset, may_have_gaps or after_damage)
                if problem or goes_back:
                    why = problem
                    break
                if pending is not None:
                    yield pending
                pending, before_pending = Scanned(position, header), expected
                expected, after_damage = header.next_offset, False
                position += header.size_in_bytes
            else:
                if position >= end:
                    break
        except CorruptBatch as corrupt:
            why = f"{corrupt.field}: {corrupt.why}" if corrupt.field else corrupt.why
        if pending is not None:
            yield pending
            pending = None
        found = _next_batch(file, position, end, expected, next_base_offset)
        damaged_end, next_offset = found or (end, _offset_after(file, position, end, expected, next_base_offset))
        yield Damage(file.log_path, position, damaged_end - position, expected, next_offset, why)
        # The next batch may be the one whose base offset is wrong, so it decides nothing yet.
        position, expected, after_damage = damaged_end, expected if found else next_offset, True
    if pending is not None:
        yield pending


def is_unacknowledged(file: LogFile, damage: Damage) -> bool:
    """Whether damaged bytes at the end of a log hold no acknowledged batch, if all that was written is still there.

    An append is acknowledged after its last byte was written, with each `log.flush.policy`. So a file that ends within
    a batch, and zeros of no more than one batch (`max.message.bytes`), are an append that was interrupted. A whole
    batch that was damaged later still has most of its header. Other bytes were never a batch.

    Raises:
        OSError: the bytes cannot be read.
    """
    if damage.why == INCOMPLETE:
        return True
    if damage.size_bytes > SEARCHED_AT_MOST_BYTES:
        return False  # a good batch may follow, which nobody has looked for
    if damage.size_bytes <= file.max_message_bytes and not any(file.read_exactly(damage.position, damage.size_bytes)):
        return True
    return not _has_batch_header(file, damage)


def _has_batch_header(file: LogFile, damage: Damage) -> bool:
    """Whether damaged bytes begin as a batch does, though one of the fields that say so may be damaged as well."""
    if damage.size_bytes < BATCH_HEADER_BYTES:
        return False
    head = file.read_exactly(damage.position, BATCH_HEADER_BYTES)
    size = LENGTH_END + int.from_bytes(head[OFFSET_BYTES:LENGTH_END], "big", signed=True)
    signs = (
        int.from_bytes(head[:OFFSET_BYTES], "big", signed=True) == damage.first_offset,
        size == damage.size_bytes,
        head[MAGIC_POSITION] == RECORD_FORMAT,
    )
    return sum(signs) >= SIGNS_OF_A_BATCH


def _problem(file: LogFile, header: BatchHeader, expected: int, next_base_offset: int, gap: bool) -> str:
    """Why a batch with a correct checksum cannot be the next one; empty if it can."""
    if header.magic != RECORD_FORMAT:
        return f"record format {header.magic}"
    if header.last_offset - file.base_offset > INT32_MAX or header.last_offset >= next_base_offset:
        return f"base offset {header.base_offset} does not belong into this file"
    if header.base_offset < expected or (header.base_offset > expected and not gap):
        return f"base offset {header.base_offset} where {expected} is expected"
    return ""


def _batch_at(file: LogFile, position: int, end: int, lowest_offset: int, next_base_offset: int) -> int | None:
    """The base offset of the good batch at a position; None if there is none."""
    if end - position < BATCH_HEADER_BYTES:
        return None
    head = file.read_exactly(position, BATCH_HEADER_BYTES)
    base_offset = int.from_bytes(head[:8], "big", signed=True)
    size = LENGTH_END + int.from_bytes(head[8:LENGTH_END], "big", signed=True)
    if head[MAGIC_POSITION] != RECORD_FORMAT or not lowest_offset <= base_offset < next_base_offset:
        return None
    if not BATCH_HEADER_BYTES <= size <= end - position or base_offset - file.base_offset > INT32_MAX:
        return None
    try:
        batch_headers(file.read_exactly(position, size))
    except CorruptBatch:
        return None
    return base_offset


def _next_batch(
    file: LogFile, position: int, end: int, lowest_offset: int, next_base_offset: int
) -> tuple[int, int] | None:
    """Position and base offset of the next good batch after a damaged one; None if there is none."""
    if end - position >= LENGTH_END:
        length = int.from_bytes(file.read_exactly(position, LENGTH_END)[8:], "big", signed=True)
        hop = position + LENGTH_END + length
        if length > 0 and hop < end:
            base_offset = _batch_at(file, hop, end, lowest_offset, next_base_offset)
            if base_offset is not None:
                return hop, base_offset
    start, last = position + 1, min(end, position + SEARCHED_AT_MOST_BYTES)
    while last - start >= BATCH_HEADER_BYTES:
        data = file.read_exactly(start, min(SEARCH_BYTES + BATCH_HEADER_BYTES, last - start))
        at = data.find(RECORD_FORMAT, MAGIC_POSITION)
        while at >= 0:
            # Most bytes that look like a format are none: decide on the offset before anything is read.
            base_offset = int.from_bytes(data[at - MAGIC_POSITION : at - MAGIC_POSITION + 8], "big", signed=True)
            if lowest_offset <= base_offset < next_base_offset:
                found = start + at - MAGIC_POSITION
                if _batch_at(file, found, end, lowest_offset, next_base_offset) is not None:
                    return found, base_offset
            at = data.find(RECORD_FORMAT, at + 1)
        start += max(1, len(data) - BATCH_HEADER_BYTES + 1)
    return None


def _offset_after(file: LogFile, position: int, end: int, expected: int, next_base_offset: int) -> int:
    """The offset after a damaged end of a file, as far as its first header still tells; at least one is lost."""
    least = min(expected + 1, next_base_offset)
    if end - position < BATCH_HEADER_BYTES:
        return least
    head = file.read_exactly(position, BATCH_HEADER_BYTES)
    delta = int.from_bytes(head[23:27], "big", signed=True)
    size = LENGTH_END + int.from_bytes(head[8:LENGTH_END], "big", signed=True)
    if 0 <= delta <= size and position + size == end:
        return min(expected + delta + 1, next_base_offset)
    return least
