"""Backups that are damaged, do not fit, or are put back only in part."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

from coordinator.backup import restoring
from coordinator.backup.copying import back_up
from coordinator.backup.manifest import MANIFEST, BackupError, read_manifest
from coordinator.backup.restoring import restore, verify
from coordinator.cli.restore import command
from coordinator.log.data_dirs.directories import LogDirectories
from coordinator.log.errors import DataDirectoryError
from tests.backup.folders import TOPIC, filled_folder

SEGMENT = f"0/{TOPIC}-0/00000000000000000000.log"


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    target = tmp_path / "backup"
    back_up([filled_folder(tmp_path)], target, "0", lambda: 1)
    return target


def changed(backup: Path, change: Callable[[dict[str, Any]], object]) -> None:
    manifest = json.loads((backup / MANIFEST).read_text(encoding="utf-8"))
    change(manifest)
    (backup / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")


def test_a_byte_that_has_changed_is_noticed(backup: Path, tmp_path: Path):
    segment = backup / SEGMENT
    content = bytearray(segment.read_bytes())
    content[-1] ^= 1
    segment.write_bytes(content)
    for check in (lambda: verify(backup), lambda: restore(backup, [tmp_path / "data2"])):
        with pytest.raises(BackupError, match=f"{TOPIC}-0/0+.log is damaged: it is not what was copied"):
            check()


def test_a_file_that_was_cut_off_or_is_missing_is_noticed_before_anything_is_written(backup: Path, tmp_path: Path):
    segment = backup / SEGMENT
    segment.write_bytes(segment.read_bytes()[:-1])
    with pytest.raises(BackupError, match=r"has \d+ bytes, \d+ were copied"):
        restore(backup, [tmp_path / "data2"])
    segment.unlink()
    with pytest.raises(BackupError, match=r"\.log is missing"):
        restore(backup, [tmp_path / "data2"])
    assert not (tmp_path / "data2").exists()


def test_a_backup_that_was_interrupted_is_none(backup: Path):
    (backup / MANIFEST).unlink()
    with pytest.raises(BackupError, match=r"is no complete backup: it has no backup\.json"):
        read_manifest(backup)


@pytest.mark.parametrize(
    "path",
    [
        *("../etc/passwd", "/etc/passwd", "0", "1/orders-0/x.log", "0/../../x", "x/y", "", "0/a\0b", SEGMENT),
        *("0//etc/cron.d/x", "./0/x", "0/./x", "0/x/", "0/x//y", "0/x/..", "0/", "00/x", "0\\..\\x", "0/..\\..\\x"),
        *("0/a\nb", "0/\u202ex", f"0/{256 * 'x'}", "//0/x", " 0/x", "-0/x", "+0/x", "\u0660/x"),
    ],
)
def test_no_file_is_put_outside_the_log_directories(backup: Path, path: str):
    changed(backup, lambda manifest: manifest["files"].append({"path": path, "bytes": 0, "sha256": ""}))
    with pytest.raises(BackupError, match="is damaged: it names the file"):
        read_manifest(backup)


LEAST: Final = {"path": "0/x", "bytes": 0, "sha256": hashlib.sha256().hexdigest()}


@pytest.mark.parametrize("links", ["of a file", "of a folder", "of the backup"])
def test_no_symbolic_link_of_a_backup_is_followed(backup: Path, tmp_path: Path, links: str):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").touch()
    path = {"of a file": "0/x", "of a folder": "0/linked/x", "of the backup": "0/x"}[links]
    link = (backup / path).parent if links == "of a folder" else backup / path
    if links == "of the backup":
        (backup / "0").rename(outside / "0")
        (outside / "0" / "x").touch()
        link, outside = backup / "0", outside / "0"
    link.symlink_to(outside if link.name != "x" else outside / "x")
    changed(backup, lambda manifest: manifest["files"].append(LEAST | {"path": path}))
    for run in (lambda: verify(backup), lambda: restore(backup, [tmp_path / "restored"])):
        with pytest.raises(BackupError, match=r"is not in|is a symbolic link"):
            run()


def test_no_symbolic_link_of_a_log_directory_is_followed(backup: Path, tmp_path: Path):
    outside, directory = tmp_path / "outside", tmp_path / "restored"
    outside.mkdir()
    directory.mkdir()
    (directory / "lost+found").symlink_to(outside)
    (backup / "0" / "lost+found").mkdir()
    (backup / "0" / "lost+found" / "x").touch()
    changed(backup, lambda manifest: manifest["files"].append(LEAST | {"path": "0/lost+found/x"}))
    with pytest.raises(BackupError, match="is not in"):
        restore(backup, [directory])
    assert not list(outside.iterdir())


def test_a_log_directory_may_be_reached_by_a_symbolic_link(backup: Path, tmp_path: Path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "other").symlink_to(tmp_path / "disk")
    (tmp_path / "linked").symlink_to(backup)
    restore(tmp_path / "linked", [tmp_path / "other"])
    assert (tmp_path / "disk" / "meta.properties").is_file()


@pytest.mark.parametrize("ended_ms", [-1, 1 << 60])
def test_a_backup_of_no_year_is_damaged(backup: Path, ended_ms: int):
    changed(backup, lambda manifest: manifest.update(ended_ms=ended_ms))
    with pytest.raises(BackupError, match="is damaged"):
        read_manifest(backup)


@pytest.mark.parametrize("path", ["0//etc/x", "./0/x", "0/\ud800", "0/" + "x/" * 5_000 + "x"])
@pytest.mark.parametrize("option", ["--verify", "--data-dir=restored"])
def test_the_command_says_it_in_one_line(backup: Path, path: str, option: str):
    changed(backup, lambda manifest: manifest["files"].append(LEAST | {"path": path}))
    result = CliRunner().invoke(command, [str(backup), option])
    assert result.exit_code == 1 and isinstance(result.exception, SystemExit)
    assert result.output.startswith("Error: ") and result.output.count("\n") == 1


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"format": "1"}', b'{"format": 1}', b"null"])
def test_a_damaged_manifest_is_one_line(backup: Path, content: bytes):
    (backup / MANIFEST).write_bytes(content)
    with pytest.raises(BackupError, match=r"backup\.json is damaged: "):
        read_manifest(backup)


def test_a_newer_format_is_refused(backup: Path):
    changed(backup, lambda manifest: manifest.update(format=2))
    with pytest.raises(BackupError, match=r"has format 2, which is newer than this version of the server \(1\)"):
        read_manifest(backup)


def test_as_many_directories_are_needed_as_were_copied(backup: Path, tmp_path: Path):
    with pytest.raises(BackupError, match=r"was made of 1 log directories \(.*/data\), not of 2"):
        restore(backup, [tmp_path / "one", tmp_path / "two"])


def test_a_directory_with_something_in_it_is_left_alone(backup: Path, tmp_path: Path):
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    with pytest.raises(BackupError, match="is not empty: a backup is put into empty log directories"):
        restore(backup, [tmp_path])
    assert (tmp_path / "mine").read_text(encoding="utf-8") == "mine"


def test_a_directory_that_a_server_uses_is_left_alone(backup: Path, tmp_path: Path):
    directories = LogDirectories.open([tmp_path / "used"])
    try:
        with pytest.raises(BackupError, match="is in use by another process"):
            restore(backup, [tmp_path / "used"])
    finally:
        directories.close()


def test_there_has_to_be_room(backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("coordinator.backup.restoring.shutil.disk_usage", lambda path: type("Usage", (), {"free": 10}))
    with pytest.raises(BackupError, match="has 10 bytes free; the backup needs "):
        restore(backup, [tmp_path / "data2"])


def test_no_server_starts_on_an_interrupted_restore_and_it_can_be_run_again(
    backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    target, restore_file, left = tmp_path / "data2", restoring._restore_file, [3]

    def interrupted(*args: Any) -> None:
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        restore_file(*args)

    with monkeypatch.context() as patched:
        patched.setattr(restoring, "_restore_file", interrupted)
        with pytest.raises(KeyboardInterrupt):
            restore(backup, [target])
    with pytest.raises(DataDirectoryError, match=r"`coordinator restore` was interrupted on .*: run it again"):
        LogDirectories.open([target])
    (target / "half").write_text("of a file", encoding="utf-8")
    restore(backup, [target])
    assert not (target / "half").exists()
    directories = LogDirectories.open([target])
    try:
        assert directories.metadata.cluster_id == read_manifest(backup).cluster_id
    finally:
        directories.close()
