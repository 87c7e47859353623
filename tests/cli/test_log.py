"""`coordinator log`, on data folders of which some bits are flipped."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner, Result

from _wire.errors import ErrorCode
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.records import build_batch
from coordinator.cli.log import command
from coordinator.cli.log_kafka import accept_configs
from coordinator.log.data_dirs.directory import LogDirectory
from coordinator.log.partition.read_only import ReadOnlyFileSystem
from coordinator.log.recovery.verify import Problem, Verifier
from tests.log.recovery.damaged_folders import CONFIG, RECORDS, ROOT, written
from tests.servers import RunningServer
from tests.wire_client import WireClient

FIRST: Final = f"{0:020d}.log"
Run = Callable[..., Result]


@pytest.fixture(params=[True, False], ids=["clean stop", "kill"])
def folder(request: Any, tmp_path: Path) -> Path:
    root: Path = tmp_path / "data"
    for path, content in written(clean=request.param).files.items():
        copy = root / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(content)
    return root


@pytest.fixture
def run() -> Run:
    return lambda *arguments: CliRunner().invoke(command, [str(argument) for argument in arguments])


def flip(path: Path, position: int, bit: int = 0) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 1 << bit
    path.write_bytes(content)


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}


def test_a_whole_folder_has_no_problems(run, folder):
    before = contents(folder)
    result = run("verify", folder)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("4 partitions, ")
    assert result.stdout.endswith(" bytes read: no problems\n")
    assert contents(folder) == before


@pytest.mark.parametrize(
    ("file", "position", "line"),
    [
        (f"one-0/{FIRST}", 200, f"one-0/{FIRST}: position 182: crc: is "),
        (f"one-0/{FIRST}", 189, f"one-0/{FIRST}: position 182: base offset 5 is wrong; offsets 4 to 5 cannot be read"),
        (f"one-1/{0:020d}.index", 5, f"one-1/{0:020d}.index: names position "),
        (f"one-1/{0:020d}.timeindex", 5, f"one-1/{0:020d}.timeindex: has timestamp "),
        ("two-0/partition.metadata", 9, "two-0/partition.metadata: is damaged: "),
        ("two-0/partition.metadata", 25, "two-0/partition.metadata: has another id than the topic of this name"),
        ("recovery-point-offset-checkpoint", 8, "recovery-point-offset-checkpoint: is not a checkpoint file"),
        ("meta.properties", 20, "meta.properties: is damaged: its checksum is wrong"),
        (f"__cluster_metadata-0/{FIRST}", 80, f"__cluster_metadata-0/{FIRST}: position 0: crc: is "),
    ],
)
def test_what_is_wrong_is_said_of_its_file(run, folder, file, position, line):
    flip(folder / file, position)
    before = contents(folder)
    result = run("verify", folder)
    assert result.exit_code == 1
    assert result.stdout.startswith(line)
    assert contents(folder) == before
    as_json = [json.loads(splitline) for splitline in run("verify", folder, "--json").stdout.splitlines()]
    assert as_json[0]["file"] == file


def test_a_missing_segment_a_stray_and_a_checkpoint_beyond_its_log_are_found(run, folder):
    first, last = sorted((folder / "one-0").glob("*.log"))
    os.truncate(first, 91 * 3)
    first.with_suffix(".index").unlink()
    (folder / "three-0").mkdir()
    for each in (folder / "two-0").glob("*.log"):
        os.truncate(each, 0)
    lines = run("verify", folder).stdout.splitlines()
    assert f"one-0/{last.name}: offsets 6 to {int(last.stem) - 1} missing before it" in lines
    assert f"one-0/{first.stem}.index: is missing" in lines
    assert "three-0: belongs to no topic of the metadata log" in lines
    beyond = [line for line in lines if line.startswith("recovery-point")]
    was_clean = (folder / ".kafka_cleanshutdown").exists()
    assert [line.rpartition(" of ")[2] for line in beyond] == ["two-0, whose log ends at 32"] * was_clean


def test_only_a_topic_is_checked(run, folder):
    flip(folder / "one-0" / FIRST, 200)
    assert run("verify", folder, "--topic", "one").exit_code == 1
    assert run("verify", folder, "--topic", "one", "--partition", "1").exit_code == 0
    assert run("verify", folder, "--topic", "two").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("verify", "/nowhere"), "does not exist"),
        (("verify", os.sep), "is no data folder"),
        (("repair", os.sep), "is no data folder"),
        (("dump", os.sep), "has no such partition"),
        (("dump", os.sep, "--offset", "3"), "--partition and --offset need --topic"),
        (("verify", os.sep, "--partition", "3"), "--partition needs --topic"),
    ],
)
def test_wrong_use_is_one_clear_line(run, arguments, message):
    result = run(*arguments)
    assert result.exit_code != 0
    assert message in result.stderr.splitlines()[-1]


def test_a_dump_has_kafkas_fields(run, folder):
    result = run("dump", folder, "--topic", "one", "--partition", "0", "--offset", "35")
    assert result.exit_code == 0
    head, batch, *records = result.stdout.splitlines()
    assert head.startswith("Dumping one-0/")
    assert batch.startswith("baseOffset: 34 lastOffset: 35 count: 2 baseSequence: -1 lastSequence: -1 producerId: -1 ")
    assert batch.endswith(" isvalid: true")
    assert records[1] == (
        "| offset: 35 CreateTime: 1700000000021 keySize: 1 valueSize: 8 headerKeys: [] key: k payload: one-0 35"
    )


def test_a_dump_goes_around_damage(run, folder):
    flip(folder / "one-0" / FIRST, 200)
    lines = run("dump", folder, "--topic", "one", "--partition", "0", "--json").stdout.splitlines()
    batches = [json.loads(line) for line in lines]
    assert [batch["isvalid"] for batch in batches].count(False) == 1
    assert sum(len(batch.get("records", [])) for batch in batches) == RECORDS - 2


def test_a_dump_decodes_the_metadata_log(run, folder):
    lines = run("dump", folder, "--topic", "__cluster_metadata").stdout.splitlines()
    assert '"kind": "topic", "name": "one"' in lines[2]


def test_a_repair_takes_out_only_what_is_damaged(run, folder):
    flip(folder / "one-0" / FIRST, 200)
    flip(folder / "one-1" / f"{0:020d}.index", 5)
    last = max((folder / "one-1").glob("*.log"))
    flip(last, last.stat().st_size - 1)
    bytes_before = (folder / "one-0" / FIRST).read_bytes()[182:273]
    before = contents(folder)
    dry = run("repair", folder, "--dry-run")
    assert (dry.exit_code, contents(folder)) == (0, before)
    assert "2 damaged places would be taken out" in dry.stdout
    result = run("repair", folder)
    assert result.exit_code == 0, result.output
    assert (
        f"one-0/{FIRST}: position 182, 91 bytes, offsets 4 to 5, copied to damaged/one-0/{FIRST}.182" in result.stdout
    )
    assert (folder / "damaged" / "one-0" / f"{FIRST}.182").read_bytes() == bytes_before
    assert run("verify", folder).exit_code == 0
    assert run("repair", folder).stdout == "no batch is damaged\n"
    directory = LogDirectory.open(folder)
    for partition, lost in ((0, {4, 5}), (1, {34, 35})):
        log = directory.open_log("one", partition, CONFIG)
        found = [header.base_offset for header, _ in log.batches(0)]
        assert found == [offset for offset in range(0, RECORDS, 2) if offset not in lost]
        assert log.log_end_offset == RECORDS
    directory.close()


def test_a_repair_refuses_a_folder_in_use(run, folder):
    directory = LogDirectory.open(folder)
    for arguments in ((), ("--dry-run",)):
        result = run("repair", folder, *arguments)
        assert result.exit_code == 1
        assert "is in use by another process" in result.stderr.splitlines()[-1]
    directory.close()


@pytest.mark.parametrize("settles", [True, False])
def test_a_partition_that_changes_meanwhile_is_checked_again(folder, monkeypatch, settles):
    """As when a server compacts it: what was read of an index fits no longer."""
    flip(folder / "one-0" / FIRST, 200)
    check = Verifier._check_partition
    checked: list[tuple[str, int]] = []

    def change(verifier: Verifier, key: tuple[str, int], ends: dict[tuple[str, int], int]) -> Iterator[Problem]:
        yield from check(verifier, key, ends)
        if key == ("one", 0) and (not checked or not settles):
            checked.append(key)
            flip(folder / "one-0" / FIRST, 200)
            (folder / "one-0" / f"{len(checked)}.deleted").touch()

    monkeypatch.setattr(Verifier, "_check_partition", change)
    found = list(Verifier(ReadOnlyFileSystem(), folder, None).run())
    if settles:
        assert found == []
    else:
        assert [(each.file.name, "changes all the time" in each.what) for each in found] == [("one-0", True)]


def test_what_only_reads_cannot_write(folder):
    fs = ReadOnlyFileSystem()
    path = folder / "one-0" / FIRST
    for change in (
        lambda: fs.open(path).write_at(b"x", 0),
        lambda: fs.open(path).truncate(0),
        lambda: fs.open(folder / "new"),
        lambda: fs.remove(path),
        lambda: fs.rename(path, path.with_suffix(".x")),
        lambda: fs.make_directory(folder / "new"),
        lambda: fs.remove_tree(folder / "one-0"),
        lambda: fs.lock(folder / ".lock"),
    ):
        with pytest.raises(OSError, match=r"Read-only|Bad file descriptor|Invalid argument|No such file"):
            change()


def test_beside_a_running_server(run, tmp_path):
    with RunningServer(tmp_path) as server:
        with WireClient(server.bootstrap) as client:
            client.create_topic("topic")
            partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=7)
            topic = OffsetCommitRequestTopic(name="topic", partitions=[partition])
            answer = client.request(OffsetCommitRequest(group_id="group", topics=[topic]), 5)
            assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE
        result = run("verify", server.data)
        assert (result.exit_code, "no problems" in result.stdout) == (0, True), result.output
        lines = run("dump", server.data, "--topic", "__consumer_offsets").stdout.splitlines()
        (commit,) = [line for line in lines if "OffsetCommitKey" in line]
        assert '"group": "group", "topic": "topic", "partition": 0' in commit
        assert 'payload: {"offset": 7' in commit


def test_a_lost_directory_is_given_up_by_its_path(run, tmp_path):
    with RunningServer(tmp_path, log_dirs=("a", "b")) as server:
        a, b = server.log_dirs
        with WireClient(server.bootstrap) as client:
            client.create_topic("topic", 2)
            for partition in range(2):
                assert client.produce("topic", build_batch([(None, b"v", ())]), partition=partition).base_offset == 0
        server.stop()
        assert run("verify", a, b).stdout.endswith("no problems\n")
        (lost,) = (partition for partition in range(2) if (b / f"topic-{partition}").exists())
        shutil.rmtree(b)
        server.log_dirs.pop()
        with pytest.raises(AssertionError, match=f"If it is lost: coordinator log forget-directory {a} "):
            server.start()
        server._process = None
        refused = run("forget-directory", a, a)
        assert refused.exit_code == 1
        assert f"no other log directory has this path or id: {a}; known: {b} (" in refused.stderr
        forgotten = run("forget-directory", a, f"{a}/../{b.name}/")
        assert (forgotten.exit_code, forgotten.stdout.endswith("; they are created again, empty\n")) == (0, True)
        server.start()
        with WireClient(server.bootstrap) as client:
            offsets = [
                client.produce("topic", build_batch([(None, b"v", ())]), partition=partition).base_offset
                for partition in range(2)
            ]
    assert offsets == [0 if partition == lost else 1 for partition in range(2)]


def test_a_partition_in_two_directories_is_a_problem(run, folder, tmp_path):
    shutil.copytree(folder, tmp_path / "other")
    shutil.rmtree(tmp_path / "other" / "__cluster_metadata-0")
    result = run("verify", folder, tmp_path / "other", "--topic", "one")
    assert result.exit_code == 1
    assert f"{tmp_path / 'other' / 'one-0'}: is also in {folder}" in result.stdout


def test_nothing_is_given_up_in_a_directory_without_a_metadata_log(run, tmp_path):
    result = run("forget-directory", tmp_path, "lost")
    assert (result.exit_code, result.stderr) == (1, f"Error: {tmp_path} has no metadata log\n")


def test_a_folder_goes_to_kafka_and_back(run, tmp_path):
    with RunningServer(tmp_path, log_dirs=("a", "b")) as server:
        a, b = server.log_dirs
        with WireClient(server.bootstrap) as client:
            client.create_topic("topic", 2)
            for partition in range(2):
                client.produce("topic", build_batch([(None, b"v", ())]), partition=partition)
        in_use = run("export-kafka", a, b)
        assert (in_use.exit_code, "is in use by another process" in in_use.stderr) == (1, True)
        server.stop()
        alone = run("export-kafka", a)
        assert (alone.exit_code, f"name all log directories: {b} has partitions, too" in alone.stderr) == (1, True)
        exported = run("export-kafka", b, a)
        assert exported.stdout == f"exported 3 topics; start Kafka with log.dirs={a},{b}, it is formatted\n"
        with pytest.raises(AssertionError, match="import-kafka"):
            server.start()
        server._process = None
        imported = run("import-kafka", b, a)
        assert (imported.exit_code, imported.stderr) == (0, "")
        told = "imported 3 topics with 102 partitions, 0 quotas, 0 SCRAM credentials, 0 ACLs; "
        told += f"serve them with --data-dir {a},{b}\n"
        assert imported.stdout == told
        server.start()
        with WireClient(server.bootstrap) as client:
            again = [
                client.produce("topic", build_batch([(None, b"v", ())]), partition=partition).base_offset
                for partition in range(2)
            ]
        assert again == [1, 1]
    assert run("import-kafka", a, b).stderr == f"Error: {a} is a folder of this server, not of Kafka\n"


def test_configs_that_this_server_does_not_have_are_named_and_left_out():
    configs = {"cleanup.policy": "compact", "no.such.config": "1", "retention.ms": "5000", "segment.bytes": "oops"}
    accepted, left_out = accept_configs("topic", configs)
    assert (accepted, left_out) == (
        {"cleanup.policy": "compact", "retention.ms": "5000"},
        ["no.such.config", "segment.bytes"],
    )
