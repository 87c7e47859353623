"""`coordinator backup` and `coordinator restore`, as a terminal shows them."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from coordinator.backup.manifest import MANIFEST
from coordinator.cli import main
from coordinator.cli.progress import sized
from tests.backup.folders import TOPIC, filled_folder


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_a_backup_is_made_checked_and_put_back(tmp_path: Path):
    data = filled_folder(tmp_path)
    made = run("backup", tmp_path / "backup", "--data-dir", data)
    assert made.exit_code == 0, made.output
    assert made.output.endswith(f"{tmp_path}/backup is complete\n")
    checked = run("restore", tmp_path / "backup", "--verify")
    assert checked.exit_code == 0, checked.output
    assert checked.output.startswith("the backup is whole: ")
    restored = run("restore", tmp_path / "backup", "--data-dir", tmp_path / "restored")
    assert restored.exit_code == 0, restored.output
    assert restored.output.endswith(f"; serve it with --data-dir {tmp_path}/restored\n")
    verified = run("log", "verify", tmp_path / "restored")
    assert verified.exit_code == 0, verified.output


def test_a_file_that_cannot_be_written_whole_is_no_backup(tmp_path: Path):
    """As on a full disk, the system takes a part of the bytes, and refuses the rest."""
    data, target = filled_folder(tmp_path), tmp_path / "backup"
    segment = data / f"{TOPIC}-0" / "00000000000000000000.log"
    segment.write_bytes(segment.read_bytes() * 600)
    arguments = ["backup", str(target), "--data-dir", str(data)]
    limited = ["/bin/sh", "-c", 'ulimit -f 200 && exec "$@"', "sh"]  # blocks of 512 bytes
    command = [*limited, sys.executable, "-m", "coordinator.cli", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (target / MANIFEST).exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("backup", "{}/new"), "Missing option '--data-dir'"),
        (("backup", "{}/new", "--data-dir", "{}"), "Error: {} is no data folder: it has no meta.properties"),
        (("restore", "{}/missing", "--verify"), "does not exist"),
        (("restore", "{}", "--verify"), "Error: {} is no complete backup: it has no backup.json"),
        (("restore", "{}"), "give either --data-dir or --verify"),
        (("restore", "{}", "--verify", "--data-dir", "{}/new"), "give either --data-dir or --verify"),
    ],
)
def test_a_wrong_use_is_told_in_one_line(tmp_path: Path, arguments: tuple[str, ...], told: str):
    result = run(*(argument.format(tmp_path) for argument in arguments))
    assert result.exit_code in (1, 2)
    assert told.format(tmp_path) in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (5 << 30, "5.0 GiB")]
)
def test_sizes(count: int, text: str):
    assert sized(count) == text
