"""The whole demo, as `make demo` runs it: it leaves nothing running, whether it succeeds or fails."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest

from tests.waiting import wait_for

COMMAND = [sys.executable, "-m", "coordinator.cli", "demo"]
SECONDS_MAX = 90
JVM_EXIT_SECONDS = 20
"""A JVM whose process was killed because its start took too long ends when it finds its stdin closed."""


def processes_of(folder: Path) -> set[int]:
    """The processes with the demo's folder in their environment: those that it started, and their children."""
    mark = f"TMPDIR={folder}".encode()
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes()
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue  # it has ended, or belongs to another user
            if mark in environment:
                found.add(int(entry.name))
    return found


@pytest.fixture
def demo(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [*COMMAND, "--dir", str(tmp_path)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    yield process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.spark
@pytest.mark.timeout(150)
def test_the_demo_completes_in_time(demo: "subprocess.Popen[str]", tmp_path: Path):
    started = monotonic()
    output, _ = demo.communicate()
    assert demo.returncode == 0, output
    assert monotonic() - started < SECONDS_MAX
    assert "no record lost, none read twice after a clean close" in output
    for words in ("session_expired   consumer-2", "member_left", "emptied", "new_member        till-1"):
        assert words in output
    (folder,) = tmp_path.iterdir()
    assert f"Delta tables: {folder / 'tables'}" in output
    assert (folder / "tables" / "generations" / "_delta_log").is_dir()
    assert processes_of(tmp_path) == set()


@pytest.mark.spark
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_leaves_nothing_running(demo: "subprocess.Popen[str]", tmp_path: Path, number: int):
    assert demo.stdout
    for line in demo.stdout:
        if "consumer-2 joins" in line:
            break
    assert len(processes_of(tmp_path)) >= 5, "server, producer, two consumers, Spark"
    demo.send_signal(number)
    demo.send_signal(number)
    output, _ = demo.communicate(timeout=60)
    assert demo.returncode == 130, output
    assert "interrupted" in output
    wait_for(lambda: not processes_of(tmp_path), JVM_EXIT_SECONDS, "the last process to end")


def test_without_java_it_fails_with_one_line_and_starts_nothing(tmp_path: Path):
    environment = {**os.environ, "JAVA_HOME": str(tmp_path / "nowhere")}
    command = [*COMMAND, "--dir", str(tmp_path / "demo")]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("Error: Java is missing")
    assert "install Java 17 or newer" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    assert not (tmp_path / "demo").exists()
