"""What a log finds after a clean stop, after a kill, and after damage."""

import shutil
import struct

import pytest

from _wire.records import CorruptBatch, parse_records
from coordinator.log.config import LogConfig
from coordinator.log.errors import LogAppendError
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.segments.reads import position_of
from coordinator.log.segments.timestamps import max_timestamp, offset_for_timestamp
from tests.captured_logs import capture_logs
from tests.log.batches import START_MS, batch, everything, filled, values

SMALL_SEGMENTS = LogConfig(segment_bytes=1_000, index_interval_bytes=200)


def indexes(log):
    """Base offset, offset index and time index of every segment."""
    return [
        (
            segment.base_offset,
            list(zip(segment.offset_index.offsets, segment.offset_index.positions, strict=True)),
            list(zip(segment.time_index.timestamps_ms, segment.time_index.offsets, strict=True)),
        )
        for segment in log.segments
    ]


def log_file(log):
    return log.segments[-1].log_path


def test_a_log_that_was_not_closed_is_read_again(open_log):
    log = filled(open_log(SMALL_SEGMENTS), 100)
    again = open_log(SMALL_SEGMENTS)
    assert everything(again) == [str(offset) for offset in range(100)]
    log.finish()
    assert indexes(again) == indexes(log)
    assert again.recovery.scanned_bytes == log.size_bytes
    assert max_timestamp(again) == max_timestamp(log)


def test_after_a_clean_stop_nothing_is_scanned(open_log):
    log = filled(open_log(SMALL_SEGMENTS), 100)
    log.finish()
    before = indexes(log)
    again = open_log(SMALL_SEGMENTS, clean=True)
    assert indexes(again) == before
    assert again.recovery.scanned_bytes == 0
    assert again.recovery_point == again.log_end_offset == 100
    assert everything(again) == [str(offset) for offset in range(100)]
    assert [segment.first_timestamp_ms for segment in again.segments] == [
        segment.first_timestamp_ms for segment in log.segments
    ]
    assert [segment.max_timestamp_ms for segment in again.segments] == [
        segment.max_timestamp_ms for segment in log.segments
    ]


def test_indexes_continue_after_a_restart(open_log, fs, tmp_path):
    config = LogConfig(index_interval_bytes=300)
    never_closed = filled(PartitionLog.open(fs, tmp_path / "other", "topic", 0, config), 100)
    log = open_log(config)
    for _ in range(20):
        filled(log, 5).finish()
        log = open_log(config, clean=True)
    assert indexes(log)[0][1] == indexes(never_closed)[0][1]
    never_closed.close()


def test_only_data_after_the_recovery_point_is_scanned(open_log):
    log = filled(open_log(SMALL_SEGMENTS), 100)
    log.flush()
    point = log.recovery_point
    filled(log, 30)
    again = open_log(SMALL_SEGMENTS, recovery_point=point)
    scanned = sum(segment.size_bytes for segment in again.segments if segment.next_offset > point)
    assert again.recovery.scanned_bytes == scanned < again.size_bytes
    assert everything(again) == [str(offset) for offset in range(130)]


def test_a_torn_tail_of_any_length_is_truncated(open_log):
    log = filled(open_log(), 3)
    whole = log.size_bytes
    log.append(batch("last", "of all"), leader_epoch=0, now_ms=0)
    for size in reversed(range(whole, log.size_bytes)):
        with log_file(log).open("r+b") as file:
            file.truncate(size)
        again = open_log()
        assert everything(again) == ["0", "1", "2"]
        assert again.recovery.truncated_bytes == size - whole
        assert log_file(log).stat().st_size == whole
        again.append(batch("again"), leader_epoch=0, now_ms=0)
        assert everything(again) == ["0", "1", "2", "again"]
        with log_file(log).open("r+b") as file:
            file.truncate(whole)
            file.seek(whole)
            file.write(batch("last", "of all")[: size - whole - 1 if size > whole else 0])


@pytest.mark.parametrize("lost_bytes", [1, 69])
def test_a_file_that_became_shorter_after_a_clean_stop_is_damaged(open_log, lost_bytes):
    """All of it was flushed, so this is no torn append: what is left stays, and no offset is used again."""
    log = filled(open_log(), 3)
    log.finish()
    assert log.size_bytes == 3 * 69
    with log_file(log).open("r+b") as file:
        file.truncate(log.size_bytes - lost_bytes)
    for _ in range(2):
        with capture_logs() as lines:
            again = open_log(recovery_point=3, clean=True)
        assert [
            (line["position"], line["bytes"], line["offset"]) for line in lines if line["log_level"] == "error"
        ] == [(2 * 69, 69 - lost_bytes, 2)]
        assert values(again.read(0, 1_000)) == ["0", "1"]
        with pytest.raises(CorruptBatch, match="offset 2 cannot be read"):
            again.read(2, 1_000)
        assert again.recovery_point == again.log_end_offset == 3
        assert log_file(log).stat().st_size == 3 * 69 - lost_bytes
    again.append(batch("next"), leader_epoch=0, now_ms=0)
    assert values(again.read(3, 1_000)) == ["next"]
    again.finish()
    assert values(open_log(recovery_point=4, clean=True).read(3, 1_000)) == ["next"]


@pytest.mark.parametrize("clean", [False, True])
@pytest.mark.parametrize("position", ["base offset", "higher base offset", "length", "records"])
def test_a_damaged_batch_below_the_recovery_point_costs_only_itself(open_log, clean, position):
    log = filled(open_log(SMALL_SEGMENTS), 60)
    log.finish()
    victim = log.segments[1]
    headers = list(victim.walk(0, victim.size_bytes, check_crc=True))
    lost = headers[3]
    at = sum(header.size_in_bytes for header in headers[:3])
    content = bytearray(victim.log_path.read_bytes())
    content[at + {"base offset": 7, "higher base offset": 5, "length": 11, "records": 66}[position]] ^= 16
    victim.log_path.write_bytes(content)
    again = open_log(SMALL_SEGMENTS, recovery_point=60, clean=clean)
    found: dict[int, object] = {}
    with capture_logs() as lines:
        for offset in range(60):
            try:
                found[offset] = values(again.read(offset, 0))
            except CorruptBatch as problem:
                found[offset] = str(problem)
        found_again = {offset: values(again.read(offset, 0)) for offset in range(60) if offset != lost.base_offset}
    place = f"{again.name}/{victim.log_path.name}"
    assert place in str(found.pop(lost.base_offset))
    assert found == {offset: [str(offset)] for offset in range(60) if offset != lost.base_offset}
    assert found_again == found
    assert [(line["file"], line["position"], line["bytes"]) for line in lines if "position" in line] == [
        (str(victim.log_path), at, lost.size_in_bytes)
    ]
    assert again.log_end_offset == 60
    assert victim.log_path.read_bytes() == bytes(content)


@pytest.mark.parametrize("above", [False, True])
def test_damage_after_a_kill_is_kept_below_the_recovery_point_and_cut_above(open_log, above):
    log = filled(open_log(), 20)
    log.flush()
    filled(log, 10)
    content = bytearray(log_file(log).read_bytes())
    lost = 25 if above else 5
    content[position_of(log.segments[0], lost) + 66] ^= 1
    log_file(log).write_bytes(content)
    with capture_logs() as lines:
        again = open_log(recovery_point=20)
    (line,) = lines
    assert (line["file"], line["offset"]) == (str(log_file(log)), lost)
    assert again.log_end_offset == (25 if above else 30)
    assert again.recovery.truncated_bytes == (len(content) - again.size_bytes if above else 0)
    for offset in range(again.log_end_offset):
        if offset != lost:
            assert values(again.read(offset, 0)) == [str(offset)]


def test_every_wrong_byte_of_the_last_batch_is_detected(open_log):
    log = filled(open_log(), 2)
    start = log.size_bytes
    log.append(batch("last"), leader_epoch=0, now_ms=0)
    content = log_file(log).read_bytes()
    for position in range(start, len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 0x5A
        log_file(log).write_bytes(damaged)
        again = open_log()
        if start <= position < start + 8 or start + 12 <= position < start + 16:
            # Base offset and leader epoch are not covered by the checksum: the batch may stay, those before it do.
            assert values(again.read(0, start)) == ["0", "1"]
        else:
            assert everything(again) == ["0", "1"]
        again.close()


def test_a_damaged_batch_and_all_after_it_are_truncated(open_log):
    log = filled(open_log(SMALL_SEGMENTS), 60)
    victim = log.segments[1]
    content = bytearray(victim.log_path.read_bytes())
    content[len(content) // 2] ^= 1
    victim.log_path.write_bytes(content)
    again = open_log(SMALL_SEGMENTS)
    assert again.recovery.removed_segments == len(log.segments) - 2
    assert victim.base_offset < again.log_end_offset < victim.next_offset
    assert everything(again) == [str(offset) for offset in range(again.log_end_offset)]
    assert len(list(again.folder.iterdir())) == 3 * 2
    filled(again, 20)
    assert everything(again) == [str(offset) for offset in range(again.log_end_offset)]


NEVER_A_BATCH = {
    "a negative length": b"\x00" * 8 + b"\xff" * 92,
    "a short length": b"\x7f" * 8 + struct.pack(">i", 3) + b"\xa5" * 88,
    "a length within the file": b"\x7f" * 8 + struct.pack(">i", 70) + b"\x02" * 188,
    "text": b"log line of another program\n" * 20,
    "fewer bytes than a header": b"\xff" * 40,
    "only the format is right": b"\xff" * 16 + b"\x02" + b"\xff" * 100,
    "only the base offset is right": struct.pack(">q", 3) + b"\xff" * 100,
    "more than a batch may have": b"\xa5\xff" * 600_000,
    "zeros": bytes(500),
}


@pytest.mark.parametrize("tail", NEVER_A_BATCH.values(), ids=NEVER_A_BATCH)
def test_bytes_behind_the_last_batch_that_never_were_one_are_cut_after_a_kill(open_log, tail):
    log = filled(open_log(), 3)
    whole = log.size_bytes
    with log_file(log).open("ab") as file:
        file.write(tail)
    with capture_logs() as lines:
        again = open_log(killed=True)
    assert [(line["log_level"], line["position"], line["bytes"], line["offset"]) for line in lines] == [
        ("warning", whole, len(tail), 3)
    ]
    assert (again.log_end_offset, again.size_bytes, again.read(3, 1_000)) == (3, whole, b"")
    assert log_file(log).stat().st_size == whole
    again.append(batch("next"), leader_epoch=0, now_ms=0)
    assert everything(again) == ["0", "1", "2", "next"]
    assert len(again.segments) == 1


LAST_OFFSET_DELTA_BYTE = 26


@pytest.mark.parametrize("first_byte", [*range(8, 12), *range(16, 69)])
def test_a_damaged_last_batch_is_kept_after_a_kill(open_log, first_byte):
    """It was appended completely, so it may have been acknowledged: its offset is not used again."""
    log = filled(open_log(), 3)
    content = bytearray(log_file(log).read_bytes())
    content[2 * 69 + first_byte] ^= 0x80 if first_byte == 8 else 1
    if 8 < first_byte < 12:
        content[2 * 69 + 11] = 57 - first_byte  # shorter: a length beyond the end is an append that was interrupted
        content[2 * 69 + 9 : 2 * 69 + 11] = bytes(2)
    log_file(log).write_bytes(content)
    again = open_log(killed=True)
    assert again.log_end_offset == (4 if first_byte == LAST_OFFSET_DELTA_BYTE else 3)
    with pytest.raises(CorruptBatch, match=r"offsets? 2 .*cannot be read"):
        again.read(2, 1_000)
    assert log_file(log).read_bytes() == bytes(content)


def test_a_batch_whose_offset_goes_back_ends_the_log(open_log):
    log = filled(open_log(), 3)
    with log_file(log).open("ab") as file:
        file.write(batch("offset 0 again"))
    assert everything(open_log()) == ["0", "1", "2"]


def test_a_length_beyond_the_file_allocates_no_memory(open_log):
    log = filled(open_log(), 3)
    with log_file(log).open("ab") as file:
        file.write(struct.pack(">qi", 3, 2**31 - 1) + b"\0" * 100)
    assert everything(open_log()) == ["0", "1", "2"]


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("damage", ["missing", "torn", "zeros", "descending", "of another log"])
def test_a_missing_or_damaged_index_is_rebuilt(open_log, suffix, damage):
    log = filled(open_log(SMALL_SEGMENTS), 60)
    log.finish()
    before = indexes(log)
    path = log.segments[2].log_path.with_suffix(suffix)
    content = path.read_bytes()
    assert len(content) > 16
    if damage == "missing":
        path.unlink()
    elif damage == "torn":
        path.write_bytes(content[:-1])
    elif damage == "zeros":
        path.write_bytes(content + b"\0" * 24)
    elif damage == "descending":
        path.write_bytes(content + content[:24])
    else:
        path.write_bytes(struct.pack(">iiiiii", 5, 0, 10, 2**30, 20, 2**30 + 1))
    again = open_log(SMALL_SEGMENTS, clean=True)
    assert indexes(again) == before
    assert everything(again) == [str(offset) for offset in range(60)]
    assert path.read_bytes() == content


def test_a_batch_larger_than_what_is_read_at_once_is_recovered(open_log):
    config = LogConfig(max_message_bytes=1 << 24)
    log = filled(open_log(config), 2)
    log.append(batch("x" * 3_000_000), leader_epoch=0, now_ms=0)
    filled(log, 2)
    again = open_log(config)
    assert everything(again) == ["0", "1", "x" * 3_000_000, "3", "4"]


def test_an_empty_segment_at_the_end_is_appended_to(open_log, fs):
    log = filled(open_log(SMALL_SEGMENTS), 60)
    path = log.segments[-1].log_path
    path.write_bytes(b"")
    again = open_log(SMALL_SEGMENTS)
    assert again.log_end_offset == int(path.stem)
    filled(again, 5)
    assert everything(again) == [str(offset) for offset in range(again.log_end_offset)]


def test_the_log_ends_at_a_gap_between_two_segments(open_log):
    """A file system may keep a younger file and lose the end, or all, of an older one."""
    log = filled(open_log(SMALL_SEGMENTS), 60)
    victim = log.segments[1]
    victim.log_path.write_bytes(b"")
    again = open_log(SMALL_SEGMENTS)
    assert again.log_end_offset == victim.base_offset
    assert again.recovery.removed_segments == len(log.segments) - 2
    assert everything(filled(again, 3)) == [str(offset) for offset in range(victim.base_offset + 3)]


def test_a_gap_of_compaction_below_the_recovery_point_is_kept(open_log):
    log = filled(open_log(SMALL_SEGMENTS), 60)
    log.flush()
    log.segments[1].log_path.write_bytes(b"")
    again = open_log(SMALL_SEGMENTS, recovery_point=60)
    assert again.log_end_offset == 60
    assert parse_records(again.read(log.segments[1].base_offset, 1))[0].offset == log.segments[2].base_offset


def test_the_empty_segment_of_a_failed_roll_hides_no_records(open_log, fs):
    log = filled(open_log(SMALL_SEGMENTS), 13)
    log.finish()
    with fs.full_after(0, truncate_fails=True), pytest.raises(LogAppendError):
        log.append(batch("x" * 500), leader_epoch=0, now_ms=0)
    assert len(list(log.folder.glob("*.log"))) == 2
    filled(log, 1)
    assert len(log.segments) == 1
    for clean in (False, True):
        assert everything(open_log(SMALL_SEGMENTS, clean=clean)) == [str(offset) for offset in range(14)]


def test_a_log_may_start_at_an_offset_above_zero(open_log):
    log = filled(open_log(SMALL_SEGMENTS), 60)
    log.finish()
    begins = log.segments[2].base_offset
    for segment in log.segments[:2]:
        for suffix in (".log", ".index", ".timeindex"):
            segment.log_path.with_suffix(suffix).unlink()
    assert open_log(SMALL_SEGMENTS, clean=True).log_start_offset == begins
    later = open_log(SMALL_SEGMENTS, clean=True, log_start_offset=begins + 3)
    assert later.log_start_offset == begins + 3
    assert everything(later) == [str(offset) for offset in range(begins + 3, 60)]
    found = offset_for_timestamp(later, 0)
    assert found is not None and found.offset == begins + 3


def test_other_files_in_the_folder_are_left_alone(open_log):
    log = filled(open_log(), 3)
    for name in ("leader-epoch-checkpoint", "partition.metadata", "notes.log", "1.log"):
        (log.folder / name).write_text("not ours")
    assert everything(open_log()) == ["0", "1", "2"]
    assert (log.folder / "notes.log").read_text() == "not ours"


def test_a_killed_log_of_any_length_is_read_to_its_last_complete_batch(open_log, tmp_path):
    log = filled(open_log(SMALL_SEGMENTS), 14)
    log.flush()
    point = log.recovery_point
    filled(log, 6)
    last = log.segments[-1]
    assert last.base_offset > 0
    saved = tmp_path / "saved"
    shutil.copytree(log.folder, saved)
    ends = [0]
    for header in last.walk(0, last.size_bytes, check_crc=True):
        ends.append(ends[-1] + header.size_in_bytes)
    for size in range(last.size_bytes + 1):
        shutil.rmtree(log.folder)
        shutil.copytree(saved, log.folder)
        with last.log_path.open("r+b") as file:
            file.truncate(size)
        again = open_log(SMALL_SEGMENTS, recovery_point=point)
        whole = sum(end <= size for end in ends) - 1
        assert again.log_end_offset == last.base_offset + whole
        assert len(parse_records(again.read(last.base_offset - 1, 1))) == 1
        assert again.recovery_point <= again.log_end_offset
        again.close()


def test_a_reopened_segment_rolls_by_the_time_of_its_first_batch(open_log):
    config = LogConfig(segment_ms=1_000)
    log = filled(open_log(config), 1)
    for clean in (False, True):
        log.finish()
        log = open_log(config, clean=clean)
        log.append(batch("x", timestamp_ms=START_MS + 900), leader_epoch=0, now_ms=0)
    log.append(batch("x", timestamp_ms=START_MS + 1_001), leader_epoch=0, now_ms=0)
    assert [segment.base_offset for segment in log.segments] == [0, 3]
