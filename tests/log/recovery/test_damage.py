"""Damaged files of a log: each call ends, and what it cannot read it reports."""

from bisect import bisect_left
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from _wire.errors import MalformedMessage
from _wire.records import BATCH_HEADER_BYTES, CorruptBatch, Record, batch_headers, build_batch, parse_records
from coordinator.log.config import LogConfig
from coordinator.log.errors import OffsetOutOfRange
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.segments.index import OFFSET_ENTRY
from coordinator.log.segments.timestamps import max_timestamp, offset_for_timestamp
from tests.captured_logs import capture_logs
from tests.examples import examples
from tests.log.batches import START_MS, filled
from tests.model.memory_files import MemoryFile, MemoryFileSystem

ROOT: Final = Path("/data")
CONFIG: Final = LogConfig(segment_bytes=800, index_interval_bytes=150)
REPORTED: Final = (MalformedMessage, OffsetOutOfRange, OSError)
"""What a read of a damaged log may raise. CorruptBatch is a MalformedMessage."""


def undamaged() -> dict[Path, bytes]:
    """The files of a log of three segments, closed cleanly."""
    disk = MemoryFileSystem()
    log = PartitionLog.open(disk, ROOT, "topic", 0, CONFIG)
    for first in range(0, 60, 3):
        records = [
            Record(offset=offset, timestamp_ms=START_MS + offset * 7 % 31, value=b"%d" % offset)
            for offset in range(first, first + 3)
        ]
        compression = "lz4" if first % 2 else "none"
        log.append(bytearray(build_batch(records, compression=compression)), leader_epoch=0, now_ms=START_MS)
    log.finish()
    assert len(log.segments) > 2
    assert all(segment.offset_index.offsets for segment in log.segments[:-1])
    return {path: bytes(disk.content(path)) for path in disk.paths()}


FILES: Final = undamaged()
LOG_FILES: Final = sorted(path for path in FILES if path.suffix == ".log")
END_OFFSET: Final = 60
FILES_AND_POSITIONS: Final = st.sampled_from(sorted(path for path in FILES if FILES[path])).flatmap(
    lambda path: st.tuples(st.just(path), st.integers(0, len(FILES[path]) - 1))
)
BITS: Final = st.builds(lambda at, bit: (*at, bit), FILES_AND_POSITIONS, st.integers(0, 7))
BYTES: Final = st.tuples(
    FILES_AND_POSITIONS,
    st.binary(min_size=1, max_size=12) | st.sampled_from([b"\0" * 4, b"\xff" * 4, b"\x7f\xff\xff\xff"]),
)


class BoundedFile(MemoryFile):
    """Takes no read of more bytes than it was written with: a length that lies must not allocate them."""

    def read_at(self, position: int, size: int) -> bytes:
        written = len(FILES[self._path])
        assert 0 <= position <= position + size <= written, f"{size} bytes at {position} of a file of {written}"
        return super().read_at(position, size)


class Disk(MemoryFileSystem):
    """The files of `FILES`, to be damaged."""

    def __init__(self) -> None:
        super().__init__()
        self._files = {path: bytearray(content) for path, content in FILES.items()}
        self._directories = {path.parent for path in FILES} | {ROOT}

    def open(self, path: Path) -> MemoryFile:
        return BoundedFile(self, path)

    def write(self, path: Path, position: int, data: bytes) -> None:
        content = self._files[path]
        content[position : position + len(data)] = data[: len(content) - position]

    def open_log(self, *, clean: bool = True) -> PartitionLog:
        return PartitionLog.open(self, ROOT, "topic", 0, CONFIG, clean=clean)


def tried(call: Callable[..., Any], *arguments: Any) -> Any:
    """The result, or None where the damage is reported."""
    try:
        return call(*arguments)
    except REPORTED:
        return None


def use_in_every_way(log: PartitionLog) -> None:
    """Each must end, and what it returns must be within the log."""

    def replay() -> None:
        last_offset = -1
        for header, data in log.batches(log.log_start_offset):
            assert header.base_offset > last_offset
            assert len(data) == header.size_in_bytes
            last_offset = header.last_offset
            tried(parse_records, data)
        assert last_offset == log.log_end_offset - 1

    tried(replay)
    for offset in range(log.log_start_offset, min(log.log_end_offset, END_OFFSET + 5) + 1):
        for max_bytes in (0, 100, 10_000):
            data = tried(log.read, offset, max_bytes)
            assert data is None or data or offset == log.log_end_offset
            headers = tried(batch_headers, data or b"", 0, False)
            assert not headers or headers[0].last_offset >= offset
    for timestamp_ms in range(START_MS - 1, START_MS + 32):
        tried(offset_for_timestamp, log, timestamp_ms)
    tried(max_timestamp, log)


@pytest.mark.timeout(60)
@settings(deadline=None, max_examples=examples(400))
@given(damage=st.lists(BITS, min_size=1, max_size=3), clean=st.booleans())
def test_flipped_bits_give_a_result_or_an_error(damage, clean):
    disk = Disk()
    for path, position, bit in damage:
        disk.write(path, position, bytes([disk.content(path)[position] ^ 1 << bit]))
    log = tried(lambda: disk.open_log(clean=clean))
    if log is not None:
        use_in_every_way(log)


@pytest.mark.timeout(60)
@settings(deadline=None, max_examples=examples(400))
@given(damage=st.lists(BYTES, min_size=1, max_size=3), clean=st.booleans(), open_before=st.booleans())
def test_overwritten_bytes_give_a_result_or_an_error(damage, clean, open_before):
    """`open_before`: the damage comes to a log that is open, so no start has checked it."""
    disk = Disk()
    log = disk.open_log() if open_before else None
    for (path, position), data in damage:
        disk.write(path, position, data)
    if log is None:
        log = tried(lambda: disk.open_log(clean=clean))
    if log is not None:
        use_in_every_way(log)


# ---- what is reported, for each kind of damage to the batch in the middle of a segment

VICTIM: Final = 2
"""The batch of the first segment that is damaged."""


def victim() -> tuple[int, Any]:
    header = batch_headers(FILES[LOG_FILES[0]])[VICTIM]
    return header.position, header


LENGTHS: Final = [0, -1, -(2**31), 1, 5, 20, 48, 2**31 - 1, 10_000]


@pytest.mark.parametrize("length", LENGTHS)
def test_a_wrong_length_is_reported_by_every_read_of_the_batch(length):
    disk, (position, header) = Disk(), victim()
    log = disk.open_log()
    disk.write(LOG_FILES[0], position + 8, length.to_bytes(4, "big", signed=True))
    with pytest.raises(CorruptBatch, match=r"00000000000000000000\.log"):
        log.read(header.base_offset, 10_000)
    with pytest.raises(CorruptBatch):
        log.read(header.base_offset, 0)
    replayed: list[int] = []
    with pytest.raises(CorruptBatch):
        replayed.extend(found.base_offset for found, _ in log.batches(0))
    assert replayed == list(range(0, header.base_offset, 3)), "the batches before it are read"
    assert [found.base_offset for found in batch_headers(log.read(0, 10_000))] == replayed


def test_a_replay_ends_at_a_damaged_length():
    position, header = victim()
    length = header.size_in_bytes - 12
    for bit in range(32):
        disk = Disk()
        log = disk.open_log()
        disk.write(LOG_FILES[0], position + 8, (length ^ 1 << bit).to_bytes(4, "big"))
        with pytest.raises(CorruptBatch):
            list(log.batches(0))


@pytest.mark.parametrize("base_offset", [-1, 0, 3, 5, 7, 2**40, 2**63 - 1])
def test_a_replay_ends_at_offsets_out_of_order(base_offset):
    disk, (position, header) = Disk(), victim()
    log = disk.open_log()
    assert base_offset != header.base_offset
    disk.write(LOG_FILES[0], position, base_offset.to_bytes(8, "big", signed=True))
    with pytest.raises(CorruptBatch, match="offset"):
        list(log.batches(0))


def test_an_index_entry_of_a_later_batch_hides_no_records():
    """The entry would lead a read past the batches that it asks for: it is left out."""
    index = LOG_FILES[0].with_suffix(".index")
    entries = list(OFFSET_ENTRY.iter_unpack(FILES[index]))
    assert len(entries) > 2
    (offset, position), (_, later) = entries[0], entries[1]
    for wrong in (OFFSET_ENTRY.pack(offset, later - 1), OFFSET_ENTRY.pack(0, position)):
        disk = Disk()
        disk.write(index, 0, wrong)
        log = disk.open_log()
        with capture_logs() as lines:
            found = [batch_headers(log.read(each, 0))[0].base_offset for each in range(END_OFFSET)]
        assert found == [each - each % 3 for each in range(END_OFFSET)]
        assert [line["file"] for line in lines] == [str(index)]
        log.finish()
        assert OFFSET_ENTRY.pack(*entries[0]) not in disk.content(index)[: OFFSET_ENTRY.size]
        assert disk.open_log().segments[0].offset_index.offsets, "the file has the entries that fit"


def test_an_index_with_an_entry_beyond_the_file_is_rebuilt():
    disk = Disk()
    index = LOG_FILES[0].with_suffix(".index")
    offset, _ = OFFSET_ENTRY.unpack_from(FILES[index], len(FILES[index]) - OFFSET_ENTRY.size)
    disk.write(index, len(FILES[index]) - OFFSET_ENTRY.size, OFFSET_ENTRY.pack(offset, 100_000))
    log = disk.open_log()
    assert sum(header.record_count for header, _ in log.batches(0)) == END_OFFSET
    assert bytes(disk.content(index)) == FILES[index]


def test_an_offset_too_far_from_the_base_of_its_segment_is_damage():
    """It does not fit into the index; the last batch of the log is read at every start."""
    disk = Disk()
    last = batch_headers(FILES[LOG_FILES[-1]])[-1]
    disk.write(LOG_FILES[-1], last.position, (2**40).to_bytes(8, "big"))
    log = disk.open_log()
    assert (log.log_end_offset, log.recovery.truncated_bytes) == (END_OFFSET, 0)
    with pytest.raises(CorruptBatch, match=f"offsets {last.base_offset} to {END_OFFSET - 1} cannot be read"):
        log.read(last.base_offset, 0)


@pytest.mark.parametrize("size", [0, 5, 30, 100])
def test_a_truncated_file_is_an_error_of_the_disk(size):
    disk = Disk()
    log = disk.open_log()
    del disk.content(LOG_FILES[0])[size:]
    for read in (lambda: log.read(0, 10_000), lambda: log.read(0, 0), lambda: list(log.batches(0))):
        with pytest.raises(OSError, match="shorter than"):
            read()


def test_an_empty_log_has_no_latest_record():
    """A batch that compaction has emptied keeps its timestamps."""
    disk = MemoryFileSystem()
    log = PartitionLog.open(disk, ROOT, "topic", 0, CONFIG)
    emptied = bytearray(build_batch([(None, b"", ())], timestamp_ms=START_MS)[:BATCH_HEADER_BYTES])
    emptied[8:12] = (BATCH_HEADER_BYTES - 12).to_bytes(4, "big")
    emptied[57:61] = bytes(4)
    emptied[17:21] = crc32c(bytes(emptied[21:])).to_bytes(4, "big")
    log.append(emptied, leader_epoch=0, now_ms=START_MS)
    assert (log.log_end_offset, max_timestamp(log)) == (1, None)


def test_large_logs_are_still_read_by_their_indexes():
    """The checks of an index entry leave good ones alone."""
    log = filled(PartitionLog.open(MemoryFileSystem(), ROOT, "topic", 0, CONFIG), 300)
    starts = [header.base_offset for header, _ in log.batches(0)]
    for offset in range(log.log_end_offset):
        header = batch_headers(log.read(offset, 0))[0]
        assert header.base_offset == starts[bisect_left(starts, offset)]
