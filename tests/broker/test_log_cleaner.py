"""The choice of the logs that are compacted, and what may happen to them meanwhile, on a virtual clock."""

import pytest

from _wire.records import build_batch, parse_records
from coordinator.broker import log_cleaner
from coordinator.broker.cleaner_thread import Pace
from coordinator.broker.log_cleaner import LogCleaner
from coordinator.broker.retention import RemovalKey, Retention
from coordinator.config.cleaner_keys import (
    LOG_CLEANER_BACKOFF_MS,
    LOG_CLEANER_DEDUPE_BUFFER_SIZE,
    LOG_CLEANER_IO_MAX_BYTES_PER_SECOND,
)
from coordinator.config.settings import Config
from coordinator.config.source import ConfigSource
from coordinator.config.transaction_keys import PRODUCER_ID_EXPIRATION_MS
from coordinator.internal_topics import AUDIT_TOPIC, OFFSETS_TOPIC
from coordinator.log.compaction import cleaner
from coordinator.log.compaction.cleaner import READ_BYTES
from coordinator.log.data_dirs.checkpoints import CLEANER_OFFSETS
from coordinator.log.disk_threads import InLine
from coordinator.log.segments.reads import position_of
from coordinator.logger import logger
from coordinator.runtime import slices
from tests.broker.virtual_broker import START_MS, VirtualBroker
from tests.log.compaction.cleaning import append_data, append_marker

MINUTE_MS = 60_000
ROUND_MS = 25_000
"""The next look comes within 15 s, and a cleaning takes some turns."""
VALUE = bytes(100_000)
"""Ten of them fill a segment of 1 MiB."""
IN_A_SEGMENT = 10
SETTINGS = {"log.segment.bytes": "1048576"}


class CleaningBroker(VirtualBroker):
    def __init__(self, settings=None, fs=None):
        super().__init__(SETTINGS | (settings or {}), fs)
        config = self.config = Config(SETTINGS | (settings or {}))
        self.retention = Retention(
            self.image,
            self.partitions,
            config,
            self.wheel,
            store_start_offsets=self.store_start_offsets,
            wall_ms=self.wall_ms,
        )
        self.stable: dict[str, int] = {}
        self.cleaner = LogCleaner(
            self.fs,
            self.image,
            self.partitions,
            config,
            self.wheel,
            checkpoint=self._directories.checkpoint(CLEANER_OFFSETS),
            now_ms=self.clock.now_ms,
            wall_ms=self.wall_ms,
            last_stable_offset=lambda log: self.stable.get(log.name),
        )
        self.cleaner.start()
        self.turns = 0
        self.on_turn = lambda: None

    def store_start_offsets(self, done):
        InLine().run([self._directories.prepare_log_start_offsets()], done)

    @property
    def image(self):
        return self.topics._store.image

    def advance(self, ms):
        until_ms = self.clock.now_ms() + ms
        while 0 <= self.wheel.next_deadline_ms() <= until_ms:
            self.clock.advance(max(self.wheel.next_deadline_ms() - self.clock.now_ms(), 0))
            for key in self.wheel.advance(self.clock.now_ms()):
                self.turns += 1
                self.retention.due(key, self.clock.now_ms())
                self.cleaner.due(key, self.clock.now_ms())
                self._next_iterations()
                self.on_turn()
        self.clock.advance(until_ms - self.clock.now_ms())

    def create(self, name, partitions=1, **configs):
        texts = {"cleanup.policy": "compact"} | {key.replace("_", "."): value for key, value in configs.items()}
        self.topics.create(name, partitions, 1, texts, self.clock.now_ms())

    def fill(self, topic, keys, partition=0):
        """One batch for each key, with the time of now."""
        for key in keys:
            records = build_batch([(key, VALUE, ())], timestamp_ms=self.clock.now_ms())
            assert self.produce(topic, records, partition).error_code == 0
        return self.partitions.get(topic, partition)

    def stored_checkpoint(self):
        return self._directories.checkpoint(CLEANER_OFFSETS).read()

    def files(self, topic, partition=0):
        return [path.name for path in self.fs.paths() if path.parent.name == f"{topic}-{partition}"]


@pytest.fixture
def broker():
    return CleaningBroker()


def offsets(log):
    return [record.offset for _, data in log.batches(log.log_start_offset) for record in parse_records(data)]


def test_a_dirty_log_is_compacted(broker):
    broker.create("t")
    log = broker.fill("t", [b"a", b"b"] * 11)
    broker.advance(ROUND_MS)
    assert offsets(log) == [18, 19, 20, 21]
    assert log.log_end_offset == 22
    assert broker.stored_checkpoint() == {("t", 0): 20}
    assert (broker.cleaner.counts.cleanings, broker.cleaner.counts.uncleanable) == (1, 0)


def test_other_topics_are_left_alone(broker):
    broker.create("t", cleanup_policy="delete")
    log = broker.fill("t", [b"a"] * 22)
    broker.topics.create_internal_topics(START_MS)
    broker.advance(10 * MINUTE_MS)
    assert len(offsets(log)) == 22
    assert broker.partitions.log_config(broker.image.topics[AUDIT_TOPIC]).cleanup_policy == {"delete"}
    assert broker.partitions.log_config(broker.image.topics[OFFSETS_TOPIC]).cleanup_policy == {"compact"}


def test_the_offsets_topic_of_an_older_data_folder_is_compacted():
    """Its configs say nothing of a policy."""
    broker = CleaningBroker({"offsets.topic.segment.bytes": "1048576"})
    broker.topics._store.create_topic(OFFSETS_TOPIC, 1, {}, START_MS)
    log = broker.partitions.get(OFFSETS_TOPIC, 0)
    for _ in range(22):
        log.append(bytearray(build_batch([(b"a", VALUE, ())], timestamp_ms=START_MS)), 0, START_MS)
    broker.advance(ROUND_MS)
    assert offsets(log) == [19, 20, 21]


def test_the_cleaner_can_be_turned_off():
    broker = CleaningBroker({"log.cleaner.enable": "false"})
    broker.create("t")
    log = broker.fill("t", [b"a"] * 22)
    broker.advance(10 * MINUTE_MS)
    assert len(offsets(log)) == 22


def test_a_ratio_that_is_just_reached_is_not_enough(broker):
    broker.create("t", min_cleanable_dirty_ratio="1.0")
    log = broker.fill("t", [b"a"] * 22)
    broker.advance(10 * MINUTE_MS)
    assert len(offsets(log)) == 22
    broker.topics.change_configs(
        {"t": {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.99"}}, broker.clock.now_ms()
    )
    broker.advance(ROUND_MS)
    assert offsets(log) == [19, 20, 21]


def test_the_lag_after_which_a_log_is_compacted_whatever_its_ratio(broker):
    broker.create("t", min_cleanable_dirty_ratio="1.0", max_compaction_lag_ms=str(10 * MINUTE_MS))
    log = broker.fill("t", [b"a"] * 22)
    broker.advance(9 * MINUTE_MS)
    assert len(offsets(log)) == 22
    broker.advance(2 * MINUTE_MS)
    assert len(offsets(log)) == 3


def test_records_are_not_compacted_before_their_lag(broker):
    broker.create("t", min_compaction_lag_ms=str(10 * MINUTE_MS))
    log = broker.fill("t", [b"a"] * 10)
    broker.advance(9 * MINUTE_MS)
    broker.fill("t", [b"a"] * 11)
    broker.advance(30_000)
    assert len(offsets(log)) == 21
    broker.advance(MINUTE_MS)
    assert offsets(log) == list(range(9, 21))
    broker.advance(9 * MINUTE_MS)
    assert offsets(log) == [19, 20]


def test_the_dirtiest_log_comes_first(broker, monkeypatch):
    for name, keys in (("clean", [b"%d" % i for i in range(21)]), ("dirty", [b"a"] * 21)):
        broker.create(name, min_cleanable_dirty_ratio="0.1")
        broker.fill(name, keys)
    broker.advance(ROUND_MS)
    assert broker.cleaner.counts.cleanings == 2
    broker.fill("clean", [b"%d" % i for i in range(10)])
    broker.fill("dirty", [b"a"] * 10)
    order = []

    def clean(files, target, *rest):
        order.append(target.log.topic)
        return cleaner.clean(files, target, *rest)

    monkeypatch.setattr(log_cleaner, "clean", clean)
    broker.advance(ROUND_MS)
    assert order == ["dirty", "clean"]


def test_what_is_not_decided_is_not_compacted(broker):
    broker.create("t")
    broker.stable["t-0"] = 15
    log = broker.fill("t", [b"a"] * 21)
    broker.advance(ROUND_MS)
    assert offsets(log) == list(range(9, 21))
    broker.stable["t-0"] = 20
    broker.advance(ROUND_MS)
    assert offsets(log) == [19, 20]


def test_a_transaction_that_only_the_log_knows_of_is_not_compacted_and_looked_for_seldom(broker, monkeypatch):
    broker.create("t")
    log = broker.partitions.get("t", 0)
    append_data(log, 7, (b"a", b"open"))
    broker.fill("t", [b"a"] * 22)
    cleanings = []

    def clean(*rest):
        cleanings.append(1)
        return cleaner.clean(*rest)

    monkeypatch.setattr(log_cleaner, "clean", clean)
    broker.advance(4 * MINUTE_MS)
    assert len(offsets(log)) == 23
    assert cleanings == [1]
    append_marker(log, 7, committed=True)
    broker.advance(3 * MINUTE_MS)
    assert len(offsets(log)) < 15


def test_no_turn_is_long(broker, monkeypatch):
    """Here all work is done in the loop. The clock of the slices counts its steps: a turn takes two."""
    times = iter(range(1_000_000))
    monkeypatch.setattr(slices, "seconds", lambda: next(times) * 0.001)
    broker.create("t")
    log = broker.fill("t", [b"a"] * 40)
    turns = broker.turns
    broker.advance(MINUTE_MS)
    assert len(offsets(log)) == 11
    # The transactions, the keys, and what is kept: all is read three times.
    assert broker.turns - turns > 3 * 3 * (1 << 20) // READ_BYTES


def test_files_that_were_replaced_are_removed_after_their_delay(broker):
    broker.create("t", file_delete_delay_ms="120000")
    broker.fill("t", [b"a"] * 21)
    broker.advance(ROUND_MS)
    assert len([name for name in broker.files("t") if name.endswith(".deleted")]) == 6
    broker.advance(90_000)
    assert len([name for name in broker.files("t") if name.endswith(".deleted")]) == 6
    broker.advance(30_000)
    assert not [name for name in broker.files("t") if not name.endswith(("log", "index", ".metadata", ".snapshot"))]


def during_a_cleaning(broker, action):
    """Do something in the middle of a cleaning, once."""

    def on_turn():
        if broker.cleaner._stats.io_bytes > 4 * (1 << 20):
            broker.on_turn = lambda: None
            action()

    times = iter(range(1_000_000))
    broker.on_turn = on_turn
    return lambda: next(times) * 0.001


def test_a_topic_can_be_deleted_meanwhile(broker, monkeypatch):
    broker.create("t")
    broker.fill("t", [b"a"] * 40)
    delete = during_a_cleaning(broker, lambda: broker.topics.delete(["t"], broker.clock.now_ms()))
    monkeypatch.setattr(slices, "seconds", delete)
    broker.advance(2 * MINUTE_MS)
    assert "t" not in broker.image.topics
    assert broker.files("t") == []
    broker.create("t")
    log = broker.fill("t", [b"a"] * 22)
    broker.advance(2 * MINUTE_MS)
    assert offsets(log) == [19, 20, 21]


def test_records_can_be_deleted_meanwhile(broker, monkeypatch):
    broker.create("t", cleanup_policy="compact,delete")
    log = broker.fill("t", [b"%d" % (i % 15) for i in range(45)])

    def delete_records():
        log.delete_records_before(12)
        broker._directories.write_log_start_offsets()
        while log.has_segments_to_delete:
            log.delete_oldest_segment()
        broker.wheel.start(RemovalKey(log, 1), broker.clock.now_ms() + 1)

    monkeypatch.setattr(slices, "seconds", during_a_cleaning(broker, delete_records))
    broker.advance(2 * MINUTE_MS)
    assert log.log_start_offset == 12
    assert broker.cleaner.counts.uncleanable == 0
    kept = offsets(log)
    assert kept == list(range(kept[0], 45))
    assert not [name for name in broker.files("t") if not name.endswith(("log", "index", ".metadata", ".snapshot"))]
    assert broker.cleaner.counts.cleanings == 1


def test_a_damaged_log_is_left_alone_and_others_go_on(broker, monkeypatch):
    warnings = []
    monkeypatch.setattr(logger, "warning", lambda text, **fields: warnings.append(fields))
    for name in ("bad", "good"):
        broker.create(name)
        broker.fill(name, [b"a"] * 22)
    bad, good = (broker.partitions.get(name, 0) for name in ("bad", "good"))
    broker.fs.content(bad.segments[1].log_path)[100_200 + 150] ^= 1
    broker.advance(10 * MINUTE_MS)
    assert offsets(good) == [19, 20, 21]
    assert len(bad.segments) == 3
    assert broker.cleaner.counts.uncleanable == 1
    (fields,) = warnings
    position = position_of(bad.segments[1], 11)
    assert fields["log"] == "bad-0"
    assert fields["problem"].startswith(f"{10:020d}.log, position {position}, offset 11: crc: ")


def test_a_disk_that_fails_is_tried_again_later(broker):
    broker.create("t")
    log = broker.fill("t", [b"a"] * 22)
    broker.fs.is_full = True
    broker.advance(MINUTE_MS)
    assert len(offsets(log)) == 22
    broker.fs.heal()
    broker.advance(MINUTE_MS)
    assert len(offsets(log)) == 22
    broker.advance(5 * MINUTE_MS)
    assert offsets(log) == [19, 20, 21]
    assert not [name for name in broker.files("t") if name.endswith((".cleaned", ".swap"))]


def test_the_checkpoint_counts_after_a_restart(broker):
    broker.create("t")
    broker.fill("t", [b"%d" % i for i in range(32)])
    broker.advance(ROUND_MS)
    assert broker.stored_checkpoint() == {("t", 0): 30}
    broker.close(clean=False)
    again = CleaningBroker(fs=broker.fs)
    log = again.fill("t", [b"31"] * 12)
    again.advance(MINUTE_MS)
    assert len(offsets(log)) == 44  # ten of forty are dirty
    again.fill("t", [b"31"] * 30)
    again.advance(MINUTE_MS)
    assert offsets(log)[:31] == list(range(31))
    assert again.stored_checkpoint() == {("t", 0): 70}


def test_a_log_that_nobody_has_opened_is_compacted(broker):
    broker.create("t")
    broker.fill("t", [b"a"] * 22)
    broker.close(clean=True)
    again = CleaningBroker(fs=broker.fs)
    again.advance(ROUND_MS)
    assert offsets(again.partitions.get("t", 0)) == [19, 20, 21]


@pytest.mark.parametrize("content", [b"", b"0\n1\nt 0\n", b"\x00" * 20])
def test_a_damaged_checkpoint_counts_as_none(broker, content):
    broker.create("t")
    broker.fill("t", [b"a"] * 22)
    broker.close(clean=True)
    path = broker._directories.metadata.root / CLEANER_OFFSETS
    broker.fs.content(path)[:] = content
    again = CleaningBroker(fs=broker.fs)
    again.advance(ROUND_MS)
    assert again.stored_checkpoint() == {("t", 0): 20}


def test_a_stop_in_the_middle_leaves_nothing(broker, monkeypatch):
    broker.create("t")
    broker.fill("t", [b"a"] * 40)
    monkeypatch.setattr(slices, "seconds", during_a_cleaning(broker, broker.cleaner.stop_thread))
    broker.advance(MINUTE_MS)
    broker.cleaner.close()
    assert not [name for name in broker.files("t") if name.endswith((".cleaned", ".swap"))]
    broker.close(clean=True)
    again = CleaningBroker(fs=broker.fs)
    assert offsets(again.partitions.get("t", 0))[-1] == 39


def test_reading_and_writing_keeps_its_pace():
    now = [0.0]
    pace = Pace(1_000, lambda: now[0])
    assert pace.pause_seconds(100) == pytest.approx(0.1)
    assert pace.pause_seconds(100) == pytest.approx(0.2)
    now[0] = 10.0
    assert pace.pause_seconds(500) == pytest.approx(0.5)
    assert pace.pause_seconds(10**12) == 3600.0


def test_another_pace_counts_from_now_on():
    pace = Pace(1_000, lambda: 0.0)
    pace.change(10_000)
    assert pace.pause_seconds(1_000) == pytest.approx(0.1)


def test_the_cleaner_uses_settings_that_change_while_it_runs():
    broker = CleaningBroker({"log.cleaner.backoff.ms": "1000000", "log.cleaner.io.max.bytes.per.second": "1"})
    broker.config.set_dynamic(
        ConfigSource.DYNAMIC_BROKER,
        {
            LOG_CLEANER_BACKOFF_MS: 1_000,
            LOG_CLEANER_IO_MAX_BYTES_PER_SECOND: LOG_CLEANER_IO_MAX_BYTES_PER_SECOND.default,
            LOG_CLEANER_DEDUPE_BUFFER_SIZE: 2_000_000,
            PRODUCER_ID_EXPIRATION_MS: 5,
        },
    )
    settings = broker.cleaner._settings()
    assert (settings.dedupe_buffer_bytes, settings.producer_expiration_ms) == (2_000_000, 5)
    broker.create("t")
    broker.advance(1_000_001)  # the first look was planned before
    log = broker.fill("t", [b"a"] * 22)
    broker.advance(1_001)
    for _ in range(100):  # slices of the cleaner end by the processor's time: on a busy machine it needs more of them
        if offsets(log) == [19, 20, 21]:
            break
        broker.advance(1)
    assert offsets(log) == [19, 20, 21]


def test_a_slow_pace_takes_its_time():
    broker = CleaningBroker({"log.cleaner.io.max.bytes.per.second": "1000000"})
    broker.create("t")
    log = broker.fill("t", [b"a"] * 22)
    broker.advance(18_000)
    assert len(offsets(log)) == 22
    broker.advance(8_000)
    assert offsets(log) == [19, 20, 21]
