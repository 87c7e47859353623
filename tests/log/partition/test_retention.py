"""Which records of a log are too old or too many."""

import pytest

from coordinator.log.config import LogConfig
from coordinator.log.partition.retention import retained_from
from tests.log.batches import START_MS, batch, filled

SMALL_SEGMENTS = LogConfig(segment_bytes=1_000, index_interval_bytes=200, retention_ms=-1)


def config(**values):
    return LogConfig(**({"segment_bytes": 1_000, "index_interval_bytes": 200, "retention_ms": -1} | values))


def test_nothing_is_deleted_by_default_within_a_week(open_log):
    log = filled(open_log(config(retention_ms=7 * 24 * 3_600_000)), 100)
    assert retained_from(log, START_MS + 7 * 24 * 3_600_000) == 0


def test_segments_are_too_old_when_their_last_record_is(open_log):
    log = filled(open_log(config(retention_ms=1_000)), 100, step_ms=10)
    second = log.segments[1].base_offset
    last_of_first = START_MS + (second - 1) * 10
    assert retained_from(log, last_of_first + 1_000) == 0
    assert retained_from(log, last_of_first + 1_001) == second
    assert retained_from(log, START_MS + 100 * 10 + 1_001) == 100


def test_an_old_segment_behind_a_young_one_stays(open_log):
    log = open_log(config(retention_ms=1_000))
    log.append(batch("a", timestamp_ms=START_MS + 5_000, padding_bytes=900), 0, START_MS)
    log.append(batch("b", timestamp_ms=START_MS, padding_bytes=900), 0, START_MS)
    assert len(log.segments) == 2
    assert retained_from(log, START_MS + 5_500) == 0
    assert retained_from(log, START_MS + 6_001) == 2


def test_records_without_timestamps_are_as_old_as_their_file(open_log, fs):
    log = open_log(config(retention_ms=1_000))
    log.append(batch("a", timestamp_ms=-1), 0, START_MS)
    written_ms = fs.modified_ms(log.segments[0].log_path)
    assert retained_from(log, written_ms + 1_000) == 0
    assert retained_from(log, written_ms + 1_001) == 1


def test_segments_are_too_many_when_the_others_have_retention_bytes(open_log):
    log = filled(open_log(config()), 100)
    size, first, second = log.size_bytes, log.segments[0], log.segments[1]
    for retention_bytes, offset in (
        (size, 0),
        (size - first.size_bytes + 1, 0),
        (size - first.size_bytes, first.next_offset),
        (size - first.size_bytes - second.size_bytes + 1, first.next_offset),
        (size - first.size_bytes - second.size_bytes, second.next_offset),
        (0, 100),
        (-1, 0),
    ):
        log.configure(config(retention_bytes=retention_bytes))
        assert retained_from(log, START_MS) == offset, retention_bytes


def test_segments_that_are_deleted_already_do_not_count_for_the_size(open_log):
    log = filled(open_log(config()), 100)
    first, second = log.segments[0], log.segments[1]
    log.delete_records_before(first.next_offset)
    log.configure(config(retention_bytes=log.size_bytes - first.size_bytes))
    assert retained_from(log, START_MS) == first.next_offset
    log.configure(config(retention_bytes=log.size_bytes - first.size_bytes - second.size_bytes))
    assert retained_from(log, START_MS) == second.next_offset


@pytest.mark.parametrize("policy", [{"compact"}, set()])
def test_only_the_policy_delete_deletes(open_log, policy):
    log = filled(open_log(config(retention_ms=0, retention_bytes=0, cleanup_policy=frozenset(policy))), 100)
    assert retained_from(log, START_MS * 2) == 0
    log.configure(config(retention_ms=0, cleanup_policy=frozenset(policy | {"delete"})))
    assert retained_from(log, START_MS * 2) == 100


def test_an_empty_log_keeps_its_segment(open_log):
    log = open_log(config(retention_ms=0, retention_bytes=0))
    assert retained_from(log, START_MS * 2) == 0
    assert not log.has_segments_to_delete
