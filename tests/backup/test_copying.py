"""Backups of folders to which a server writes, and of those whose files change at the worst moment."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from coordinator.backup import copying
from coordinator.backup.copying import back_up
from coordinator.backup.manifest import MANIFEST, BackupError, Manifest
from coordinator.backup.restoring import restore, verify
from coordinator.log.files import DiskFileSystem
from tests.backup.folders import GROUP, TOPIC, commit, committed, filled_folder, log_end_offset, produce
from tests.log.batches import batch
from tests.servers import RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient

LOG = "00000000000000000000.log"


def backed_up(directories: list[Path], target: Path) -> Manifest:
    return back_up(directories, target, "0", lambda: 1)


def restored(backup: Path, folder: Path) -> RunningServer:
    """A server on what was restored from a backup of one log directory."""
    folder.mkdir()
    restore(backup, [folder / "data"])
    return RunningServer(folder)


class Writer:
    """Produces and commits without pause, in a thread of its own."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.acknowledged = 0

    def __enter__(self) -> "Writer":
        self._thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        with WireClient(self._bootstrap) as client:
            while not self._stopping.is_set():
                produce(client, 1)
                commit(client, self.acknowledged + 1)
                self.acknowledged += 1


def test_a_server_goes_on_with_the_backup_of_one_that_was_writing(tmp_path: Path):
    with RunningServer(tmp_path) as server:
        with WireClient(server.bootstrap) as client:
            client.create_topic(TOPIC)
        with Writer(server.bootstrap) as writer:
            wait_for(lambda: writer.acknowledged >= 50, 10, "records")
            before = writer.acknowledged
            backed_up([server.data], tmp_path / "backup")
            wait_for(lambda: writer.acknowledged >= before + 50, 10, "records after the backup")
    with restored(tmp_path / "backup", tmp_path / "restored") as server, WireClient(server.bootstrap) as client:
        offset, end = committed(client), log_end_offset(client)
        assert before <= offset <= end
        produce(client, 1)
        commit(client, end + 1)
        assert (committed(client), log_end_offset(client)) == (end + 1, end + 1)


def test_groups_keep_members_and_generation(tmp_path: Path):
    with RunningServer(tmp_path) as server, WireClient(server.bootstrap) as client:
        member_id = client.join_alone(GROUP)
        backed_up([server.data], tmp_path / "backup")
    with restored(tmp_path / "backup", tmp_path / "restored") as server, WireClient(server.bootstrap) as client:
        assert client.heartbeat_error(GROUP, member_id) == 0


def test_the_order_is_that_of_what_refers_to_what(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    data = filled_folder(tmp_path)
    copied: list[str] = []
    copy_log = copying._copy_log

    def named(source: Path, target: Path, progress: Callable[[int], object]) -> bool:
        copied.append(source.name)
        return copy_log(source, target, progress)

    monkeypatch.setattr(copying, "_copy_log", named)
    backed_up([data], tmp_path / "backup")
    topics = list(dict.fromkeys(name.rpartition("-")[0] for name in copied))
    assert topics == ["__consumer_offsets", "__group_audit", TOPIC, "__cluster_metadata"]


def during_copy(monkeypatch: pytest.MonkeyPatch, name: str, happens: Callable[[Path], None], times: int = 1) -> None:
    """Have something happen to a log of TOPIC after its file `name` was copied."""
    copy, left = copying._copy, [times]

    def copy_and_change(source: Path, target: Path, progress: Callable[[int], object]) -> None:
        copy(source, target, progress)
        if source.name == name and source.parent.name == f"{TOPIC}-0" and left[0]:
            left[0] -= 1
            happens(source.parent)

    monkeypatch.setattr(copying, "_copy", copy_and_change)
    monkeypatch.setattr(copying, "PAUSE_SECONDS", 0)


def replace_segment(folder: Path) -> None:
    """As the cleaner does: another file has the name of the segment afterwards."""
    swap = folder / f"{LOG}.swap"
    swap.write_bytes((folder / LOG).read_bytes())
    swap.rename(folder / LOG)


def test_a_log_whose_segments_are_replaced_meanwhile_is_copied_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    data = filled_folder(tmp_path)
    segment = data / f"{TOPIC}-0" / LOG

    def clean(folder: Path) -> None:
        whole = segment.read_bytes()
        segment.with_suffix(".new").write_bytes(whole[: len(whole) // 5])  # the first of five batches
        segment.with_suffix(".new").rename(segment)

    during_copy(monkeypatch, "00000000000000000000.index", clean)
    during = backed_up([data], tmp_path / "backup")
    copied = tmp_path / "backup/0" / f"{TOPIC}-0" / LOG
    assert copied.read_bytes() == segment.read_bytes()
    assert verify(tmp_path / "backup") == during


def test_a_log_whose_segments_are_replaced_all_the_time_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    data = filled_folder(tmp_path)
    during_copy(monkeypatch, LOG, replace_segment, times=1_000)
    with pytest.raises(BackupError, match=f"{TOPIC}-0 were replaced 20 times while they were copied: try again"):
        backed_up([data], tmp_path / "backup")


def test_a_log_waits_until_the_cleaner_has_put_its_segment_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    data = filled_folder(tmp_path)
    swap = data / f"{TOPIC}-0" / f"{LOG}.swap"
    swap.write_bytes(b"")
    monkeypatch.setattr("coordinator.backup.copying.time.sleep", lambda seconds: swap.unlink(missing_ok=True))
    manifest = backed_up([data], tmp_path / "backup")
    assert not any(file.path.endswith(".swap") for file in manifest.files)


def test_a_topic_that_is_deleted_meanwhile_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    data = filled_folder(tmp_path)

    def delete(folder: Path) -> None:
        folder.rename(folder.with_name(f"{folder.name}.0-delete"))

    during_copy(monkeypatch, LOG, delete)
    manifest = backed_up([data], tmp_path / "backup")
    assert not any(TOPIC in file.path for file in manifest.files)
    assert not (tmp_path / "backup/0" / f"{TOPIC}-0").exists()


def test_a_topic_that_was_created_meanwhile_is_there_and_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Its partitions were not listed yet, and the metadata is copied last."""
    with RunningServer(tmp_path) as server, WireClient(server.bootstrap) as client:
        logs_of = copying._logs_of

        def listed_before(directories: list[Path]) -> list[copying.Source]:
            found = logs_of(directories)
            client.create_topic("new")
            produce(client, 1, "new")
            return found

        monkeypatch.setattr(copying, "_logs_of", listed_before)
        backed_up([server.data], tmp_path / "backup")
    with restored(tmp_path / "backup", tmp_path / "restored") as server, WireClient(server.bootstrap) as client:
        assert log_end_offset(client, "new") == 0
        produce(client, 1, "new")
        assert log_end_offset(client, "new") == 1


def test_a_batch_that_is_being_written_is_cut_off(tmp_path: Path):
    data = filled_folder(tmp_path)
    segment = data / f"{TOPIC}-0" / LOG
    whole = segment.read_bytes()
    for torn in (1, 11, 12, 40):
        segment.write_bytes(whole + bytes(batch("next"))[:torn])
        target = tmp_path / f"backup-{torn}"
        backed_up([data], target)
        assert (target / "0" / f"{TOPIC}-0" / LOG).read_bytes() == whole


def test_all_names_are_on_stable_storage_before_the_backup_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    data, flushed = filled_folder(tmp_path), set[Path]()
    target = tmp_path / "backup"

    def flush(fs: DiskFileSystem, folder: Path) -> None:
        if not (target / MANIFEST).exists():
            flushed.add(folder)

    monkeypatch.setattr(DiskFileSystem, "flush_directory", flush)
    backed_up([data], target)
    assert flushed == {target, *(path for path in target.rglob("*") if path.is_dir())}


def test_a_log_that_is_gone_has_no_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    data = filled_folder(tmp_path)
    size = copying.size_of([data])
    logs = copying._logs_of([data])
    monkeypatch.setattr(copying, "_logs_of", lambda _: [*logs, (0, data, "deleted", 0)])
    assert copying.size_of([data]) == size > 0


def test_what_is_no_batch_stays(tmp_path: Path):
    data = filled_folder(tmp_path)
    segment = data / f"{TOPIC}-0" / LOG
    damaged = segment.read_bytes() + bytes(100)
    segment.write_bytes(damaged)
    backed_up([data], tmp_path / "backup")
    assert (tmp_path / "backup/0" / f"{TOPIC}-0" / LOG).read_bytes() == damaged


def test_several_log_directories_are_restored_each_in_its_place(tmp_path: Path):
    with RunningServer(tmp_path, log_dirs=("one", "two")) as server:
        with WireClient(server.bootstrap) as client:
            for number in range(4):
                client.create_topic(f"topic-{number}")
                produce(client, number + 1, f"topic-{number}")
        backed_up(server.log_dirs, tmp_path / "backup")
    folder = tmp_path / "restored"
    folder.mkdir()
    restore(tmp_path / "backup", [folder / "one", folder / "two"])
    with RunningServer(folder, log_dirs=("one", "two")) as server, WireClient(server.bootstrap) as client:
        assert [log_end_offset(client, f"topic-{number}") for number in range(4)] == [1, 2, 3, 4]


def test_a_folder_that_is_none_of_a_server_is_refused(tmp_path: Path):
    with pytest.raises(BackupError, match=r"is no data folder: it has no meta\.properties"):
        backed_up([tmp_path], tmp_path / "backup")


def test_all_log_directories_have_to_be_named(tmp_path: Path):
    with (
        RunningServer(tmp_path, log_dirs=("one", "two")) as server,
        pytest.raises(BackupError, match=r"has the metadata log: name all of log\.dirs"),
    ):
        backed_up(server.log_dirs[1:], tmp_path / "backup")


def test_nothing_is_written_over(tmp_path: Path):
    data = filled_folder(tmp_path)
    target = tmp_path / "backup"
    backed_up([data], target)
    with pytest.raises(BackupError, match="is not empty: a backup needs a folder of its own"):
        backed_up([data], target)
