"""Each rule of a cleaning by itself."""

import pytest
from msgspec.structs import replace

from _wire.records import Record, batch_headers, build_batch
from coordinator.log.compaction.cleanable import cleanable_log
from coordinator.log.compaction.cleaner import (
    CleanerSettings,
    CleaningAborted,
    CleaningStats,
    Place,
    UncleanableLog,
    clean,
    groups,
)
from coordinator.log.config import LogConfig
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.segments.segment_file import PrebuiltBatch
from coordinator.log.segments.timestamps import offset_for_timestamp
from tests.log.compaction.cleaning import (
    CONFIG,
    SECRET,
    SETTINGS,
    START_MS,
    append,
    append_data,
    append_marker,
    batches,
    clean_now,
    new_log,
    offsets,
    pairs,
    roll,
    run,
)
from tests.log.faulty_files import FaultyFileSystem
from tests.model.memory_files import MemoryFileSystem

HOUR_MS = 3_600_000
RETENTION_MS = CONFIG.delete_retention_ms


@pytest.fixture
def fs() -> MemoryFileSystem:
    return MemoryFileSystem()


@pytest.fixture
def log(fs: MemoryFileSystem) -> PartitionLog:
    return new_log(fs)


def finish(log: PartitionLog) -> None:
    """End a segment and begin the active one."""
    roll(log)
    append(log, (b"active", b"record"))


def kept(log: PartitionLog) -> list[tuple[int, bytes | None, bytes | None]]:
    """The records before the active segment."""
    return [pair for pair in pairs(log) if pair[0] < log.segments[-1].base_offset]


# ---- values and tombstones


def test_the_last_value_of_each_key_stays_with_its_offset(fs, log):
    append(log, (b"a", b"1"), (b"b", b"1"), (b"a", b"2"))
    append(log, (b"c", b"1"), (b"a", b"3"))
    finish(log)
    assert clean_now(log, fs) == 5
    assert kept(log) == [(1, b"b", b"1"), (3, b"c", b"1"), (4, b"a", b"3")]
    assert offsets(batches(log))[:2] == [(0, 2, 1), (3, 4, 2)]


def test_a_record_without_key_goes(fs, log):
    append(log, (None, b"1"), (b"", b"an empty key is a key"), (None, None))
    finish(log)
    clean_now(log, fs)
    assert kept(log) == [(1, b"", b"an empty key is a key")]


def test_a_batch_that_stays_whole_stays_as_it_is(fs, log):
    append(log, (b"a", b"1"), (b"b", b"1"), compression="lz4")
    before = log.read(0, 1)
    finish(log)
    clean_now(log, fs)
    assert log.read(0, 1) == before


def test_a_tombstone_goes_when_its_time_has_come_after_the_first_cleaning(fs, log):
    append(log, (b"a", b"1"), timestamp_ms=START_MS - 10 * HOUR_MS)
    append(log, (b"a", None), (b"b", b"2"), timestamp_ms=START_MS - 9 * HOUR_MS)
    finish(log)
    cleaned_to = clean_now(log, fs)
    assert kept(log) == [(1, b"a", None), (2, b"b", b"2")]
    (batch,) = [each for each in batches(log) if each.base_offset == 1]
    assert batch.delete_horizon_ms == START_MS + RETENTION_MS
    assert [record.timestamp_ms for record in batch.records] == [START_MS - 9 * HOUR_MS] * 2
    finish(log)
    cleaned_to = clean_now(log, fs, cleaned_to, START_MS + RETENTION_MS - 1)
    assert kept(log)[0] == (1, b"a", None)
    finish(log)
    clean_now(log, fs, cleaned_to, START_MS + RETENTION_MS)
    assert kept(log)[0] == (2, b"b", b"2")
    (batch,) = [each for each in batches(log) if each.base_offset == 1]
    assert batch.delete_horizon_ms == START_MS + RETENTION_MS, "it is not set again"


def test_a_tombstone_that_is_replaced_goes_at_once(fs, log):
    append(log, (b"a", None), (b"a", b"1"))
    finish(log)
    clean_now(log, fs)
    assert kept(log) == [(1, b"a", b"1")]
    assert batches(log)[0].delete_horizon_ms is None


def test_the_horizon_does_not_overflow(fs):
    log = new_log(fs, replace(CONFIG, delete_retention_ms=2**63 - 1))
    append(log, (b"a", None))
    finish(log)
    clean_now(log, fs)
    (batch, *_) = batches(log)
    assert batch.delete_horizon_ms == 2**63 - 1
    assert batch.records == (Record(offset=0, timestamp_ms=START_MS, key=b"a"),)


def test_the_time_of_the_append_stays_that_of_all_records(fs, log):
    append(log, (b"a", b"1"), (b"b", None), (b"b", None), timestamp_ms=START_MS, log_append_time=True)
    finish(log)
    clean_now(log, fs)
    (batch, *_) = batches(log)
    assert (batch.timestamp_type, batch.max_timestamp_ms) == ("LogAppendTime", START_MS)
    assert [record.timestamp_ms for record in batch.records] == [START_MS, START_MS]


def test_the_greatest_timestamp_is_that_of_the_records_that_stay(fs, log):
    records = [
        Record(offset=0, timestamp_ms=START_MS + 9, key=b"a", value=b"1"),
        Record(offset=1, timestamp_ms=START_MS + 5, key=b"b", value=b"1"),
        Record(offset=2, timestamp_ms=START_MS + 3, key=b"a", value=b"2"),
    ]
    log.append_prebuilt([PrebuiltBatch(build_batch(records, base_offset=0), 2)], START_MS + 9)
    finish(log)
    clean_now(log, fs)
    assert batches(log)[0].max_timestamp_ms == START_MS + 5
    assert log.segments[0].max_timestamp_ms == START_MS + 5
    found = offset_for_timestamp(log, START_MS + 4)
    assert found is not None
    assert found.offset == 1


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_batch_keeps_its_compression_and_headers(fs, log, compression):
    headers = [("name", b"value"), ("none", None)]
    batch = build_batch(
        [(b"a", b"1", headers), (b"b", b"2" * 200, headers), (b"a", b"3", headers)], compression=compression
    )
    log.append(bytearray(batch), 7, START_MS)
    finish(log)
    clean_now(log, fs)
    (first, *_) = batches(log)
    assert (first.compression, first.leader_epoch) == (compression, 7)
    assert [(record.key, record.headers) for record in first.records] == [
        (b"b", tuple(headers)),
        (b"a", tuple(headers)),
    ]


# ---- how far


def test_records_of_the_active_segment_neither_go_nor_replace_others(fs, log):
    append(log, (b"a", b"1"))
    roll(log)
    append(log, (b"a", b"2"), (b"a", b"3"))
    assert clean_now(log, fs) == 1
    assert pairs(log) == [(0, b"a", b"1"), (1, b"a", b"2"), (2, b"a", b"3")]


def test_clean_records_are_replaced_by_dirty_ones(fs, log):
    append(log, (b"a", b"1"), (b"b", b"1"))
    finish(log)
    cleaned_to = clean_now(log, fs)
    append(log, (b"a", b"2"))
    finish(log)
    clean_now(log, fs, cleaned_to)
    assert kept(log) == [(1, b"b", b"1"), (2, b"active", b"record"), (3, b"a", b"2")]


def test_a_map_that_is_full_ends_the_round(fs, log):
    append(log, (b"a", b"1"), (b"b", b"1"))
    append(log, (b"a", b"2"), (b"c", b"1"), (b"a", b"3"))
    finish(log)
    two_keys = CleanerSettings(dedupe_buffer_bytes=3 * 24, load_factor=0.9, new_secret=lambda: SECRET)
    cleaned_to = clean_now(log, fs, settings=two_keys)
    assert cleaned_to == 3
    assert kept(log) == [(1, b"b", b"1"), (2, b"a", b"2"), (3, b"c", b"1"), (4, b"a", b"3")]
    assert clean_now(log, fs, cleaned_to, settings=two_keys) == 5
    assert kept(log) == [(1, b"b", b"1"), (3, b"c", b"1"), (4, b"a", b"3")]


@pytest.mark.parametrize(("cleaned_to", "dirty_from"), [(None, 0), (2, 2), (4, 4), (5, 0), (-1, 0)])
def test_a_checkpoint_outside_of_the_log_does_not_count(fs, log, cleaned_to, dirty_from):
    append(log, (b"a", b"1"), (b"a", b"1"), (b"a", b"1"))
    roll(log)
    append(log, (b"a", b"1"))
    target = cleanable_log(log, cleaned_to, log.log_end_offset, START_MS)
    assert target.first_dirty_offset == min(dirty_from, 3)
    assert target.is_due == (dirty_from < 3)


def test_the_dirty_ratio_counts_whole_segments(fs, log):
    for _ in range(4):
        append(log, (b"a", b"1"))
        roll(log)
    target = cleanable_log(log, 1, log.log_end_offset, START_MS)
    assert target.dirty_ratio == 0.75
    log.configure(replace(CONFIG, min_cleanable_dirty_ratio=0.75))
    assert not target.is_due
    log.configure(replace(CONFIG, min_cleanable_dirty_ratio=0.74))
    assert target.is_due


def test_a_young_segment_and_all_after_it_wait(fs):
    log = new_log(fs, replace(CONFIG, min_compaction_lag_ms=HOUR_MS))
    for age_ms in (3 * HOUR_MS, HOUR_MS, HOUR_MS - 1, 2 * HOUR_MS):
        append(log, (b"a", b"1"), timestamp_ms=START_MS - age_ms)
        roll(log)
    assert cleanable_log(log, None, log.log_end_offset, START_MS).first_uncleanable_offset == 2


def test_a_transaction_that_is_not_decided_ends_the_part_that_is_cleaned(fs, log):
    for _ in range(3):
        append(log, (b"a", b"1"), (b"a", b"2"))
        roll(log)
    assert [cleanable_log(log, None, stable, START_MS).first_uncleanable_offset for stable in (1, 2, 5, 6)] == [
        0,
        2,
        4,
        6,
    ]


def test_the_cleaner_finds_transactions_that_are_not_decided_by_itself(fs, log):
    append(log, (b"a", b"1"), (b"b", b"1"))
    append(log, (b"a", b"2"))
    roll(log)
    append_data(log, 7, (b"b", b"2"))
    roll(log)
    append(log, (b"b", b"3"))
    finish(log)
    assert clean_now(log, fs) == 3
    assert [offset for offset, _, _ in kept(log)] == [1, 2, 3, 4]
    append_marker(log, 7, committed=False)
    assert clean_now(log, fs, 3) == 5
    assert [offset for offset, _, _ in kept(log)] == [2, 4]


def test_a_record_that_waits_for_too_long(fs):
    log = new_log(fs, replace(CONFIG, max_compaction_lag_ms=HOUR_MS, min_cleanable_dirty_ratio=1.0))
    append(log, (b"a", b"1"), timestamp_ms=START_MS)
    roll(log)
    assert not cleanable_log(log, None, 1, START_MS + HOUR_MS).is_due
    assert cleanable_log(log, None, 1, START_MS + HOUR_MS + 1).is_due
    assert not cleanable_log(log, 1, 1, START_MS + HOUR_MS + 1).is_due


# ---- transactions and producers


def test_an_aborted_record_goes_at_once_and_replaces_nothing(fs, log):
    append(log, (b"a", b"1"))
    append_data(log, 7, (b"a", b"2"))
    append_marker(log, 7, committed=False)
    append_data(log, 7, (b"b", b"committed"), base_sequence=1)
    append_marker(log, 7, committed=True)
    finish(log)
    clean_now(log, fs)
    assert [each for each in kept(log) if len(each[1] or b"") == 1] == [(0, b"a", b"1"), (3, b"b", b"committed")]


def test_the_marker_may_lie_after_the_part_that_is_cleaned(fs, log):
    append(log, (b"a", b"1"))
    append_data(log, 7, (b"a", b"2"))
    roll(log)
    append_marker(log, 7, committed=False)
    clean_now(log, fs)
    assert kept(log) == [(0, b"a", b"1")]


def test_a_marker_stays_while_records_of_its_transaction_do(fs, log):
    append_data(log, 7, (b"a", b"1"))
    append_marker(log, 7, committed=True)
    finish(log)
    now_ms, cleaned_to = START_MS, None
    for _ in range(3):
        cleaned_to = clean_now(log, fs, cleaned_to, now_ms)
        (marker,) = [batch for batch in batches(log) if batch.is_control]
        assert (len(marker.records), marker.delete_horizon_ms) == (1, None)
        now_ms += 10 * RETENTION_MS
        finish(log)


@pytest.mark.parametrize("committed", [True, False])
def test_a_marker_goes_a_while_after_the_records_of_its_transaction(fs, log, committed):
    expired = replace(SETTINGS, producer_expiration_ms=-(10**9))
    append_data(log, 7, (b"a", b"1"))
    append_marker(log, 7, committed=committed)
    append(log, (b"a", b"2"))
    finish(log)

    def markers():
        return [batch.delete_horizon_ms for batch in batches(log) if batch.is_control]

    cleaned_to = clean_now(log, fs, None, START_MS, expired)
    assert markers() == [None], "its records went in this cleaning"
    finish(log)
    cleaned_to = clean_now(log, fs, cleaned_to, START_MS, expired)
    assert markers() == [START_MS + RETENTION_MS]
    finish(log)
    cleaned_to = clean_now(log, fs, cleaned_to, START_MS + RETENTION_MS - 1, expired)
    assert markers() == [START_MS + RETENTION_MS]
    finish(log)
    clean_now(log, fs, cleaned_to, START_MS + RETENTION_MS, expired)
    assert markers() == []


def test_the_last_batch_of_a_producer_stays_without_records(fs, log):
    append(log, (b"a", b"1"), producer_id=7, producer_epoch=3, base_sequence=10)
    append(log, (b"a", b"2"), (b"b", b"1"), producer_id=7, producer_epoch=3, base_sequence=11)
    append(log, (b"a", b"3"), (b"b", b"2"))
    finish(log)
    clean_now(log, fs)
    first, *_ = batches(log)
    assert (first.base_offset, first.last_offset, first.producer, first.records) == (1, 2, (7, 3, 11), ())
    (header, *_) = batch_headers(log.read(1, 1))
    assert header.size_in_bytes == 61


def test_that_of_a_producer_that_has_expired_goes(fs, log):
    append(log, (b"a", b"1"), timestamp_ms=START_MS, producer_id=7, producer_epoch=3, base_sequence=10)
    append(log, (b"a", b"2"), timestamp_ms=START_MS)
    finish(log)
    clean_now(log, fs, None, START_MS + SETTINGS.producer_expiration_ms)
    assert offsets(batches(log))[0] == (1, 1, 1)


def test_of_too_many_producers_the_later_ones_count_as_expired(fs, log):
    for producer_id in range(3):
        append(log, (b"a", b"1"), producer_id=producer_id, producer_epoch=0, base_sequence=0)
    append(log, (b"a", b"2"))
    finish(log)
    clean_now(log, fs, settings=replace(SETTINGS, producers_max=2))
    assert [batch.producer[0] for batch in batches(log) if not batch.records] == [0, 1]


def test_a_log_with_transactions_of_too_many_producers_is_uncleanable(fs, log):
    for producer_id in range(3):
        append_data(log, producer_id, (b"a", b"1"))
        append_marker(log, producer_id, committed=False)
    finish(log)
    with pytest.raises(UncleanableLog, match="too many producers"):
        clean_now(log, fs, settings=replace(SETTINGS, producers_max=2))
    assert clean_now(log, fs, settings=replace(SETTINGS, producers_max=3)) == 6


def test_the_last_batch_of_the_cleaned_part_stays_without_records(fs, log):
    append(log, (b"a", b"1"))
    append(log, (None, b"2"), (None, b"3"))
    finish(log)
    clean_now(log, fs)
    assert offsets(batches(log))[:2] == [(0, 0, 1), (1, 2, 0)]
    assert log.segments[0].next_offset == log.segments[1].base_offset


# ---- segments


def test_small_segments_become_one(fs, log):
    for number in range(6):
        append(log, (b"%d" % number, b"x" * 600))
        roll(log)
    before = {path.name for path in fs.paths()}
    clean_now(log, fs)
    assert [segment.base_offset for segment in log.segments] == [0, 5, 6]
    assert {path.name for path in fs.paths()} - before == {
        f"{base:020d}{suffix}.deleted" for base in range(6) for suffix in (".log", ".index", ".timeindex")
    }


def test_the_segments_of_a_group_fit_into_one(fs):
    log = new_log(fs, replace(CONFIG, index_interval_bytes=0))
    for _ in range(8):
        for _ in range(3):
            append(log, (b"a", b"1"))
        roll(log)
    segments, size = list(log.segments[:-1]), log.segments[0].size_bytes
    index, time_index = segments[0].offset_index.size_bytes, segments[0].time_index.size_bytes
    assert [len(group) for group in groups(segments, 3 * size, 10**6)] == [3, 3, 2]
    assert [len(group) for group in groups(segments, 10**9, 2 * max(index, time_index))] == [2, 2, 2, 2]
    assert groups([], 1, 1) == []
    segments[4].next_offset = 2**31 + 1
    assert [len(group) for group in groups(segments, 10**9, 10**6)] == [4, 4]


def test_the_indexes_are_those_that_a_recovery_makes(fs):
    log = new_log(fs, replace(CONFIG, segment_bytes=20_000, index_interval_bytes=200))
    for number in range(120):
        append(log, (b"%d" % (number % 50), b"x" * 40), timestamp_ms=START_MS + number)
    roll(log)
    clean_now(log, fs)
    cleaned = log.segments[0]
    entries = list(zip(cleaned.offset_index.offsets, cleaned.offset_index.positions, strict=True))
    times = list(zip(cleaned.time_index.timestamps_ms, cleaned.time_index.offsets, strict=True))
    assert len(entries) > 10
    state = (cleaned.size_bytes, cleaned.next_offset, cleaned.max_timestamp_ms, cleaned.first_timestamp_ms)
    for clean_stop in (True, False):
        again = new_log(fs, log.config, clean=clean_stop).segments[0]
        assert list(zip(again.offset_index.offsets, again.offset_index.positions, strict=True)) == entries
        assert list(zip(again.time_index.timestamps_ms, again.time_index.offsets, strict=True)) == times
        assert (again.size_bytes, again.next_offset, again.max_timestamp_ms, again.first_timestamp_ms) == state


def test_the_file_keeps_the_time_of_the_last_one(tmp_path):
    fs = FaultyFileSystem()
    log = PartitionLog.open(fs, tmp_path, "topic", 0, CONFIG)
    for value in (b"1", b"2"):
        append(log, (b"a", value))
        roll(log)
    for segment, time_ms in zip(log.segments, (5_000, 9_000, 12_000), strict=True):
        fs.set_modified_ms(segment.log_path, time_ms)
    clean_now(log, fs)
    assert fs.modified_ms(log.segments[0].log_path) == 9_000
    # What is read must be safe, and what is written; both with their names.
    assert fs.flushed.count("topic-0/") == 3
    assert fs.flushed.index("00000000000000000001.log") < fs.flushed.index("00000000000000000000.log.cleaned")
    log.close()


def test_a_log_can_be_read_while_it_is_cleaned(fs, log):
    for number in range(12):
        append(log, (b"%d" % (number % 4), b"%d" % number))
        if number % 3 == 2:
            roll(log)
    append(log, (b"active", b"record"))
    reading = log.batches(0, read_bytes=1)
    seen = [next(reading)[0].base_offset for _ in range(2)]
    clean_now(log, fs)
    seen += [header.base_offset for header, _ in reading]
    assert seen[:2] == [0, 1]
    assert set(range(8, 13)) <= set(seen)
    assert seen == sorted(set(seen))


def test_what_the_loop_replaces_it_replaces_in_one_step(fs, log):
    append(log, (b"a", b"1"), (b"a", b"2"))
    finish(log)
    cleaning = clean(fs, cleanable_log(log, None, 3, START_MS), SETTINGS, CleaningStats(), START_MS)
    files, places, names = set(log.segments), [], set()
    for place in cleaning:
        places.append(place)
        names.add(tuple(segment.log_path.name for segment in log.segments))
        assert all(path.name.count(".") < 3 or path.suffix in (".cleaned", ".swap", ".deleted") for path in fs.paths())
    assert places.count(Place.LOOP) == 2, "the replacement, and the end"
    assert len(names) == 1
    assert files != set(log.segments)


# ---- what goes wrong


def started(log, fs):
    cleaning = clean(fs, cleanable_log(log, None, log.log_end_offset, START_MS), SETTINGS, CleaningStats(), START_MS)
    while next(cleaning) is Place.ANYWHERE:
        continue
    return cleaning


def leftovers(fs):
    return [path.name for path in fs.paths() if path.suffix in (".cleaned", ".swap")]


def test_segments_that_were_deleted_meanwhile_end_it(fs, log):
    append(log, (b"a", b"1"))
    roll(log)
    append(log, (b"a", b"2"))
    finish(log)
    cleaning = started(log, fs)
    assert leftovers(fs)
    log.delete_records_before(1)
    log.delete_oldest_segment()
    with pytest.raises(CleaningAborted):
        run(cleaning)
    assert leftovers(fs) == []
    assert kept(log) == [(1, b"a", b"2")]


def test_a_log_that_is_closed_meanwhile_is_read_to_the_end(fs, log):
    append(log, (b"a", b"1"))
    finish(log)
    segments = list(log.segments)
    cleaning = started(log, fs)
    log.close()
    assert all(segment._holders == 1 for segment in segments)
    with pytest.raises(CleaningAborted):
        run(cleaning)
    assert all(segment._holders == 0 for segment in segments)


def test_a_cleaning_that_is_given_up_leaves_nothing(fs, log):
    append(log, (b"a", b"1"), (b"a", b"2"))
    finish(log)
    before = pairs(log)
    cleaning = started(log, fs)
    cleaning.close()
    assert leftovers(fs) == []
    assert pairs(log) == before


def test_a_renaming_that_fails_halfway_loses_nothing(fs, log, monkeypatch):
    append(log, (b"a", b"1"), (b"b", b"2"))
    roll(log)
    append(log, (b"a", b"2"))
    finish(log)
    cleaning = started(log, fs)
    rename, renamed = fs.rename, []

    def rename_twice(path, target):
        renamed.append(path)
        if len(renamed) > 4:
            raise OSError("the disk has gone")
        rename(path, target)

    monkeypatch.setattr(fs, "rename", rename_twice)
    with pytest.raises(OSError, match="has gone"):
        run(cleaning)
    monkeypatch.undo()
    assert pairs(log)[0] == (0, b"a", b"1"), "the log goes on with the old files"
    log.close()
    assert kept(new_log(fs)) == [(1, b"b", b"2"), (2, b"a", b"2")]


DAMAGES = {
    "crc": lambda data: data.__setitem__(-1, data[-1] ^ 1),
    "length": lambda data: data.__setitem__(slice(8, 12), bytes(4)),
    "longer than the segment": lambda data: data.__setitem__(slice(8, 12), b"\x7f\0\0\0"),
    "magic": lambda data: data.__setitem__(16, 1),
    "negative offsets": lambda data: data.__setitem__(slice(0, 8), b"\xff" * 8),
    "offsets of before": lambda data: data.__setitem__(slice(0, 8), bytes(8)),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_batch_makes_a_log_uncleanable(fs, log, damage):
    append(log, (b"a", b"1"), (b"a", b"2"))
    position = log.size_bytes
    append(log, (b"b", b"1"))
    finish(log)
    content = fs.content(log.segments[0].log_path)
    damaged = bytearray(content[position:])
    damage(damaged)
    content[position:] = damaged
    with pytest.raises(UncleanableLog, match=f"{0:020d}.log, position {position}, offset "):
        clean_now(log, fs)
    assert len(log.segments) == 2
    assert leftovers(fs) == []
    assert [segment._holders for segment in log.segments] == [0, 0]


def with_records(payload: bytes, count: int, attributes: int = 0) -> bytes:
    """A batch with a right checksum and these bytes as its records."""
    from crc32c import crc32c

    batch = bytearray(build_batch([(b"a", b"1", ())], timestamp_ms=START_MS)[:61] + payload)
    batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
    batch[21:23] = attributes.to_bytes(2, "big")
    batch[57:61] = count.to_bytes(4, "big", signed=True)
    batch[17:21] = crc32c(bytes(batch[21:])).to_bytes(4, "big")
    return bytes(batch)


@pytest.mark.parametrize(
    "batch",
    [
        with_records(b"", 1),
        with_records(b"\x0e\0\0\0\x01\x01\0", 2),
        with_records(b"\x0c\0\0\0\x01\x01\0" * 2, 1),
        with_records(b"\xff" * 20, 1),
        with_records(b"\x0c\0\0\x02\x01\x01\0", 1),
        with_records(b"\x0c\0\0\0\x7f\x01\0", 1),
        with_records(b"\x0c\0\0\0\x01\x01\x02", 1),
        with_records(b"no zstd", 1, attributes=4),
        with_records(b"", -1),
        with_records(b"", 2**31 - 1),
        with_records(b"\x0c\0\0\0\x01\x01\0", 1, attributes=7),
    ],
)
def test_malformed_records_make_a_log_uncleanable(fs, log, batch):
    append(log, (b"a", b"1"))
    log.append_prebuilt([PrebuiltBatch((1).to_bytes(8, "big") + batch[8:], 1)], START_MS)
    finish(log)
    with pytest.raises(UncleanableLog, match="offset 1: "):
        clean_now(log, fs)
    assert leftovers(fs) == []


def test_a_batch_larger_than_what_is_read_at_once_is_read_whole(fs):
    log = new_log(fs, LogConfig(cleanup_policy=frozenset({"compact"}), min_cleanable_dirty_ratio=0.0))
    append(log, (b"a", bytes(700_000)), (b"b", bytes(700_000)))
    append(log, (b"a", b"1"))
    finish(log)
    clean_now(log, fs)
    assert [(offset, key) for offset, key, _ in kept(log)] == [(1, b"b"), (2, b"a")]
