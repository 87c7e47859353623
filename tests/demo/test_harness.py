"""The harness leaves nothing running: neither the processes that it started nor their children."""

import os
from pathlib import Path

import pytest

from coordinator.demo.harness import Harness, ScenarioFailed
from tests.waiting import wait_for

ECHO = """
from coordinator.demo.reports import report, stop_when_stdin_closes
report("here")
stop_when_stdin_closes().wait()
report("closed")
"""

WITH_A_CHILD = """
import subprocess
from coordinator.demo.reports import report
child = subprocess.Popen(["sleep", "600"])
report("child", pid=child.pid)
child.wait()
"""


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Start a process on a harness from its source text."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.getcwd()]))

    def start(harness: Harness, name: str, source: str):
        (tmp_path / f"{name}.py").write_text(source)
        return harness.start(name, [name])

    return start


def runs(pid: int) -> bool:
    """Whether the process does anything (what has ended and waits to be reaped by init does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_process_stops_when_its_stdin_closes(tmp_path: Path, play):
    with Harness(tmp_path) as harness:
        process = play(harness, "echo", ECHO)
        harness.wait_until("a sign of life", lambda: process.last("here"), 20)
        process.request_stop()
        harness.wait_until("a close", lambda: process.last("closed"), 20)
    assert process.popen.returncode == 0


def test_an_unexpected_exit_fails_the_scenario(tmp_path: Path, play):
    with Harness(tmp_path) as harness:
        play(harness, "broken", "raise SystemExit(3)")
        with pytest.raises(ScenarioFailed, match="broken ended with exit code 3"):
            harness.wait_until("something else", lambda: False, 20)


def test_a_process_that_was_asked_to_stop_may_have_exited_already(tmp_path: Path, play):
    with Harness(tmp_path) as harness:
        done = play(harness, "done", 'from coordinator.demo.reports import report\nreport("written")')
        done.popen.wait()
        wait_for(lambda: done.last("written") is not None, 20, "what it wrote, which a thread reads")
        done.request_stop()
        other = play(harness, "echo", ECHO)
        harness.wait_until("another process", lambda: other.last("here"), 20)


def test_a_timeout_fails_the_scenario(tmp_path: Path):
    with Harness(tmp_path) as harness, pytest.raises(ScenarioFailed, match=r"an impossible event: not within 0\.2 s"):
        harness.wait_until("an impossible event", lambda: False, 0.2)


def test_a_reported_failure_fails_the_scenario_with_its_message(tmp_path: Path, play):
    with Harness(tmp_path) as harness:
        play(harness, "sorry", ECHO.replace('report("here")', 'report("failed", why="no luck")'))
        with pytest.raises(ScenarioFailed, match="sorry: no luck"):
            harness.wait_until("something else", lambda: False, 20)


@pytest.mark.parametrize("error", [None, KeyboardInterrupt])
def test_leaving_the_context_ends_processes_and_their_children(tmp_path: Path, play, error):
    class Left(Exception):
        pass

    with pytest.raises(error or Left), Harness(tmp_path, close_seconds=0.1) as harness:
        process = play(harness, "parent", WITH_A_CHILD)
        child = harness.wait_until("the child", lambda: process.last("child"), 20)["pid"]
        assert runs(child)
        raise (error or Left)()
    assert not runs(process.popen.pid)
    harness.wait_until("the end of the child", lambda: not runs(child), 5)


def test_a_killed_process_does_not_fail_the_scenario(tmp_path: Path, play):
    with Harness(tmp_path) as harness:
        process = play(harness, "echo", ECHO)
        harness.wait_until("a sign of life", lambda: process.last("here"), 20)
        process.kill()
        assert process.popen.returncode == -9
        harness.wait_until("nothing in particular", lambda: True, 1)
        assert process.last("closed") is None
