"""Flushes in threads, with threads and a disk that do what a test says: nothing acknowledged is ever lost."""

import random
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from _wire.records import parse_records
from coordinator.broker.data.append_notifier import AppendNotifier
from coordinator.broker.log_flusher import LogFlusher
from coordinator.config.settings import Config
from coordinator.log.config import LogConfig
from coordinator.log.data_dirs.checkpoints import RECOVERY_POINTS, read_checkpoint
from coordinator.log.data_dirs.directories import LogDirectories
from coordinator.log.disk_threads import Done, InLine
from coordinator.log.errors import LogFlushError
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.timers.clock import VirtualClock
from coordinator.timers.wheel import TimerWheel
from tests.log.batches import START_MS, batch
from tests.model.memory_files import MemoryFileSystem

ROOT: Final = Path("/data")
PARTITIONS: Final = 3
HISTORIES: Final = 60
STEPS: Final = 60


class ManualThreads(InLine):
    """Work is begun by `work` and delivered by `deliver`."""

    def __init__(self) -> None:
        self.submitted: list[tuple[Sequence[Callable[[], None]], Done]] = []
        self.worked: list[tuple[Done, Exception | None]] = []

    def run(self, work: Sequence[Callable[[], None]], done: Done) -> None:
        self.submitted.append((work, done))

    def work(self) -> None:
        """Let the threads do all that was submitted, but not tell of it."""
        submitted, self.submitted = self.submitted, []
        for work, done in submitted:
            problems: list[Exception | None] = []
            super().run(work, problems.append)
            self.worked.append((done, problems[0]))

    def deliver(self) -> None:
        worked, self.worked = self.worked, []
        for done, problem in worked:
            done(problem)


class Node:
    """A data folder with its flusher."""

    def __init__(self, disk: MemoryFileSystem, settings: dict[str, str], log_config: LogConfig, boot_id: str) -> None:
        self.disk = disk
        self.clock = VirtualClock(START_MS)
        self.wheel = TimerWheel(START_MS)
        self.threads = ManualThreads()
        self.failures: list[LogFlushError] = []
        self.changed: list[PartitionLog] = []
        self.directories = LogDirectories.open([ROOT], fs=disk, boot_id=boot_id)
        self.notifier = AppendNotifier(lambda: None)
        self.flusher = LogFlusher(
            Config(settings),
            self.directories,
            self.notifier,
            self,
            self.threads,
            on_failure=self.failures.append,
            clock=self.clock.now_ms,
        )
        self.logs = [self.directories.open_log("topic", partition, log_config) for partition in range(PARTITIONS)]
        for log in self.logs:
            self.notifier.add_listener([log], self.changed.append)
            self.flusher.opened(log)
        self.flusher.start(START_MS)

    def start(self, key: object, deadline_ms: int) -> int:
        return self.wheel.start(key, deadline_ms)

    def request_iteration(self) -> None:
        """The test ends iterations."""

    def append(self, partition: int, *values: str) -> int:
        log = self.logs[partition]
        log.append(batch(*values), 0, START_MS)
        self.notifier.mark_appended(log)
        return log.log_end_offset

    def advance(self, ms: int) -> None:
        self.clock.advance(ms)
        for key in self.wheel.advance(self.clock.now_ms()):
            self.flusher.due(key, self.clock.now_ms())

    def finish(self) -> None:
        """Let all that is under way come to its end."""
        for _ in range(3):
            self.flusher.commit(self.clock.now_ms())
            self.threads.work()
            self.threads.deliver()


ALWAYS: Final = {"log.flush.policy": "always"}


def node(settings: dict[str, str] | None = None, **log_config: Any) -> Node:
    return Node(MemoryFileSystem(), settings or {}, LogConfig(**log_config), "first")


# ---- log.flush.policy=always


def test_an_append_counts_when_it_is_flushed():
    made = node(ALWAYS)
    durable: list[str] = []
    made.append(0, "a")
    made.flusher.when_durable(lambda _: durable.append("first"))
    made.flusher.commit(START_MS)
    made.append(1, "b")
    made.flusher.when_durable(lambda _: durable.append("second"))
    made.threads.work()
    assert (durable, made.logs[0].high_watermark, made.logs[0].read(0, 100)) == ([], 0, b"")
    made.threads.deliver()
    assert durable == ["first"]
    assert [log.high_watermark for log in made.logs] == [1, 0, 0]
    assert parse_records(made.logs[0].read(0, 100))[0].value == b"a"
    assert made.logs[1].read(0, 100) == b""
    made.finish()
    assert durable == ["first", "second"]
    assert [log.high_watermark for log in made.logs] == [1, 1, 0]


def test_one_group_commit_is_under_way_at_a_time_and_covers_all_logs():
    made = node(ALWAYS)
    for partition in range(PARTITIONS):
        made.append(partition, "a")
    made.flusher.commit(START_MS)
    made.append(0, "b")
    made.flusher.commit(START_MS)
    ((work, _),) = made.threads.submitted
    assert len(work) == PARTITIONS


def test_what_needs_no_flush_is_durable_at_once():
    made = node(ALWAYS)
    durable: list[None] = []
    made.flusher.when_durable(durable.append)
    assert durable == [None]
    made.append(0, "a")
    made.flusher.commit(START_MS)
    made.flusher.when_durable(durable.append)  # as the repetition of what is being flushed
    assert durable == [None]
    made.finish()
    assert durable == [None, None]


def test_readers_are_told_when_there_is_something_to_read():
    made = node(ALWAYS)
    made.append(2, "a")
    made.notifier.notify(START_MS)
    assert made.changed == []
    made.finish()
    made.notifier.notify(START_MS)
    assert made.changed == [made.logs[2]]


def test_a_failed_flush_ends_the_process_and_answers_nobody(monkeypatch):
    made = node(ALWAYS)
    durable: list[None] = []
    made.append(0, "a")
    made.flusher.when_durable(durable.append)

    def fail(path: Path) -> None:
        raise OSError("the medium is gone")

    monkeypatch.setattr(made.disk, "note_flushed", fail)
    made.finish()
    assert ["the medium is gone" in str(failure) for failure in made.failures] == [True]
    assert (durable, made.logs[0].high_watermark) == ([], 0)


def test_a_clean_stop_lets_everything_go_on():
    made = node(ALWAYS)
    durable: list[None] = []
    made.append(0, "a")
    made.flusher.when_durable(durable.append)
    made.flusher.finish()
    assert durable == [None]
    made.append(0, "b")
    made.flusher.when_durable(durable.append)
    assert durable == [None, None]
    made.directories.close()
    assert Node(made.disk, ALWAYS, LogConfig(), "second").logs[0].high_watermark == 2


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_nothing_acknowledged_is_lost_with_the_power(seed):
    choose = random.Random(seed)
    settings = LogConfig(segment_bytes=400, index_interval_bytes=100)
    made = Node(MemoryFileSystem(), ALWAYS, settings, "boot 0")
    made.finish()
    written: list[list[str]] = [[] for _ in range(PARTITIONS)]
    acknowledged = [0] * PARTITIONS

    def acknowledge(partition: int, end: int, _: None) -> None:
        acknowledged[partition] = max(acknowledged[partition], end)

    for step in range(STEPS):
        action = choose.choices(["append", "commit", "work", "deliver", "lose power"], [6, 3, 3, 3, 1])[0]
        if action == "append":
            partition = choose.randrange(PARTITIONS)
            values = [f"{partition} {step} {each}" for each in range(choose.randint(1, 3))]
            end = made.append(partition, *values)
            written[partition] += values
            made.flusher.when_durable(partial(acknowledge, partition, end))
        elif action == "commit":
            made.flusher.commit(START_MS)
        elif action == "work":
            made.threads.work()
        elif action == "deliver":
            made.threads.deliver()
        else:
            made.disk.lose_power(lambda size: choose.choice((0, size, choose.randint(0, size))))
            made = Node(made.disk, ALWAYS, settings, f"boot {step}")
            made.finish()
            for partition, log in enumerate(made.logs):
                assert log.log_end_offset >= acknowledged[partition], f"step {step}: an acknowledged append is lost"
                assert log.high_watermark == log.log_end_offset
                del written[partition][log.log_end_offset :]
                found = [record.value for _, data in log.batches(0) for record in parse_records(data)]
                assert found == [value.encode() for value in written[partition]]
                acknowledged[partition] = 0
        for partition, log in enumerate(made.logs):
            assert acknowledged[partition] <= log.high_watermark <= log.log_end_offset
    assert not made.failures


# ---- log.flush.policy=page-cache


def test_a_rolled_segment_is_flushed_in_the_background():
    made = node(segment_bytes=400)
    log = made.logs[0]
    while len(log.segments) < 3:
        made.append(0, "x" * 100)
    assert log.high_watermark == log.log_end_offset, "nothing waits for it"
    assert log.recovery_point == 0
    made.finish()
    assert log.recovery_point == log.segments[-1].base_offset
    before = log.log_end_offset
    made.disk.lose_power(lambda size: 0)
    after = Node(made.disk, {}, LogConfig(segment_bytes=400), "second")
    assert before > after.logs[0].log_end_offset >= log.segments[-1].base_offset


def test_the_checkpoints_are_written_while_it_runs():
    made = node({"log.flush.offset.checkpoint.interval.ms": "60000"}, segment_bytes=400)
    while len(made.logs[1].segments) < 2:
        made.append(1, "x" * 100)
    made.finish()
    made.advance(59_999)
    assert made.threads.submitted == []
    for _ in range(2):
        made.advance(60_000)
        assert len(made.threads.submitted) == 1
        made.finish()
        assert read_checkpoint(made.disk, ROOT / RECOVERY_POINTS)["topic", 1] == made.logs[1].segments[-1].base_offset


def test_a_flush_after_so_many_records():
    made = node(flush_messages=3)
    made.append(0, "a", "b")
    assert made.threads.submitted == []
    made.append(0, "c")
    made.append(0, "d")
    assert len(made.threads.submitted) == 1
    made.finish()
    assert made.logs[0].recovery_point == 3
    made.append(0, "e", "f")
    made.finish()
    assert made.logs[0].recovery_point == 6


def test_what_is_appended_during_a_flush_is_flushed_too():
    """Also if nothing is appended after it, which would tell of it."""
    made = node(flush_messages=2)
    made.append(0, "a", "b")
    made.append(0, "c", "d", "e")
    assert len(made.threads.submitted) == 1
    made.finish()
    assert made.logs[0].recovery_point == 5
    by_time = node(flush_ms=1_000)
    by_time.append(0, "a")
    by_time.advance(1_000)
    by_time.append(0, "b")
    by_time.finish()
    assert by_time.logs[0].recovery_point == 1
    by_time.advance(1_000)
    by_time.finish()
    assert by_time.logs[0].recovery_point == 2


def test_a_flush_after_some_time():
    made = node(flush_ms=1_000)
    made.append(0, "a")
    made.advance(500)
    made.append(0, "b")
    made.advance(499)
    assert made.threads.submitted == []
    made.advance(1)
    made.finish()
    assert made.logs[0].recovery_point == 2
    made.advance(5_000)
    assert made.threads.submitted == []
    made.append(0, "c")
    made.advance(1_000)
    made.finish()
    assert made.logs[0].recovery_point == 3


def test_a_later_flush_does_not_overtake_that_of_a_rolled_segment():
    """Its end would count as the recovery point, although the segment before it is not flushed."""
    made = node(segment_bytes=400, flush_messages=5)
    log = made.logs[0]
    for _ in range(5):
        made.append(0, "x" * 100)
    assert len(log.segments) > 1
    assert len(made.threads.submitted) == 1, "that of the rolled segment; the other one comes after it"
    made.finish()
    assert log.recovery_point == log.log_end_offset == 5


def test_a_log_that_is_deleted_while_it_is_flushed_is_no_failure(monkeypatch):
    made = node(flush_messages=1)
    made.append(0, "a")

    def closed(path: Path) -> None:
        raise OSError(9, "Bad file descriptor")

    made.directories.online[0].delete_log("topic", 0)
    monkeypatch.setattr(made.disk, "note_flushed", closed)
    made.finish()
    assert made.failures == []
