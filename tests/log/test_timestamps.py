"""Search of a log for the records of a time."""

import random

from _wire.records import Record, build_batch
from coordinator.log.config import LogConfig
from coordinator.log.timestamps import max_timestamp, offset_for_timestamp
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
