"""Which errors take a log directory offline while a server runs, and what is left then."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from _wire.errors import ErrorCode
from coordinator.broker.directories.directory_failures import DirectoryFailures
from coordinator.log.data_dirs.checkpoints import RECOVERY_POINTS, read_checkpoint
from coordinator.log.errors import LogAppendError, LogDirectoryFailed, LogError, LogFlushError, OfflineDirectory
from coordinator.log.memory_files import MemoryFileSystem
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.metadata.leadership import NO_LEADER
from coordinator.runtime.slices import Slices
from tests.broker.directories.test_directory_assignment import NOW_MS, A, B, Broker, C
from tests.captured_logs import capture_logs
from tests.log.batches import batch


class FailingBroker(Broker):
    """A broker with what handles errors of its disks. What is to be called soon waits in `soon`."""

    def __init__(
        self, fs: MemoryFileSystem, *paths: Path, on_open: Callable[[PartitionLog], None] = lambda log: None
    ) -> None:
        super().__init__(fs, *paths, on_open=on_open)
        self.soon: list[Callable[[], None]] = []
        self.stopped: list[LogError] = []
        self.closed: list[PartitionLog] = []
        self.failures = DirectoryFailures(
            self.directories,
            self.partitions,
            self.assignment,
            Slices(self.soon.append),
            disk_errors=self.disk_errors,
            call_soon=self.soon.append,
            stop=self.stopped.append,
        )
        self.partitions.add_removal_listener(self.closed.append)

    def report(self, topic: str, partition: int, number: int, *, is_read: bool = False) -> bool:
        """An append to a log, or a read of it, failed with this errno."""
        problem: Exception = error(number)
        if not is_read:
            problem = LogAppendError(str(problem))
            problem.__cause__ = error(number)
        return self.partitions.is_disk_failure(self.partitions.get(topic, partition), problem, is_read=is_read)

    def go_on(self) -> None:
        while self.soon:
            self.soon.pop(0)()

    def online(self) -> list[Path]:
        return [each.root for each in self.directories.online]


def error(number: int, path: Path | None = None) -> OSError:
    return OSError(number, os.strerror(number), str(path)) if path else OSError(number, os.strerror(number))


@pytest.fixture
def fs() -> MemoryFileSystem:
    return MemoryFileSystem()


@pytest.fixture
def broker(fs: MemoryFileSystem) -> FailingBroker:
    """Of a topic with 6 partitions, 1 and 4 are in B, 2 and 5 in C; each has a record."""
    broker = FailingBroker(fs, A, B, C)
    broker.create("topic", 6)
    for partition in range(6):
        broker.append("topic", partition)
    return broker


DISK_FAILURES: Final = (errno.EIO, errno.EROFS, errno.ENODEV, errno.ENXIO, errno.ESTALE)
PASSING: Final = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOENT, errno.EACCES)


@pytest.mark.parametrize("number", DISK_FAILURES, ids=errno.errorcode.get)
def test_an_append_that_fails_with_the_disk_takes_its_directory_offline(broker, number):
    log = broker.partitions.get("topic", 1)
    assert broker.report("topic", 1, number)
    assert broker.online() == [A, B, C], "the caller may be in the middle of an append"
    assert broker.report("topic", 4, number), "it is known, and needs no other line"
    with capture_logs() as lines:
        broker.go_on()
    (line,) = lines
    assert (line["directory"], line["partitions"], line["log_level"]) == ("/b", 2, "error")
    assert os.strerror(number) in line["problem"]
    assert broker.online() == [A, C]
    assert broker.directories.offline_paths() == [B]
    assert [broker.leader_of("topic", n) for n in range(6)] == [1, NO_LEADER, 1, 1, NO_LEADER, 1]
    assert broker.partitions.locate("topic", 1) is ErrorCode.KAFKA_STORAGE_ERROR
    assert sorted(log.partition for log in broker.closed) == [1, 4]
    assert all(log.is_closed for log in broker.closed)
    assert broker.partitions.is_disk_failure(log, error(number)), "what comes late is known"
    assert (broker.soon, broker.stopped) == ([], [])


@pytest.mark.parametrize("number", PASSING, ids=errno.errorcode.get)
def test_an_append_that_fails_for_another_reason_does_not(broker, number):
    assert not broker.report("topic", 1, number)
    assert (broker.online(), broker.soon) == ([A, B, C], [])


def test_a_read_that_fails_is_about_one_sector(broker):
    assert not broker.report("topic", 1, errno.EIO, is_read=True)
    assert broker.report("topic", 1, errno.ENODEV, is_read=True)


def test_a_file_that_is_not_there_is_the_failure_of_a_directory_that_is_gone(broker, fs):
    assert not broker.report("topic", 1, errno.ENOENT)
    fs.rename(B, Path("/elsewhere"))
    assert broker.report("topic", 1, errno.ENOENT)


def test_the_checkpoints_notice_a_directory_that_is_gone(broker, fs):
    broker.directories.prepare_checkpoints()()
    fs.rename(B, Path("/elsewhere"))
    with pytest.raises(OfflineDirectory) as caught:
        broker.directories.prepare_checkpoints()()
    assert broker.failures.report(caught.value)
    broker.go_on()
    broker.directories.prepare_checkpoints()()
    assert broker.online() == [A, C]


def test_a_checkpoint_that_cannot_be_written_names_its_directory(broker, fs, monkeypatch):
    def failing(data: object, position: int) -> None:
        raise error(errno.EIO)

    open_file = fs.open

    def open_failing(path: Path) -> object:
        file = open_file(path)
        if path.is_relative_to(B):
            file.write_at = failing
        return file

    monkeypatch.setattr(fs, "open", open_failing)
    with pytest.raises(OSError, match="Input/output error") as caught:
        broker.directories.prepare_checkpoints()()
    assert broker.failures.report(caught.value)
    broker.go_on()
    assert broker.online() == [A, C]
    assert ("topic", 5) in read_checkpoint(fs, C / RECOVERY_POINTS), "the others were written"


def test_a_failed_fsync_counts_whatever_its_reason_and_at_once(broker):
    with capture_logs() as lines:
        assert broker.failures.flush_failed(LogFlushError("topic-1: fsync failed"), B / "topic-1")
    assert broker.online() == [A, C]
    assert "acknowledged data in it may be lost" in lines[0]["event"]
    assert broker.failures.flush_failed(LogFlushError("topic-4: fsync failed"), B / "topic-4"), "it is known"
    assert not broker.failures.flush_failed(LogFlushError("topic-0: fsync failed"), A / "topic-0")


def test_an_fsync_that_fails_when_a_log_is_opened(fs):
    def flush(log: PartitionLog) -> None:
        raise LogFlushError(f"{log.name}: fsync failed")

    broker = FailingBroker(fs, A, B, on_open=flush)
    broker.create("topic", 2)
    with capture_logs() as lines:
        assert broker.partitions.locate("topic", 1) is ErrorCode.KAFKA_STORAGE_ERROR
        broker.go_on()
    assert (broker.online(), len(lines)) == ([A], 1)
    assert broker.partitions.locate("topic", 0) is ErrorCode.KAFKA_STORAGE_ERROR
    assert [str(each) for each in broker.stopped] == ["topic-0: fsync failed"]


def test_what_can_be_read_in_the_directory_of_the_metadata_log_is_served(broker):
    for number in DISK_FAILURES:
        assert not broker.report("topic", 0, number), "each request says so for itself"
    assert (broker.online(), broker.stopped, broker.soon) == ([A, B, C], [], [])
    assert isinstance(broker.partitions.locate("topic", 0), PartitionLog)


def test_what_can_be_read_in_the_last_directory_is_served(fs):
    broker = FailingBroker(fs, A)
    broker.create("topic", 1)
    assert not broker.report("topic", 0, errno.EROFS)
    assert (broker.online(), broker.stopped, broker.soon) == ([A], [], [])


def test_when_the_directory_of_the_metadata_log_is_gone_the_process_has_to_stop(broker, fs):
    fs.rename(A, Path("/elsewhere"))
    assert broker.report("topic", 0, errno.ENOENT)
    (reason,) = broker.stopped
    assert isinstance(reason, LogDirectoryFailed)
    assert str(reason) == "log directory /a, which has the metadata log, is gone: [Errno 2] No such file or directory"
    assert broker.report("topic", 3, errno.ENOENT)
    assert (len(broker.stopped), broker.soon) == (1, [])


def test_a_log_of_an_offline_directory_says_nothing_of_the_others(broker):
    broker.report("topic", 1, errno.EIO)
    broker.go_on()
    log = broker.partitions.get("topic", 1)
    with pytest.raises(LogAppendError) as caught:
        log.append(batch("x"), 0, NOW_MS)
    assert not broker.partitions.is_disk_failure(log, caught.value)
    assert broker.stopped == []


def test_directories_that_fail_at_the_same_time(broker):
    assert broker.report("topic", 1, errno.EIO)
    assert broker.report("topic", 2, errno.EIO)
    broker.go_on()
    assert (broker.online(), broker.stopped) == ([A], [])


def test_nothing_new_is_made_in_a_directory_that_failed(broker, fs):
    cleaned = broker.directories.checkpoint("cleaner-offset-checkpoint")
    broker.report("topic", 1, errno.EIO)
    broker.go_on()
    names = fs.names(B)
    broker.create("new", 4)
    assert set(broker.assigned("new")) == {A, C}
    broker.topics.add_partitions("topic", 8, NOW_MS)
    broker.append("topic", 6)
    cleaned.write({("topic", 0): 1, ("topic", 2): 1})
    broker.directories.prepare_checkpoints()()
    broker.topics.delete(["topic"], NOW_MS)
    assert [name for name in fs.names(B) if name != ".lock"] == [name for name in names if name != ".lock"]


def test_at_the_next_start_all_is_there(broker, fs):
    broker.report("topic", 1, errno.EIO)
    broker.go_on()
    broker.append("topic", 0)
    broker.close()
    again = Broker(fs, A, B, C)
    assert [again.partitions.get("topic", n).log_end_offset for n in range(6)] == [2, 1, 1, 1, 1, 1]
    assert [again.directories.online[n].had_clean_shutdown for n in range(3)] == [True, False, True]


def test_paths_that_an_older_version_stored_relatively(fs, monkeypatch):
    monkeypatch.chdir("/")
    broker = Broker(fs, A, B)
    broker.create("topic", 2)
    paths = {each.directory_id: each.root.name for each in broker.directories.online}
    broker.store.assign_directories({}, paths, NOW_MS)
    broker.close()
    fs.rename(B, Path("/kept"))
    fs.content(B).extend(b"a file")
    without = Broker(fs, A, B)
    assert [without.leader_of("topic", n) for n in range(2)] == [1, NO_LEADER]
    assert sorted(without.image.log_directories.values()) == ["/a", "/b"]
