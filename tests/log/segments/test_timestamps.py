"""Search of a log for the records of a time."""

import random

import pytest

from _wire.records import CorruptBatch, Record, build_batch
from coordinator.log.config import LogConfig
from coordinator.log.segments.timestamps import SEARCH_BYTES_MAX, max_timestamp, offset_for_timestamp, timestamp_at
from tests.log.batches import START_MS, batch, filled

SMALL_SEGMENTS = LogConfig(segment_bytes=1_000, index_interval_bytes=200)


def test_the_first_record_at_or_after_a_time_is_found(open_log):
    log = filled(open_log(SMALL_SEGMENTS), 100, step_ms=10)
    for offset in range(100):
        time_ms = START_MS + offset * 10
        assert offset_for_timestamp(log, time_ms) == (offset, time_ms, 0)
        assert offset_for_timestamp(log, time_ms - 9) == (offset, time_ms, 0)
    assert offset_for_timestamp(log, 0) == (0, START_MS, 0)
    assert offset_for_timestamp(log, START_MS + 991) is None
    assert max_timestamp(log) == (99, START_MS + 990, 0)


def test_times_out_of_order_are_found_by_the_first_offset(open_log):
    log = open_log(LogConfig(segment_bytes=500, index_interval_bytes=1, segment_ms=2**60))
    random.seed(5)
    times = [START_MS + random.randrange(1_000) for _ in range(80)]
    for time_ms in times:
        log.append(batch("x", timestamp_ms=time_ms), leader_epoch=7, now_ms=0)
    for wanted in range(START_MS, START_MS + 1_000, 7):
        found = next(((offset, time, 7) for offset, time in enumerate(times) if time >= wanted), None)
        assert offset_for_timestamp(log, wanted) == found
    assert max_timestamp(log) == (times.index(max(times)), max(times), 7)


def test_a_time_inside_a_batch_gives_the_record(open_log):
    log = open_log()
    records = [Record(offset=offset, timestamp_ms=time_ms) for offset, time_ms in enumerate((10, 30, 20, 30))]
    log.append(bytearray(build_batch(records)), leader_epoch=2, now_ms=0)
    assert offset_for_timestamp(log, 10) == (0, 10, 2)
    assert offset_for_timestamp(log, 11) == max_timestamp(log) == (1, 30, 2)


def test_the_time_of_each_record_is_found_by_its_offset(open_log):
    log = filled(open_log(SMALL_SEGMENTS), 100, step_ms=10)
    assert [timestamp_at(log, offset) for offset in range(100)] == [START_MS + offset * 10 for offset in range(100)]
    assert timestamp_at(log, 100) is None
    assert timestamp_at(log, 2**62) is None


def test_an_offset_before_the_start_has_the_time_of_the_first_record(open_log):
    log = filled(open_log(SMALL_SEGMENTS), 100, step_ms=10)
    log.delete_records_before(40)
    assert timestamp_at(log, 0) == START_MS + 400


def test_a_record_within_a_batch_has_the_time_of_its_first_one(open_log):
    log = open_log()
    records = [Record(offset=offset, timestamp_ms=time_ms) for offset, time_ms in enumerate((10, 30, 20, 30))]
    log.append(bytearray(build_batch(records)), leader_epoch=2, now_ms=0)
    assert [timestamp_at(log, offset) for offset in range(4)] == [10, 10, 10, 10]


def test_a_record_without_a_timestamp_has_none(open_log):
    log = open_log()
    log.append(bytearray(build_batch([Record(offset=0, timestamp_ms=-1)])), leader_epoch=0, now_ms=0)
    assert timestamp_at(log, 0) is None


def test_no_record_is_sought_where_the_index_is_too_sparse(open_log):
    log = open_log(LogConfig(index_interval_bytes=2**31 - 1))
    value = "x" * 100_000
    for number in range(SEARCH_BYTES_MAX // len(value) + 2):
        log.append(batch(value, timestamp_ms=START_MS + number), leader_epoch=0, now_ms=0)
    assert timestamp_at(log, 0) is None
    log.roll()
    log.append(batch("after", timestamp_ms=START_MS), leader_epoch=0, now_ms=0)
    assert timestamp_at(log, log.log_end_offset - 1) == START_MS


def test_a_damaged_batch_is_reported(open_log):
    log = filled(open_log(), 3, step_ms=10)
    log.segments[0].file.write_at(b"\xff" * 12, 0)
    with pytest.raises(CorruptBatch):
        timestamp_at(log, 0)
