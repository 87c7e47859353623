"""The directories of `log.dirs` together, on disks in memory and on a real one."""

from pathlib import Path
from typing import Final

import pytest

from coordinator.log.config import LogConfig
from coordinator.log.data_dirs.checkpoints import CLEANER_OFFSETS, LOG_START_OFFSETS, read_checkpoint
from coordinator.log.data_dirs.directories import LogDirectories
from coordinator.log.data_dirs.directory import LogDirectory
from coordinator.log.errors import DataDirectoryError, LogAppendError, OfflineDirectory, UnusableDirectory
from coordinator.log.files import DiskFileSystem
from coordinator.log.memory_files import MemoryFileSystem
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.log.recovery.last_stop import BOOT_ID, read_boot_id
from tests.captured_logs import capture_logs
from tests.log.batches import batch

A: Final = Path("/a")
B: Final = Path("/b")
CONFIG: Final = LogConfig()


def opened(fs: MemoryFileSystem, *paths: Path, metadata_path: Path | None = None) -> LogDirectories:
    directories = LogDirectories.open(paths, metadata_path, fs=fs)
    directories.open_metadata_log(CONFIG)
    directories.find_homes(lambda directory, topic, partition: False)
    return directories


def ids(directories: LogDirectories) -> dict[Path, str]:
    return {each.root: each.directory_id for each in directories.online}


def append(log: PartitionLog, count: int) -> None:
    for _ in range(count):
        log.append(batch("x"), 0, 0)


def filled(directories: LogDirectories) -> None:
    """`one`-0 in /a with a record, `two`-0 in /b with two."""
    for topic, count, path in (("one", 1, A), ("two", 2, B)):
        append(directories.open_log(topic, 0, CONFIG, directory_id=ids(directories)[path]), count)


def test_each_directory_has_its_own_id_lock_marker_and_checkpoints():
    fs = MemoryFileSystem()
    directories = opened(fs, A, B)
    filled(directories)
    a, b = directories.online
    assert (a.cluster_id, a.directory_id != b.directory_id) == (b.cluster_id, True)
    for path in (A, B):
        with pytest.raises(DataDirectoryError, match=f"{path} is in use by another process"):
            LogDirectory.open(path, fs=fs)
    directories.close()
    for path, topic, end in ((A, "one", 1), (B, "two", 2)):
        assert {".kafka_cleanshutdown", ".boot-id", "meta.properties"} <= set(fs.names(path))
        points = read_checkpoint(fs, path / "recovery-point-offset-checkpoint")
        assert points.pop(("__cluster_metadata", 0), None) == (0 if path == A else None)
        assert points == {(topic, 0): end}
    again = opened(fs, A, B)
    assert {each.root: each.had_clean_shutdown for each in again.online} == {A: True, B: True}
    # What is on disk wins over the id, which may be an old one.
    assert [again.open_log(name, 0, CONFIG, directory_id="gone").log_end_offset for name in ("one", "two")] == [1, 2]
    again.close()


def test_a_kill_costs_only_the_directories_that_were_open():
    fs = MemoryFileSystem()
    directories = opened(fs, A, B)
    filled(directories)
    directories.close()
    a = LogDirectory.open(A, fs=fs)
    a.close(clean=False)
    again = opened(fs, A, B)
    assert {each.root: each.had_clean_shutdown for each in again.online} == {A: False, B: True}
    again.close()


def test_a_start_that_fails_leaves_each_directory_as_it_was():
    fs = MemoryFileSystem()
    opened(fs, A, B).close()
    LogDirectory.open(A, fs=fs).close(clean=False)
    opened(fs, A, B).close_unused()
    again = opened(fs, A, B)
    assert {each.root: each.had_clean_shutdown for each in again.online} == {A: False, B: True}


def test_a_partition_in_two_directories_is_an_error_that_names_both():
    fs = MemoryFileSystem()
    directories = opened(fs, A, B)
    filled(directories)
    directories.close()
    fs.make_directory(B / "one-0")
    with pytest.raises(DataDirectoryError, match="partition one-0 is in two log directories, /a/one-0 and /b/one-0: "):
        opened(fs, A, B)


def test_what_is_set_aside_does_not_count_as_a_double():
    fs = MemoryFileSystem()
    directories = opened(fs, A, B)
    filled(directories)
    directories.close()
    fs.make_directory(B / "one-0")
    again = LogDirectories.open([A, B], fs=fs)
    again.find_homes(lambda directory, topic, partition: (directory.root, topic) == (B, "one"))
    assert again.stored_id("one", 0) == ids(again)[A]


def test_the_metadata_log_is_never_set_aside():
    fs = MemoryFileSystem()
    directories = opened(fs, A, B)
    filled(directories)
    asked: list[str] = []

    def note(directory: LogDirectory, topic: str, partition: int) -> bool:
        asked.append(topic)
        return False

    directories.find_homes(note)
    assert asked == ["one", "two"]


def test_a_directory_of_another_cluster_ends_the_start():
    fs = MemoryFileSystem()
    opened(fs, A).close()
    other = LogDirectory.open(B, fs=fs)
    other.close()
    with pytest.raises(DataDirectoryError, match=f"data directory /b belongs to cluster {other.cluster_id}, not to "):
        opened(fs, A, B)
    opened(fs, A).close()  # no lock is left


def test_a_directory_in_use_ends_the_start():
    fs = MemoryFileSystem()
    opened(fs, A, B).close()
    LogDirectory.open(B, fs=fs)
    with pytest.raises(DataDirectoryError, match="/b is in use by another process"):
        opened(fs, A, B)
    opened(fs, A).close()


def test_a_copy_of_a_directory_is_none_of_its_own(tmp_path):
    LogDirectories.open([tmp_path / "a"]).close()
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "meta.properties").write_bytes((tmp_path / "a" / "meta.properties").read_bytes())
    with pytest.raises(DataDirectoryError, match=r"are copies: they have the same directory\.id"):
        LogDirectories.open([tmp_path / "a", tmp_path / "b"])


def test_a_failed_directory_is_offline_and_the_others_are_served(tmp_path):
    a, b, c = (tmp_path / name for name in "abc")
    first = LogDirectories.open([a, b, c])
    first.find_homes(lambda *key: False)
    id_b = ids(first)[b]
    append(first.open_log("lost", 0, CONFIG, directory_id=id_b), 1)
    first.close()
    b.rename(tmp_path / "elsewhere")
    b.write_text("no directory")
    with capture_logs() as lines:
        directories = LogDirectories.open([a, b, c])
    assert [line["event"] for line in lines] == ["a log directory is offline; the others are served"]
    assert str(b) in lines[0]["problem"]
    directories.find_homes(lambda *key: False)
    assert ([each.root for each in directories.online], directories.offline_paths()) == ([a, c], [b])
    with pytest.raises(OfflineDirectory):
        directories.open_log("lost", 0, CONFIG, directory_id=id_b)
    lazy = directories.open_log("lost", 0, CONFIG, directory_id=id_b, lazy=True)
    with pytest.raises(Exception, match="the log directory is offline"):
        append(lazy, 1)
    directories.close()
    assert not list(tmp_path.glob("[ac]/lost-0"))


def test_the_directory_of_the_metadata_log_cannot_be_offline(tmp_path):
    (tmp_path / "a").write_text("no directory")
    with pytest.raises(UnusableDirectory, match="is not a directory"):
        LogDirectories.open([tmp_path / "a", tmp_path / "b"])
    with pytest.raises(DataDirectoryError, match=r"none of the log directories .* can be used"):
        LogDirectories.open([tmp_path / "a"], tmp_path / "metadata")
    LogDirectories.open([tmp_path / "b"], tmp_path / "metadata").close()


def test_the_metadata_log_may_be_in_a_directory_of_its_own():
    fs = MemoryFileSystem()
    directories = opened(fs, A, B, metadata_path=Path("/m"))
    filled(directories)
    assert directories.next_coordinator_epoch() == 1
    directories.close()
    assert "__cluster_metadata-0" in fs.names(Path("/m"))
    again = opened(fs, A, B, metadata_path=Path("/m"))
    assert (again.metadata.had_clean_shutdown, again.next_coordinator_epoch()) == (True, 2)
    assert again.open_log("two", 0, CONFIG).log_end_offset == 2


@pytest.mark.parametrize("paths", [(B, A), (Path("/new"), A, B)])
def test_the_metadata_log_is_not_begun_anew_when_the_order_changes(paths):
    fs = MemoryFileSystem()
    opened(fs, A, B).close()
    with pytest.raises(DataDirectoryError, match=r"the metadata log is in /a, not in .*: list /a first in log\.dirs"):
        opened(fs, *paths)
    assert not fs.exists(Path("/new"))
    opened(fs, B, A, metadata_path=A).close()


def test_the_metadata_log_is_not_begun_anew_when_its_disk_is_not_mounted():
    fs = MemoryFileSystem()
    opened(fs, A, B).close()
    fs.remove_tree(A)
    fs.make_directory(A)
    with pytest.raises(DataDirectoryError, match="/a, which should have the metadata log, is new, but /b is not"):
        opened(fs, A, B)


def test_a_deleted_log_is_deleted_in_its_directory():
    fs = MemoryFileSystem()
    directories = opened(fs, A, B)
    filled(directories)
    renamed = directories.rename_log("two", 0)
    assert [each.parent for each in renamed] == [B]
    assert len(list(directories.remove_renamed(renamed))) == 1
    assert [name for name in fs.names(B) if name.startswith("two")] == []
    assert directories.stored_id("two", 0) is None
    assert directories.rename_log("two", 0) == []
    assert directories.open_log("two", 0, CONFIG).log_end_offset == 0


def test_a_checkpoint_is_split_by_directory_and_only_written_where_it_changed():
    fs = MemoryFileSystem()
    directories = opened(fs, A, B)
    filled(directories)
    checkpoint = directories.checkpoint(CLEANER_OFFSETS)
    checkpoint.write({("one", 0): 1, ("two", 0): 2})
    assert read_checkpoint(fs, A / CLEANER_OFFSETS) == {("one", 0): 1}
    assert read_checkpoint(fs, B / CLEANER_OFFSETS) == {("two", 0): 2}
    fs.remove(A / CLEANER_OFFSETS)
    checkpoint.write({("one", 0): 1, ("two", 0): 3})
    assert not fs.exists(A / CLEANER_OFFSETS)
    assert directories.checkpoint(CLEANER_OFFSETS).read() == {("two", 0): 3}


def test_a_checkpoint_of_logs_that_are_all_gone_is_emptied_after_a_restart():
    fs = MemoryFileSystem()
    directories = opened(fs, A, B)
    filled(directories)
    directories.checkpoint(CLEANER_OFFSETS).write({("one", 0): 1, ("two", 0): 2})
    directories.close()
    again = opened(fs, A, B)
    checkpoint = again.checkpoint(CLEANER_OFFSETS)
    assert checkpoint.read() == {("one", 0): 1, ("two", 0): 2}
    checkpoint.write({("one", 0): 1})
    assert read_checkpoint(fs, B / CLEANER_OFFSETS) == {}
    again.close()


def test_a_disk_that_cannot_be_written_does_not_keep_records_on_the_others(tmp_path):
    """Retention and DeleteRecords store the start offsets of all directories before they remove records."""
    a, b = tmp_path / "a", tmp_path / "b"
    directories = LogDirectories.open((a, b))
    new_ids = ids(directories)
    logs = [directories.open_log(name, 0, CONFIG, directory_id=new_ids[path]) for name, path in (("x", a), ("y", b))]
    for log in logs:
        append(log, 2)
    directories.write_log_start_offsets()
    (b / f"{LOG_START_OFFSETS}.tmp").mkdir()  # so that nothing can be written
    logs[0].delete_records_before(1)
    directories.write_log_start_offsets()
    assert read_checkpoint(DiskFileSystem(), a / LOG_START_OFFSETS) == {("x", 0): 1}
    logs[1].delete_records_before(1)
    with pytest.raises(OSError, match="Is a directory"):
        directories.write_log_start_offsets()
    (b / f"{LOG_START_OFFSETS}.tmp").rmdir()
    directories.write_log_start_offsets()
    assert read_checkpoint(DiskFileSystem(), b / LOG_START_OFFSETS) == {("y", 0): 1}
    directories.close()


def test_the_directory_of_the_metadata_log_may_be_named_by_a_link(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "b")
    (tmp_path / "b").mkdir()
    directories = LogDirectories.open((tmp_path / "a", tmp_path / "b"), tmp_path / "link")
    assert directories.metadata is directories.online[1]
    directories.close()


@pytest.mark.parametrize("gone", [B, B / "two-0"])
def test_a_log_whose_folder_is_gone_is_not_begun_anew(gone):
    fs = MemoryFileSystem()
    directories = opened(fs, A, B)
    filled(directories)
    directories.close()
    again = opened(fs, A, B)
    fs.rename(gone, Path("/gone"))
    with pytest.raises(OfflineDirectory, match="the folder of the log is gone") as problem:
        again.open_log("two", 0, CONFIG, lazy=True)
    assert problem.value.filename == str(B / "two-0")
    fs.rename(Path("/gone"), gone)
    assert again.open_log("two", 0, CONFIG, lazy=True).log_end_offset == 2
    again.close()


def test_no_log_is_created_in_a_directory_that_is_gone(tmp_path):
    """It would be on another disk, under the mount point, and be lost to sight when the right one is mounted again."""
    a, b = tmp_path / "a", tmp_path / "mount" / "b"
    directories = LogDirectories.open((a, b))
    new_id = next(each.directory_id for each in directories.online if each.root == b)
    opened_before = directories.open_log("early", 0, CONFIG, lazy=True, directory_id=new_id)
    b.rename(tmp_path / "gone")
    with pytest.raises(LogAppendError, match="No such file"):
        append(opened_before, 1)
    b.mkdir()  # the mount point itself
    with pytest.raises(OfflineDirectory, match="the log directory is gone"):
        directories.open_log("late", 0, CONFIG, lazy=True, directory_id=new_id)
    assert list(b.iterdir()) == []
    b.rmdir()
    (tmp_path / "gone").rename(b)
    append(directories.open_log("late", 0, CONFIG, lazy=True, directory_id=new_id), 1)
    append(opened_before, 1)
    directories.close()
    assert sorted(path.name for path in b.glob("*-0")) == ["early-0", "late-0"]


def test_a_damaged_checkpoint_of_one_directory_leaves_that_of_the_other():
    fs = MemoryFileSystem()
    directories = opened(fs, A, B)
    filled(directories)
    directories.checkpoint(CLEANER_OFFSETS).write({("one", 0): 1, ("two", 0): 2})
    fs.content(A / CLEANER_OFFSETS)[0] = 0xFF
    with capture_logs() as lines:
        assert directories.checkpoint(CLEANER_OFFSETS).read() == {("two", 0): 2}
    assert [str(A) in line["problem"] for line in lines] == [True]


def test_checkpoints_are_written_in_the_directories_that_can_be_written(tmp_path):
    directories = LogDirectories.open([tmp_path / "a", tmp_path / "b"])
    directories.find_homes(lambda *key: False)
    for path in (tmp_path / "a", tmp_path / "b"):
        append(directories.open_log(f"in-{path.name}", 0, CONFIG, directory_id=ids(directories)[path]), 1)
    (tmp_path / "a" / "recovery-point-offset-checkpoint.tmp").mkdir()
    with pytest.raises(OSError, match="recovery-point-offset-checkpoint"):
        directories.prepare_checkpoints()()
    assert ("in-b", 0) in read_checkpoint(DiskFileSystem(), tmp_path / "b" / "recovery-point-offset-checkpoint")
    directories.close(clean=False)


def test_large_logs_are_recovered_for_each_directory_and_need_no_recovery_when_they_are_opened(tmp_path):
    paths = [tmp_path / "a", tmp_path / "b"]
    directories = LogDirectories.open(paths)
    directories.find_homes(lambda *key: False)
    for path in paths:
        append(directories.open_log(f"in-{path.name}", 0, CONFIG, directory_id=ids(directories)[path]), 5)
    directories.close(clean=False)
    assert (tmp_path / "b" / BOOT_ID).read_text() == read_boot_id()
    with (tmp_path / "b" / "in-b-0" / f"{0:020}.log").open("ab") as log:
        log.write(b"torn")
    again = LogDirectories.open(paths)
    again.find_homes(lambda *key: False)
    logs = [(f"in-{path.name}", 0, CONFIG) for path in paths]
    assert again.recoveries(logs, 1 << 20, DiskFileSystem) == []
    works = again.recoveries(logs, 1, DiskFileSystem)
    assert len(works) == 2
    with capture_logs() as lines:
        for work in works:
            work()
        opened_logs = [again.open_log(*each) for each in logs]
        again.log_recovery()
    assert [(log.log_end_offset, log.recovery.scanned_bytes) for log in opened_logs] == [(5, 0), (5, 0)]
    told = [line for line in lines if line["event"] == "recovered logs"]
    assert [(Path(line["directory"]), line["truncated_bytes"]) for line in told] == [(paths[0], 0), (paths[1], 4)]
    assert again.recoveries(logs, 1, DiskFileSystem) == []
    again.close()


def test_a_log_that_cannot_be_recovered_does_not_stop_the_others(tmp_path, monkeypatch):
    path = tmp_path / "a"
    directory = LogDirectory.open(path)
    for topic in ("bad", "good"):
        append(directory.open_log(topic, 0, CONFIG), 3)
    directory.close(clean=False)
    again = LogDirectory.open(path)
    finish = PartitionLog.finish

    def fail(log: PartitionLog) -> None:
        if log.topic == "bad":
            raise OSError("no space")
        finish(log)

    monkeypatch.setattr(PartitionLog, "finish", fail)
    with capture_logs() as lines:
        again.recover(DiskFileSystem(), [("bad", 0, CONFIG), ("good", 0, CONFIG)])
    assert [line["log"] for line in lines] == [str(path / "bad-0")]
    assert (again.unrecovered_bytes("bad", 0) > 0, again.unrecovered_bytes("good", 0)) == (True, 0)
    assert again.open_log("bad", 0, CONFIG).log_end_offset == 3
    again.close(clean=False)
