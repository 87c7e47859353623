"""The stage leaves nothing running: neither what it started nor what that has started."""

import os
from pathlib import Path

import pytest

from coordinator.demo.stage import Stage, StoryFailed

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
    """Start a process on a stage from its source text."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.getcwd()]))

    def start(stage: Stage, name: str, source: str):
        (tmp_path / f"{name}.py").write_text(source)
        return stage.start(name, [name])

    return start


def runs(pid: int) -> bool:
    """Whether the process does anything (what has ended and waits to be reaped by init does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_an_actor_stops_when_its_stdin_closes(tmp_path: Path, play):
    with Stage(tmp_path) as stage:
        actor = play(stage, "echo", ECHO)
        stage.wait_until("a sign of life", lambda: actor.last("here"), 20)
        actor.ask_to_stop()
        stage.wait_until("a close", lambda: actor.last("closed"), 20)
    assert actor.process.returncode == 0


def test_whoever_ends_unasked_fails_the_story(tmp_path: Path, play):
    with Stage(tmp_path) as stage:
        play(stage, "broken", "raise SystemExit(3)")
        with pytest.raises(StoryFailed, match="broken ended with exit code 3"):
            stage.wait_until("something else", lambda: False, 20)


def test_what_does_not_happen_in_time_fails_the_story(tmp_path: Path):
    with Stage(tmp_path) as stage, pytest.raises(StoryFailed, match=r"a miracle: not within 0\.2 s"):
        stage.wait_until("a miracle", lambda: False, 0.2)


def test_a_failure_that_is_reported_fails_the_story_in_its_words(tmp_path: Path, play):
    with Stage(tmp_path) as stage:
        play(stage, "sorry", ECHO.replace('report("here")', 'report("failed", why="no luck")'))
        with pytest.raises(StoryFailed, match="sorry: no luck"):
            stage.wait_until("something else", lambda: False, 20)


@pytest.mark.parametrize("error", [None, KeyboardInterrupt])
def test_leaving_the_stage_ends_processes_and_their_children(tmp_path: Path, play, error):
    class Left(Exception):
        pass

    with pytest.raises(error or Left), Stage(tmp_path, close_seconds=0.1) as stage:
        actor = play(stage, "parent", WITH_A_CHILD)
        child = stage.wait_until("the child", lambda: actor.last("child"), 20)["pid"]
        assert runs(child)
        raise (error or Left)()
    assert not runs(actor.process.pid)
    stage.wait_until("the end of the child", lambda: not runs(child), 5)


def test_a_killed_actor_is_not_missed(tmp_path: Path, play):
    with Stage(tmp_path) as stage:
        actor = play(stage, "echo", ECHO)
        stage.wait_until("a sign of life", lambda: actor.last("here"), 20)
        actor.kill()
        assert actor.process.returncode == -9
        stage.wait_until("nothing in particular", lambda: True, 1)
        assert actor.last("closed") is None
