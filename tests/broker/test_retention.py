"""Retention on a virtual clock: which segments go, when, and in how small steps."""

import pytest

from coordinator.broker.retention import CheckKey, Retention, is_due
from coordinator.config.settings import Config
from coordinator.internal_topics import AUDIT_TOPIC, OFFSETS_TOPIC
from coordinator.log.config import LogConfig
from coordinator.log.data_dirs.checkpoints import CheckpointWriter
from coordinator.log.disk_threads import InLine
from coordinator.log.segments.stored_segments import StoredSegments
from coordinator.runtime import slices
from tests.broker.virtual_broker import START_MS, VirtualBroker, batch

MINUTE_MS = 60_000
INTERVAL_MS = 5 * MINUTE_MS
BATCH_BYTES = 400_000
"""Two of them fill a segment of 1 MiB."""


class RetainingBroker(VirtualBroker):
    """A broker whose logs are checked."""

    def __init__(self, settings=None, fs=None, **rules):
        super().__init__(settings, fs)
        config = Config(settings or {})
        self.retention = Retention(
            self.image,
            self.partitions,
            config,
            self.wheel,
            store_start_offsets=self.store_offsets,
            wall_ms=self.wall_ms,
            **rules,
        )
        self.retention.start(self.clock.now_ms())
        self.turns = 0

    def store_offsets(self, done):
        InLine().run([self._directories.prepare_log_start_offsets()], done)

    @property
    def image(self):
        return self.topics._store.image

    def advance(self, ms):
        """Let time pass, and do what becomes due on the way."""
        until_ms = self.clock.now_ms() + ms
        while 0 <= self.wheel.next_deadline_ms() <= until_ms:
            self.clock.advance(max(self.wheel.next_deadline_ms() - self.clock.now_ms(), 0))
            for key in self.wheel.advance(self.clock.now_ms()):
                self.turns += 1
                self.retention.due(key, self.clock.now_ms())
        self.clock.advance(until_ms - self.clock.now_ms())

    def fill(self, topic, batches, partition=0):
        """Append batches with the time of now."""
        for _ in range(batches):
            records = batch(bytes(BATCH_BYTES), timestamp_ms=self.clock.now_ms())
            assert self.produce(topic, records, partition).error_code == 0
        return self.partitions.get(topic, partition)

    def files(self, topic, partition=0):
        """The files of its segments."""
        paths = [path for path in self.fs.paths() if path.parent.name == f"{topic}-{partition}"]
        return [path.name for path in paths if path.suffix not in (".metadata", ".snapshot")]


@pytest.fixture
def broker():
    return RetainingBroker({"log.segment.bytes": "1048576", "log.retention.minutes": "60"})


def create(broker, name, partitions=1, **configs):
    texts = {key.replace("_", "."): value for key, value in configs.items()}
    broker.topics.create(name, partitions, 1, texts, broker.clock.now_ms())


def test_segments_go_when_their_time_has_come(broker):
    create(broker, "t")
    log = broker.fill("t", 5)
    broker.advance(30 * MINUTE_MS)
    broker.fill("t", 1)
    assert (log.log_start_offset, len(log.segments)) == (0, 3)
    broker.advance(29 * MINUTE_MS)
    assert (log.log_start_offset, len(log.segments)) == (0, 3)
    broker.advance(7 * MINUTE_MS)
    assert (log.log_start_offset, len(log.segments)) == (4, 1)
    broker.advance(60 * MINUTE_MS)
    assert (log.log_start_offset, log.log_end_offset, log.size_bytes) == (6, 6, 0)


def test_segments_go_when_there_are_too_many(broker):
    create(broker, "t", retention_ms="-1", retention_bytes="1000000")
    log = broker.fill("t", 9)
    broker.advance(MINUTE_MS)
    assert log.log_start_offset == 6
    broker.advance(10_000 * MINUTE_MS)
    assert log.log_start_offset == 6


def test_files_are_removed_after_their_delay(broker):
    create(broker, "t", retention_bytes="0", file_delete_delay_ms="120000")
    broker.fill("t", 3)
    assert len(broker.files("t")) == 6
    broker.advance(30_000)
    names = broker.files("t")
    assert len([name for name in names if name.endswith(".deleted")]) == 6
    broker.advance(119_000)
    assert broker.files("t") == names
    broker.advance(1_100)
    assert [name for name in broker.files("t") if name.endswith(".log")] == [f"{3:020d}.log"]
    assert not [name for name in broker.files("t") if name.endswith(".deleted")]


def test_a_change_of_the_configs_counts_at_the_next_check(broker):
    create(broker, "t", retention_ms="-1")
    log = broker.fill("t", 3)
    broker.advance(100 * MINUTE_MS)
    assert log.log_start_offset == 0
    broker.topics.change_configs({"t": {"retention.ms": "1"}}, broker.clock.now_ms())
    broker.advance(INTERVAL_MS)
    assert log.log_start_offset == 3


@pytest.mark.parametrize("policy", ["compact", ""])
def test_a_topic_without_the_policy_delete_keeps_everything(broker, policy):
    create(broker, "t", cleanup_policy=policy, retention_ms="1", retention_bytes="0")
    records = batch(b"v", timestamp_ms=START_MS)
    log = broker.partitions.get("t", 0)
    log.append(bytearray(records), 0, START_MS)
    broker.advance(100 * MINUTE_MS)
    assert (log.log_start_offset, log.log_end_offset) == (0, 1)


def test_compacted_topics_of_the_coordinator_are_left_alone():
    broker = RetainingBroker({"log.retention.ms": "1", "log.retention.bytes": "0", "offsets.topic.num.partitions": "1"})
    broker.topics.create_internal_topics(START_MS)
    log = broker.partitions.get(OFFSETS_TOPIC, 0)
    log.append(bytearray(batch(b"v")), 0, START_MS)
    broker.advance(100 * MINUTE_MS)
    assert (log.log_start_offset, log.log_end_offset) == (0, 1)


def test_the_audit_topic_has_a_rule_of_its_own():
    settings = {"log.retention.ms": "1", "offsets.topic.num.partitions": "1"}
    broker = RetainingBroker(settings, audit_retained_from=lambda log, now_ms: 2)
    broker.topics.create_internal_topics(START_MS)
    log = broker.partitions.get(AUDIT_TOPIC, 0)
    for _ in range(3):
        log.append(bytearray(batch(b"v")), 0, START_MS)
    broker.advance(MINUTE_MS)
    assert (log.log_start_offset, log.log_end_offset) == (2, 3)


def test_what_was_deleted_stays_deleted_after_a_kill(broker):
    create(broker, "t", retention_bytes="1000000")
    start = broker.fill("t", 9).log_start_offset
    broker.advance(MINUTE_MS)
    start = broker.partitions.get("t", 0).log_start_offset
    assert start > 0
    broker.close(clean=False)
    again = RetainingBroker(fs=broker.fs)
    log = again.partitions.get("t", 0)
    assert (log.log_start_offset, log.log_end_offset) == (start, 9)
    assert not [name for name in again.files("t") if name.endswith(".deleted")]
    again.close(clean=False)


def test_a_deleted_topic_takes_its_deleted_segments_with_it(broker):
    create(broker, "t", retention_bytes="0")
    broker.fill("t", 3)
    broker.advance(30_000)
    broker.topics.delete(["t"], broker.clock.now_ms())
    broker._next_iterations()
    broker.advance(10 * MINUTE_MS)
    assert broker.files("t") == []


def test_the_start_offsets_are_stored_before_segments_go(broker, monkeypatch):
    create(broker, "t", retention_bytes="0")
    log = broker.fill("t", 3)

    def fail(*arguments):
        raise OSError("no space")

    monkeypatch.setattr(CheckpointWriter, "_write", fail)
    broker.advance(MINUTE_MS)
    assert len(log.segments) == 2
    monkeypatch.undo()
    broker.advance(INTERVAL_MS)
    assert len(log.segments) == 1


def test_a_log_that_cannot_be_read_does_not_keep_others_from_deletion(broker, monkeypatch):
    for name in ("bad", "good"):
        create(broker, name, retention_bytes="0")
    bad, good = broker.fill("bad", 3), broker.fill("good", 3)

    def fail(now_ms):
        raise OSError("broken")

    monkeypatch.setattr(
        "coordinator.broker.retention.retained_from", lambda log, now_ms: fail(now_ms) if log is bad else 3
    )
    broker.advance(MINUTE_MS)
    assert (bad.log_start_offset, good.log_start_offset) == (0, 3)


def test_long_work_is_done_in_turns(broker, monkeypatch):
    create(broker, "t", partitions=50, retention_bytes="0")
    logs = [broker.fill("t", 1, partition) for partition in range(50)]
    clock = iter(range(10**9))
    monkeypatch.setattr(slices, "seconds", lambda: next(clock))
    before = broker.turns
    broker.advance(MINUTE_MS)
    assert broker.turns - before > 100
    assert all(log.log_start_offset == 1 for log in logs)


def test_checks_go_on_forever(broker):
    for _ in range(3):
        before = broker.turns
        broker.advance(INTERVAL_MS)
        assert broker.turns > before
    assert any(isinstance(key, CheckKey) for key in broker.wheel.advance(broker.clock.now_ms() + 10 * INTERVAL_MS))


def test_a_log_that_nobody_opened_stays_closed_until_its_files_are_old(broker, monkeypatch):
    create(broker, "t")
    broker.fill("t", 3)
    broker.close(clean=True)
    again = RetainingBroker({"log.segment.bytes": "1048576", "log.retention.minutes": "60"}, fs=broker.fs)
    written_ms = [START_MS]
    monkeypatch.setattr(again.fs, "modified_ms", lambda path: written_ms[0])
    again.advance(59 * MINUTE_MS)
    assert again.partitions.open_log("t", 0) is None
    again.advance(10 * MINUTE_MS)
    log = again.partitions.open_log("t", 0)
    assert log is not None
    assert (log.log_start_offset, log.log_end_offset) == (3, 3)
    again.close(clean=False)


@pytest.mark.parametrize(
    ("stored", "config", "due"),
    [
        (StoredSegments(), LogConfig(retention_ms=0, retention_bytes=0), False),
        (StoredSegments(10, 5, START_MS), LogConfig(retention_ms=1_000), False),
        (StoredSegments(10, 5, START_MS - 1), LogConfig(retention_ms=1_000), True),
        (StoredSegments(10, 5, 0), LogConfig(retention_ms=-1), False),
        (StoredSegments(10, 5, START_MS), LogConfig(retention_bytes=6), False),
        (StoredSegments(10, 5, START_MS), LogConfig(retention_bytes=5), True),
        (StoredSegments(10, 5, 0), LogConfig(retention_bytes=0, cleanup_policy=frozenset({"compact"})), False),
    ],
)
def test_the_look_at_a_closed_log(stored, config, due):
    assert is_due(stored, config, START_MS + 1_000) is due


# ---- the wall clock


def test_records_are_as_old_as_the_wall_clock_says(broker):
    create(broker, "t")
    log = broker.fill("t", 5)
    broker.wall_ahead_ms = 61 * MINUTE_MS
    broker.advance(INTERVAL_MS)
    assert log.log_start_offset == 5


def test_after_a_step_back_checks_go_on_and_records_stay_until_they_are_old(broker):
    create(broker, "t")
    log = broker.fill("t", 5)
    broker.wall_ahead_ms = -60 * MINUTE_MS
    broker.advance(115 * MINUTE_MS)
    assert log.log_start_offset == 0
    broker.advance(INTERVAL_MS + 6 * MINUTE_MS)
    assert log.log_start_offset == 5
