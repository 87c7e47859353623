"""What a read at an offset returns, within its limits."""

import random

import pytest

from _wire.records import batch_headers, build_batch, parse_records
from coordinator.log.config import LogConfig
from coordinator.log.errors import (
    OffsetOutOfRange,
)
from tests.log.batches import batch, filled, text, values

SMALL_SEGMENTS = LogConfig(segment_bytes=1_000, index_interval_bytes=200)


def test_every_offset_is_found_in_every_segment(open_log):
    log = open_log(SMALL_SEGMENTS)
    random.seed(1)
    expected = []
    while log.log_end_offset < 200:
        new = [str(log.log_end_offset + number) for number in range(random.randint(1, 7))]
        log.append(batch(*new), leader_epoch=0, now_ms=0)
        expected += new
    for offset in range(200):
        first = parse_records(log.read(offset, 1))
        assert first[0].offset <= offset <= first[-1].offset
        assert next(text(record) for record in first if record.offset >= offset) == expected[offset]


def test_only_the_first_batch_of_a_read_may_exceed_its_limit(open_log):
    log = open_log()
    sizes = [len(batch("x" * size)) for size in (10, 300, 20)]
    for size in (10, 300, 20):
        log.append(batch("x" * size), leader_epoch=0, now_ms=0)
    assert len(log.read(0, sizes[0] + sizes[1] - 1)) == sizes[0]
    assert len(log.read(0, sizes[0] + sizes[1])) == sizes[0] + sizes[1]
    assert len(log.read(1, 0)) == sizes[1]
    assert log.read(1, sizes[1] - 1, at_least_one_batch=False) == b""
    assert log.read(0, 0, at_least_one_batch=False) == b""
    assert len(log.read(0, 1_000_000)) == sum(sizes)


def test_a_read_can_end_before_an_offset(open_log):
    log = filled(open_log(), 10)
    assert values(log.read(2, 100_000, before_offset=5)) == ["2", "3", "4"]
    assert log.read(5, 100_000, before_offset=5) == b""
    assert log.read(7, 0, before_offset=5) == b""


def test_an_offset_inside_a_batch_gives_the_batch(open_log):
    log = open_log()
    log.append(batch("a", "b", "c"), leader_epoch=0, now_ms=0)
    assert values(log.read(2, 1)) == ["a", "b", "c"]
    assert values(log.read(1, 1, before_offset=2)) == ["a", "b", "c"]


def test_a_large_batch_among_small_ones_is_found(open_log):
    log = filled(open_log(), 3)
    log.append(batch("x" * 100_000), leader_epoch=0, now_ms=0)
    filled(log, 3)
    assert values(log.read(3, 10)) == ["x" * 100_000]
    assert values(log.read(5, 10)) == ["5"]


@pytest.mark.parametrize("offset", [-1, 4])
def test_offsets_outside_of_the_log_are_rejected(open_log, offset):
    log = filled(open_log(), 3)
    with pytest.raises(OffsetOutOfRange, match=f"topic-0: offset {offset} is out of range \\(0 to 3\\)"):
        log.read(offset, 100)


def test_gaps_left_by_compaction_are_skipped(open_log):
    log = open_log(SMALL_SEGMENTS)
    for base_offset, last_offset in ((0, 10), (10, 1_000), (5_000, 6_000)):
        log.log_end_offset = base_offset
        gappy = build_batch([(None, b"first", ())], base_offset=base_offset, last_offset=last_offset - 1)
        log.append(bytearray(gappy), leader_epoch=0, now_ms=0)
    for offset, found in ((0, 0), (5, 0), (10, 10), (999, 10), (1_000, 5_000), (4_999, 5_000), (5_999, 5_000)):
        assert batch_headers(log.read(offset, 1))[0].base_offset == found
