"""Appending to a log and reading from it, in one segment and over many."""

import pytest

from _wire.records import CorruptBatch, batch_headers, build_batch, parse_records
from coordinator.log.config import LogConfig
from coordinator.log.errors import (
    InvalidTopicName,
    LogAppendError,
    RecordBatchTooLarge,
    RecordListTooLarge,
)
from coordinator.log.partition.partition_log import AppendResult, PartitionLog
from coordinator.log.segments.segment_file import PrebuiltBatch
from coordinator.log.segments.timestamps import max_timestamp, offset_for_timestamp
from tests.log.batches import START_MS, batch, everything, filled

SMALL_SEGMENTS = LogConfig(segment_bytes=1_000, index_interval_bytes=200)


def names(log):
    return sorted(path.name for path in log.folder.iterdir())


def test_an_empty_log_has_its_first_segment_and_nothing_to_read(open_log):
    log = open_log()
    assert (log.log_start_offset, log.log_end_offset, log.size_bytes) == (0, 0, 0)
    assert log.read(0, 1_000) == b""
    assert max_timestamp(log) is offset_for_timestamp(log, 0) is None
    assert names(log) == [f"{0:020d}{suffix}" for suffix in (".index", ".log", ".timeindex")]


def test_offsets_and_leader_epoch_are_assigned_in_place(open_log):
    log = open_log()
    log.append(batch("a", "b"), leader_epoch=3, now_ms=0)
    several = batch("c") + batch("d", "e")
    assert log.append(several, leader_epoch=4, now_ms=0) == AppendResult(2, 4, 2, log_append_time_ms=-1)
    assert log.log_end_offset == 5
    assert [header.base_offset for header in batch_headers(several)] == [2, 3]
    assert [header.partition_leader_epoch for header in batch_headers(log.read(0, 10_000))] == [3, 4, 4]
    assert everything(log) == ["a", "b", "c", "d", "e"]


def test_log_append_time_replaces_the_producers(open_log):
    log = open_log(LogConfig(message_timestamp_type="LogAppendTime"))
    result = log.append(batch("a") + batch("b"), leader_epoch=0, now_ms=START_MS + 5)
    assert result.log_append_time_ms == START_MS + 5
    assert {record.timestamp_ms for record in parse_records(log.read(0, 10_000))} == {START_MS + 5}
    assert max_timestamp(log) == (0, START_MS + 5, 0)


def test_a_checked_batch_is_appended_with_its_header(open_log):
    log = filled(open_log(), 3)
    new = batch("a", "b")
    (header,) = batch_headers(new)
    assert log.append_batch(header, new, leader_epoch=4, now_ms=START_MS + 5) == -1
    (placed,) = batch_headers(log.read(3, 10_000))
    assert (placed.base_offset, placed.last_offset, placed.partition_leader_epoch) == (3, 4, 4)
    assert (header.base_offset, header.last_offset, header.partition_leader_epoch) == (3, 4, 4)
    assert everything(log) == ["0", "1", "2", "a", "b"]


def test_the_log_append_time_of_a_checked_batch(open_log):
    log = open_log(LogConfig(message_timestamp_type="LogAppendTime"))
    new = batch("a", "b")
    (header,) = batch_headers(new)
    assert log.append_batch(header, new, leader_epoch=0, now_ms=START_MS + 5) == START_MS + 5
    (placed,) = batch_headers(log.read(0, 10_000))  # this checks the checksum
    assert (placed.max_timestamp_ms, placed.crc) == (header.max_timestamp_ms, header.crc)
    assert {record.timestamp_ms for record in parse_records(log.read(0, 10_000))} == {START_MS + 5}
    assert max_timestamp(log) == (0, START_MS + 5, 0)


def test_a_checked_batch_that_is_larger_than_a_segment(open_log):
    log = open_log(LogConfig(segment_bytes=100))
    new = batch("a" * 100)
    (header,) = batch_headers(new)
    with pytest.raises(RecordListTooLarge, match=r"segment\.bytes is 100"):
        log.append_batch(header, new, leader_epoch=0, now_ms=0)
    assert (log.log_end_offset, log.appended_bytes) == (0, 0)


@pytest.mark.parametrize("damage", ["checksum", "truncated", "trailing", "nothing", "old format"])
def test_bytes_that_are_not_complete_batches_are_rejected(open_log, damage):
    log = filled(open_log(), 1)
    new = batch("a", "b")
    if damage == "checksum":
        new[-1] ^= 1
    elif damage == "truncated":
        del new[-1:]
    elif damage == "trailing":
        new += b"\0"
    elif damage == "nothing":
        new.clear()
    else:
        new[16] = 1
    with pytest.raises(CorruptBatch):
        log.append(new, leader_epoch=0, now_ms=0)
    assert everything(log) == ["0"]


def test_a_prebuilt_batch_is_written_unchanged(open_log):
    log = filled(open_log(LogConfig(max_message_bytes=10)), 0)
    for end in (2, 4):
        records = [(b"k", b"%d" % offset, ()) for offset in range(end - 2, end)]
        log.append_prebuilt([PrebuiltBatch(build_batch(records, base_offset=end - 2, timestamp_ms=end), end - 1)], end)
        assert log.log_end_offset == end
    assert everything(log) == ["0", "1", "2", "3"]
    found = offset_for_timestamp(log, 3)
    assert found is not None and found.offset == 2


def test_a_prebuilt_batch_is_not_larger_than_a_segment(open_log):
    log = open_log(LogConfig(segment_bytes=150))
    with pytest.raises(RecordListTooLarge, match=r"segment.bytes is 150"):
        log.append_prebuilt([PrebuiltBatch(build_batch([(b"k", bytes(200))]), 0)], 0)
    assert log.log_end_offset == 0


def test_batches_over_the_limits_are_rejected_and_leave_nothing(open_log):
    log = open_log(LogConfig(max_message_bytes=100, segment_bytes=150))
    log.append(batch("x" * 20), leader_epoch=0, now_ms=0)
    with pytest.raises(RecordBatchTooLarge, match=r"a batch has 1\d\d bytes, but max.message.bytes is 100"):
        log.append(batch("x" * 40), leader_epoch=0, now_ms=0)
    with pytest.raises(RecordListTooLarge, match=r"segment.bytes is 150"):
        log.append(batch("x") + batch("y") + batch("z"), leader_epoch=0, now_ms=0)
    assert everything(log) == ["x" * 20]


def test_a_segment_is_rolled_by_size_and_named_by_its_first_offset(open_log):
    log = filled(open_log(SMALL_SEGMENTS), 100)
    assert len(log.segments) > 5
    assert all(segment.size_bytes <= 1_000 for segment in log.segments)
    assert [f"{segment.base_offset:020d}.log" for segment in log.segments] == [
        name for name in names(log) if name.endswith(".log")
    ]
    assert everything(log) == [str(offset) for offset in range(100)]
    assert log.size_bytes == sum(path.stat().st_size for path in log.folder.glob("*.log"))


def test_a_segment_is_rolled_by_the_time_of_its_batches(open_log):
    log = open_log(LogConfig(segment_ms=100))
    for timestamp_ms in (0, 100, 50, 101, 150, 202):
        log.append(batch("x", timestamp_ms=START_MS + timestamp_ms), leader_epoch=0, now_ms=0)
    assert [segment.base_offset for segment in log.segments] == [0, 3, 5]


def test_a_segment_without_timestamps_is_not_rolled_by_time(open_log):
    log = open_log(LogConfig(segment_ms=100))
    for timestamp_ms in (-1, START_MS, 2 * START_MS):
        log.append(batch("x", timestamp_ms=timestamp_ms), leader_epoch=0, now_ms=0)
    assert len(log.segments) == 1


def test_a_segment_is_rolled_when_its_index_is_full(open_log):
    log = filled(open_log(LogConfig(index_interval_bytes=1, segment_index_bytes=80)), 30)
    assert len(log.segments) == 3
    assert all(segment.offset_index.size_bytes <= 80 for segment in log.segments)
    assert everything(log) == [str(offset) for offset in range(30)]


def test_a_lazy_log_is_on_disk_from_its_first_append_on(open_log, tmp_path):
    log = open_log(lazy=True)
    assert log.read(0, 100) == b""
    log.flush()
    log.finish()
    assert list(tmp_path.iterdir()) == []
    filled(log, 2)
    assert everything(log) == ["0", "1"]
    assert everything(open_log(lazy=True)) == ["0", "1"]


def test_an_invalid_topic_name_creates_no_file(fs, tmp_path):
    with pytest.raises(InvalidTopicName):
        PartitionLog.open(fs, tmp_path, "../escape", 0, LogConfig())
    assert list(tmp_path.iterdir()) == []


# --------------------------------------------------------------------------------------------------------- disk faults


@pytest.mark.parametrize("truncate_fails", [False, True])
def test_a_full_disk_leaves_the_log_as_it_was_and_the_append_can_be_repeated(open_log, fs, truncate_fails):
    log = filled(open_log(), 3)
    new = batch("new")
    for fits in range(len(new)):
        with fs.full_after(fits, truncate_fails=truncate_fails), pytest.raises(LogAppendError, match="topic-0: "):
            log.append(batch("new"), leader_epoch=0, now_ms=0)
        assert (log.log_end_offset, everything(log)) == (3, ["0", "1", "2"])
    assert everything(open_log()) == ["0", "1", "2"]
    log.append(new, leader_epoch=0, now_ms=0)
    assert everything(log) == everything(open_log()) == ["0", "1", "2", "new"]


def test_the_rest_of_a_failed_write_is_removed_before_a_shorter_write(open_log, fs):
    log = filled(open_log(), 1)
    with fs.full_after(500, truncate_fails=True), pytest.raises(LogAppendError):
        log.append(batch("x" * 1_000), leader_epoch=0, now_ms=0)
    log.append(batch("y"), leader_epoch=0, now_ms=0)
    reopened = open_log()
    assert everything(reopened) == ["0", "y"]
    assert reopened.recovery.truncated_bytes == 0


def test_a_roll_that_failed_on_a_full_disk_can_be_repeated(open_log, fs):
    log = open_log(SMALL_SEGMENTS)
    while log.segments[-1].size_bytes < 950:
        filled(log, 1)
    count = log.log_end_offset
    for _ in range(3):
        with fs.full_after(0), pytest.raises(LogAppendError):
            filled(log, 1)
        assert log.log_end_offset == count
    filled(log, 20)
    assert everything(log) == everything(open_log(SMALL_SEGMENTS)) == [str(offset) for offset in range(count + 20)]


def test_the_first_append_of_a_lazy_log_can_be_repeated_after_a_full_disk(open_log, fs):
    log = open_log(lazy=True)
    with fs.full_after(0, truncate_fails=True), pytest.raises(LogAppendError):
        filled(log, 1)
    log.flush()
    assert everything(filled(log, 1)) == ["0"]


def test_one_append_is_one_write(open_log, fs):
    log = filled(open_log(), 1)
    before = fs.writes
    log.append(batch("a") + batch("b") + batch("c"), leader_epoch=0, now_ms=0)
    assert fs.writes == before + 1
