"""Which files and directories a flush covers, and what a failed one leaves."""

from pathlib import Path

import pytest

from coordinator.log.config import LogConfig
from coordinator.log.errors import (
    LogAppendError,
    LogFlushError,
)
from coordinator.log.partition.partition_log import PartitionLog
from tests.log.batches import everything, filled
from tests.model.memory_files import MemoryFileSystem

SMALL_SEGMENTS = LogConfig(segment_bytes=1_000, index_interval_bytes=200)


def test_a_flush_covers_written_data_and_new_file_names(open_log, fs):
    log = open_log(LogConfig(segment_bytes=400), lazy=True)
    filled(log, 8)
    assert fs.flushed == []
    rolled = [segment.base_offset for segment in log.segments[:-1]]
    log.flush()
    for base_offset in rolled:
        files = log.folder.glob(f"{base_offset:020d}.*")
        assert {file.name for file in files if file.stat().st_size} <= set(fs.flushed), "what has a content"
    assert f"{log.segments[-1].base_offset:020d}.log" in fs.flushed
    assert {"topic-0/", log.folder.parent.name + "/"} <= set(fs.flushed)
    assert log.recovery_point == log.log_end_offset == 8
    fs.flushed.clear()
    log.flush()
    assert fs.flushed == []
    filled(log, 1)
    log.flush()
    assert fs.flushed == [f"{log.segments[-1].base_offset:020d}.log"]


def test_a_flush_covers_the_file_names_of_a_killed_process():
    disk, folder = MemoryFileSystem(), Path("/data")
    filled(PartitionLog.open(disk, folder, "topic", 0, LogConfig()), 3)
    PartitionLog.open(disk, folder, "topic", 0, LogConfig()).flush()
    disk.lose_power(keep=lambda size: 0)
    assert len(everything(PartitionLog.open(disk, folder, "topic", 0, LogConfig()))) == 3


def test_a_clean_stop_covers_the_file_names_of_a_failed_append():
    """The next process takes the file for a segment whose name is on the medium."""
    disk, folder = MemoryFileSystem(), Path("/data")

    def opened():
        return PartitionLog.open(disk, folder, "topic", 0, LogConfig(), clean=True, lazy=True)

    log = opened()
    disk.truncate_fails = True
    with pytest.raises(LogAppendError):
        filled(log, 1)
    disk.heal()
    log.finish()
    filled(opened(), 3).finish()
    disk.lose_power(keep=lambda size: 0)
    assert everything(opened()) == ["0", "1", "2"]


def test_a_flush_may_finish_after_further_appends(open_log):
    log = filled(open_log(), 2)
    flush = log.start_flush()
    assert flush is not None
    filled(log, 3)
    flush.run()
    log.finish_flush(flush)
    assert (log.recovery_point, log.log_end_offset) == (2, 5)


def test_a_failed_flush_is_not_forgotten(open_log, fs):
    log = filled(open_log(), 1)
    fs.flush_fails = True
    with pytest.raises(LogFlushError, match="topic-0: fsync failed"):
        log.flush()
    assert log.recovery_point == 0
    with pytest.raises(LogFlushError):
        log.finish()
