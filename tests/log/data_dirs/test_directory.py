"""The data directory: who may use it, and what it remembers from one start to the next."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from coordinator.log.config import LogConfig
from coordinator.log.data_dirs.checkpoints import read_checkpoint
from coordinator.log.data_dirs.directory import LogDirectory
from coordinator.log.data_dirs.meta_properties import FORMAT_VERSION
from coordinator.log.disk_threads import run_in_threads, run_in_turn
from coordinator.log.errors import DataDirectoryError, LogFlushError, ReservedTopicName
from coordinator.log.files import DiskFileSystem
from coordinator.log.names import METADATA_LOG, check_topic_name, folder_name
from tests.captured_logs import capture_logs
from tests.log.batches import everything, filled
from tests.log.faulty_files import FaultyFileSystem

CONFIG = LogConfig(segment_bytes=1_000)


@pytest.fixture
def root(tmp_path):
    return tmp_path / "data"


def properties(root):
    lines = (root / "meta.properties").read_text().splitlines()
    return dict(line.split("=") for line in lines if not line.startswith("#"))


def test_a_new_directory_gets_kafkas_properties(root):
    with_ids = LogDirectory.open(root, node_id=3, cluster_id="chosen")
    assert properties(root) == {
        "cluster.id": "chosen",
        "directory.id": with_ids.directory_id,
        "node.id": "3",
        "version": "1",
        "coordinator.format.version": "3",
        "coordinator.checksum": properties(root)["coordinator.checksum"],
    }
    with_ids.close()
    again = LogDirectory.open(root, node_id=3)
    assert (again.cluster_id, again.node_id, again.directory_id) == ("chosen", 3, with_ids.directory_id)
    again.close()


def test_each_flipped_bit_of_the_properties_is_an_error_or_changes_nothing(root):
    whole = (LogDirectory.open(root), (root / "meta.properties").read_bytes())[1]
    before = properties(root)
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << position % 8
        path = root.parent / f"{position}" / "meta.properties"
        path.parent.mkdir()
        path.write_bytes(damaged)
        try:
            opened = LogDirectory.open(path.parent)
        except DataDirectoryError as problem:
            assert str(path.parent) in str(problem)
            continue
        assert (opened.cluster_id, opened.directory_id) == (before["cluster.id"], before["directory.id"])
        opened.close()


def test_a_cluster_id_is_generated_if_none_is_given(root):
    directory = LogDirectory.open(root)
    assert len(directory.cluster_id) == 22
    directory.close()
    with pytest.raises(DataDirectoryError, match=f"belongs to cluster {directory.cluster_id}, not to other"):
        LogDirectory.open(root, cluster_id="other")
    with pytest.raises(DataDirectoryError, match="belongs to node 1, not to node 2"):
        LogDirectory.open(root, node_id=2)
    LogDirectory.open(root).close()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "version is missing"),
        ("version=1\nnode.id=1\n", "cluster.id is missing"),
        ("version=0\nbroker.id=1\ncluster.id=x\n", "it is of a Kafka with ZooKeeper"),
        ("version=1\nnode.id=one\ncluster.id=x\n", "node.id is 'one', not a number"),
        ("version=import-kafka\nnode.id=1\ncluster.id=x\n", "`coordinator log import-kafka` was interrupted"),
        ("version=2\nnode.id=1\ncluster.id=x\n", "has version 2"),
        ("\0\0\0\0\0", "version is missing"),
    ],
)
def test_damaged_properties_are_rejected(root, content, reason):
    root.mkdir()
    (root / "meta.properties").write_text(content)
    with pytest.raises(DataDirectoryError, match=reason):
        LogDirectory.open(root)


@pytest.mark.parametrize(
    ("line", "found"),
    [("", "missing"), ("coordinator.format.version=1\n", "1"), ("coordinator.format.version=4\n", "4")],
)
def test_a_directory_of_another_format_is_rejected_in_one_line(root, line, found):
    """Kafka's own is one: its metadata log holds other records."""
    root.mkdir()
    content = f"#\n#Fri Nov 21 09:34:02 UTC 2025\ncluster.id=abc\nnode.id=1\nversion=1\n{line}"
    (root / "meta.properties").write_text(content)
    told = f"is {found}, not {FORMAT_VERSION}\\); use an empty data directory, "
    with pytest.raises(DataDirectoryError, match=told) as problem:
        LogDirectory.open(root)
    assert str(root) in str(problem.value)
    assert "\n" not in str(problem.value)
    assert (root / "meta.properties").read_text() == content


def test_properties_rewritten_by_kafkas_tools_are_read(root):
    root.mkdir()
    lines = "#\n#Fri Nov 21 09:34:02 UTC 2025\ncoordinator.format.version=2\ncluster.id=abc\nnode.id=1\nversion=1\n"
    (root / "meta.properties").write_text(lines)
    directory = LogDirectory.open(root)
    assert (directory.cluster_id, len(directory.directory_id)) == ("abc", 22)
    directory.close()


def test_two_processes_do_not_share_a_directory(root):
    directory = LogDirectory.open(root)
    with pytest.raises(DataDirectoryError, match="is in use by another process"):
        LogDirectory.open(root)
    script = "import sys; from pathlib import Path; from coordinator.log.data_dirs.directory import LogDirectory;"
    script += "LogDirectory.open(Path(sys.argv[1]))"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}

    def run():
        return subprocess.run(
            [sys.executable, "-c", script, root], env=environment, capture_output=True, text=True, check=False
        )

    refused = run()
    assert refused.returncode == 1
    assert refused.stderr.splitlines()[-1].endswith(f"data directory {root} is in use by another process")
    directory.close()
    assert run().returncode == 0


def test_a_file_in_place_of_the_directory_is_rejected(root):
    root.write_text("a file")
    with pytest.raises(DataDirectoryError, match=f"data directory {root} is not a directory"):
        LogDirectory.open(root)
    with pytest.raises(DataDirectoryError, match="cannot be used: Not a directory"):
        LogDirectory.open(root / "below")


def test_a_directory_that_cannot_be_written_is_rejected(root):
    class ReadOnly(DiskFileSystem):
        def make_directory(self, path: Path) -> None:
            raise PermissionError(13, os.strerror(13), str(path))

    with pytest.raises(DataDirectoryError, match=f"data directory {root} is not writable: Permission denied"):
        LogDirectory.open(root, fs=ReadOnly())


def test_a_full_disk_is_reported_and_the_lock_released(root):
    fs = FaultyFileSystem()
    with fs.full_after(3), pytest.raises(DataDirectoryError, match=r"cannot be used: .*No space left"):
        LogDirectory.open(root, fs=fs)
    LogDirectory.open(root, fs=fs).close()


def test_a_start_after_a_clean_stop_needs_no_recovery(root):
    directory = LogDirectory.open(root)
    assert not directory.had_clean_shutdown
    filled(directory.open_log("topic", 0, CONFIG), 50)
    directory.close()
    assert (root / ".kafka_cleanshutdown").exists()
    assert (root / "recovery-point-offset-checkpoint").read_text() == "0\n2\ntopic 0 50\n__checksum 0 1122152744\n"
    again = LogDirectory.open(root)
    assert again.had_clean_shutdown
    assert not (root / ".kafka_cleanshutdown").exists()
    log = again.open_log("topic", 0, CONFIG)
    assert log.recovery.scanned_bytes == 0
    assert everything(log) == [str(offset) for offset in range(50)]
    again.close()


def test_after_a_kill_the_log_is_recovered_from_its_recovery_point(root):
    directory = LogDirectory.open(root)
    log = filled(directory.open_log("topic", 0, CONFIG), 50)
    log.flush()
    directory.write_checkpoints()
    filled(log, 20)
    directory.close(clean=False)
    again = LogDirectory.open(root)
    assert not again.had_clean_shutdown
    recovered = again.open_log("topic", 0, CONFIG)
    assert 0 < recovered.recovery.scanned_bytes < recovered.size_bytes
    assert everything(recovered) == [str(offset) for offset in range(70)]
    again.close()


def test_the_truncation_of_a_log_is_logged(root):
    directory = LogDirectory.open(root)
    log = filled(directory.open_log("topic", 0, CONFIG), 50)
    filled(directory.open_log("topic", 1, CONFIG), 1)
    directory.close(clean=False)
    segments = list(log.folder.glob("*.log"))
    damaged = sorted(segments)[0]
    os.truncate(damaged, damaged.stat().st_size - 1)
    again = LogDirectory.open(root, boot_id="the power failed")
    with capture_logs() as lines:
        recovered = again.open_log("topic", 0, CONFIG)
        again.open_log("topic", 1, CONFIG)
        again.log_recovery()
    warning, *removed, summary = lines
    assert warning == {
        "log_level": "warning",
        "event": "cut the end of a log: an append that no fsync had made safe",
        "file": str(damaged),
        "position": recovered.size_bytes,
        "bytes": recovered.recovery.truncated_bytes,
        "offset": recovered.log_end_offset,
    }
    assert {line["file"] for line in removed} == {str(path) for path in segments if path != damaged}
    assert len(removed) == recovered.recovery.removed_segments == len(segments) - 1
    assert warning["bytes"] > 0
    assert (summary["log_level"], summary["event"]) == ("info", "recovered logs")
    assert (summary["clean_shutdown"], summary["logs"]) == (False, 2)
    assert summary["scanned_bytes"] > recovered.recovery.scanned_bytes
    assert (summary["truncated_bytes"], summary["removed_segments"]) == (warning["bytes"], len(segments) - 1)
    again.close()


def test_a_start_after_a_clean_shutdown_logs_no_recovery(root):
    directory = LogDirectory.open(root)
    filled(directory.open_log("topic", 0, CONFIG), 50)
    directory.close()
    again = LogDirectory.open(root)
    with capture_logs() as lines:
        again.open_log("topic", 0, CONFIG)
        again.log_recovery()
    assert lines == []
    again.close()


def test_a_failed_flush_leaves_no_clean_marker(root):
    fs = FaultyFileSystem()
    directory = LogDirectory.open(root, fs=fs)
    filled(directory.open_log("topic", 0, CONFIG), 5)
    fs.flush_fails = True
    with pytest.raises(LogFlushError):
        directory.close()
    fs.flush_fails = False
    again = LogDirectory.open(root, fs=fs)
    assert not again.had_clean_shutdown
    assert everything(again.open_log("topic", 0, CONFIG)) == [str(offset) for offset in range(5)]
    again.close()


def test_logs_are_listed_opened_once_and_deleted(root):
    directory = LogDirectory.open(root)
    log = filled(directory.open_log("topic", 1, CONFIG), 3)
    lazy = directory.open_log("lazy-topic", 0, CONFIG, lazy=True)
    assert directory.open_log("topic", 1, CONFIG) is log
    assert directory.logs() == [lazy, log]
    assert directory.stored_partitions() == [("topic", 1)]
    directory.delete_log("topic", 1)
    directory.delete_log("never-there", 1)
    assert (directory.logs(), directory.stored_partitions()) == ([lazy], [])
    assert not [path for path in root.iterdir() if "topic" in path.name]
    assert everything(directory.open_log("topic", 1, CONFIG)) == []
    directory.close()


def test_lazy_logs_create_no_files(root):
    directory = LogDirectory.open(root)
    before = sorted(root.iterdir())
    for partition in range(100):
        directory.open_log("__consumer_offsets", partition, CONFIG, lazy=True)
    assert sorted(root.iterdir()) == before
    directory.close()
    assert read_checkpoint(DiskFileSystem(), root / "recovery-point-offset-checkpoint") == {}


def test_a_clean_stop_of_many_small_logs_flushes_no_more_than_it_must(root):
    """Of each its log file and its directory, and once the directory that has them all."""
    fs = FaultyFileSystem()
    directory = LogDirectory.open(root, fs=fs)
    for partition in range(20):
        filled(directory.open_log("topic", partition, CONFIG), 1)
    fs.flushed.clear()
    directory.close()
    of_logs = Counter(name for name in fs.flushed if name.endswith(".log") or name.startswith("topic-"))
    assert of_logs == {"00000000000000000000.log": 20} | {f"topic-{partition}/": 1 for partition in range(20)}
    assert fs.flushed.count(f"{root.name}/") <= 5, "with the files of the directory itself"
    assert not [name for name in fs.flushed if "index" in name]
    again = LogDirectory.open(root)
    assert again.had_clean_shutdown
    assert all(everything(again.open_log("topic", partition, CONFIG)) == ["0"] for partition in range(20))
    again.close()


@pytest.mark.parametrize("run", [run_in_turn, run_in_threads])
def test_a_clean_stop_whose_fsync_fails_leaves_no_mark(root, run):
    fs = FaultyFileSystem()
    directory = LogDirectory.open(root, fs=fs)
    for partition in range(3):
        filled(directory.open_log("topic", partition, CONFIG), 1)
    fs.flush_fails = True
    with pytest.raises(LogFlushError, match=r"topic-[0-2]: fsync failed"):
        directory.close(run=run)
    assert not LogDirectory.open(root).had_clean_shutdown


def test_the_metadata_log_is_not_a_partition_of_a_topic(root):
    assert folder_name(METADATA_LOG, 0) == "__cluster_metadata-0"
    with pytest.raises(ReservedTopicName):
        check_topic_name(METADATA_LOG)
    directory = LogDirectory.open(root)
    log = filled(directory.open_metadata_log(CONFIG), 3)
    for reach in (lambda: directory.open_log(METADATA_LOG, 0, CONFIG), lambda: directory.delete_log(METADATA_LOG, 0)):
        with pytest.raises(ReservedTopicName):
            reach()
    assert directory.open_metadata_log(CONFIG) is log
    directory.close()
    again = LogDirectory.open(root)
    assert everything(again.open_metadata_log(CONFIG)) == ["0", "1", "2"]
    again.close()
