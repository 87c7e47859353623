"""Deletion of the oldest segments of a log."""

from pathlib import Path

import pytest

from coordinator.log.config import LogConfig
from coordinator.log.errors import OffsetOutOfRange
from coordinator.log.partition.partition_log import PartitionLog
from tests.log.batches import everything, filled
from tests.model.memory_files import MemoryFileSystem, ProcessKilled

SMALL_SEGMENTS = LogConfig(segment_bytes=1_000, index_interval_bytes=200, retention_ms=-1)


def delete_before(log, offset):
    log.delete_records_before(offset)
    while log.has_segments_to_delete:
        log.delete_oldest_segment()


def names(log):
    return sorted(path.name for path in log.folder.iterdir())


def test_the_start_offset_only_advances(open_log):
    log = filled(open_log(SMALL_SEGMENTS), 100)
    assert log.delete_records_before(5)
    assert not log.delete_records_before(5)
    assert not log.delete_records_before(3)
    assert log.log_start_offset == 5
    with pytest.raises(OffsetOutOfRange):
        log.delete_records_before(101)
    with pytest.raises(OffsetOutOfRange):
        log.read(4, 1_000)
    assert everything(log) == [str(offset) for offset in range(5, 100)]


def test_only_segments_before_the_start_offset_are_deleted(open_log):
    log = filled(open_log(SMALL_SEGMENTS), 100)
    first, second, third = (segment.base_offset for segment in log.segments[:3])
    delete_before(log, third - 1)
    assert first == 0
    assert log.segments[0].base_offset == second
    assert everything(log) == [str(offset) for offset in range(third - 1, 100)]
    delete_before(log, third)
    assert log.segments[0].base_offset == third


def test_files_are_renamed_first_and_removed_later(open_log):
    log = filled(open_log(SMALL_SEGMENTS), 100)
    third = log.segments[2].base_offset
    kept = [name for name in names(log) if int(name.split(".")[0]) >= third]
    gone = [name for name in names(log) if name not in kept]
    delete_before(log, third)
    assert names(log) == sorted(kept + [f"{name}.deleted" for name in gone])
    steps = log.segments.remove_deleted_files(2)
    next(steps)
    assert len(names(log)) == len(kept) + 3
    assert list(steps) == [None]
    assert names(log) == kept
    assert list(log.segments.remove_deleted_files(1)) == []


def test_a_reader_goes_on_after_the_deletion_of_what_it_reads(open_log):
    log = filled(open_log(SMALL_SEGMENTS), 100)
    second, fourth = log.segments[1].base_offset, log.segments[3].base_offset
    reader = log.batches(0, 1)
    next(reader)
    delete_before(log, fourth)
    assert [header.base_offset for header, _ in reader] == [*range(1, second), *range(fourth, 100)]


def test_a_log_can_lose_all_its_records(open_log):
    log = filled(open_log(SMALL_SEGMENTS), 100)
    delete_before(log, 100)
    assert [segment.base_offset for segment in log.segments] == [100]
    assert (log.log_start_offset, log.log_end_offset, log.size_bytes) == (100, 100, 0)
    assert not log.has_segments_to_delete
    filled(log, 3)
    assert everything(log) == ["100", "101", "102"]


@pytest.mark.parametrize("clean", [False, True])
def test_a_start_finds_what_was_kept(open_log, clean):
    log = filled(open_log(SMALL_SEGMENTS), 100)
    offset = log.segments[2].base_offset + 1
    delete_before(log, offset)
    log.finish()
    again = open_log(SMALL_SEGMENTS, log_start_offset=offset, clean=clean)
    assert again.log_start_offset == offset
    assert everything(again) == [str(each) for each in range(offset, 100)]
    assert not [name for name in names(again) if name.endswith(".deleted")]


@pytest.mark.parametrize("clean", [False, True])
def test_a_start_finds_an_emptied_log_at_its_end(open_log, clean):
    log = filled(open_log(SMALL_SEGMENTS), 100)
    delete_before(log, 100)
    log.finish()
    again = open_log(SMALL_SEGMENTS, log_start_offset=100, clean=clean)
    assert (again.log_start_offset, again.log_end_offset) == (100, 100)


def test_a_start_ends_a_deletion_that_left_a_gap(open_log):
    """After a power loss the names of later segments may be gone while those of earlier ones are there."""
    log = filled(open_log(SMALL_SEGMENTS), 100)
    bases = [segment.base_offset for segment in log.segments]
    offset = bases[3]
    log.delete_records_before(offset)
    log.segments[1].rename_files()
    again = open_log(SMALL_SEGMENTS, log_start_offset=offset)
    assert [segment.base_offset for segment in again.segments] == bases[3:]
    assert everything(again) == [str(each) for each in range(offset, 100)]


def test_offsets_before_the_start_offset_are_never_used_again(open_log):
    """The records after the deleted ones were lost with the power: their offsets are not given to others."""
    filled(open_log(SMALL_SEGMENTS), 50)
    again = open_log(SMALL_SEGMENTS, log_start_offset=60)
    assert (again.log_start_offset, again.log_end_offset) == (60, 60)
    filled(again, 2)
    assert everything(again) == ["60", "61"]


class DyingFileSystem(MemoryFileSystem):
    """The process dies instead of one more rename than `renames_left`."""

    renames_left = 1_000

    def rename(self, path: Path, target: Path) -> None:
        if not self.renames_left:
            raise ProcessKilled
        self.renames_left -= 1
        super().rename(path, target)


@pytest.mark.parametrize("renames", range(10))
def test_a_kill_during_the_deletion_leaves_no_gap(renames):
    fs = DyingFileSystem()
    log = filled(PartitionLog.open(fs, Path("/data"), "topic", 0, SMALL_SEGMENTS), 60)
    offset = log.segments[3].base_offset
    fs.renames_left = renames
    if renames < 9:
        with pytest.raises(ProcessKilled):
            delete_before(log, offset)
    else:
        delete_before(log, offset)
    again = PartitionLog.open(fs, Path("/data"), "topic", 0, SMALL_SEGMENTS, log_start_offset=offset)
    assert everything(again) == [str(each) for each in range(offset, 60)]


def test_a_log_that_was_closed_has_nothing_to_remove(open_log):
    log = filled(open_log(SMALL_SEGMENTS), 100)
    delete_before(log, 100)
    removal = log.segments.remove_deleted_files(10)
    log.close()
    assert list(removal) == []
    assert not log.has_segments_to_delete


def test_other_settings_count_from_the_next_append_on(open_log):
    log = filled(open_log(LogConfig()), 20)
    assert len(log.segments) == 1
    log.configure(SMALL_SEGMENTS)
    filled(log, 40)
    assert len(log.segments) > 2
