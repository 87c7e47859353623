"""What `pipeline run` says before Spark starts: one line, soon."""

import socket
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from click.testing import CliRunner, Result

from coordinator.cli import main
from coordinator.pipeline.preflight import NotReady, require_topic, sole_job

SOON_SECONDS = 5


def run(bootstrap: str, tables: Path) -> Result:
    started = monotonic()
    done = CliRunner().invoke(main, ["pipeline", "run", "--bootstrap", bootstrap, "--tables", str(tables)])
    assert monotonic() - started < SOON_SECONDS
    assert (done.exit_code, done.output.count("\n")) == (1, 1)
    return done


def test_nobody_listens(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert f"cannot reach 127.0.0.1:{port}" in run(f"127.0.0.1:{port}", tmp_path).output


def test_a_listener_that_never_answers(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert f"127.0.0.1:{port} did not respond within" in run(f"127.0.0.1:{port}", tmp_path).output


def test_any_address_that_answers_will_do_but_the_topic_must_be_there(server: Any):
    with pytest.raises(NotReady, match="has no topic nowhere"):
        require_topic(f"127.0.0.1:1,{server.bootstrap}", "nowhere")


def test_a_folder_that_cannot_be(tmp_path: Path, server: Any):
    (tmp_path / "file").touch()
    with (
        pytest.raises(NotReady, match=r"cannot write to .*file/tables: Not a directory"),
        sole_job(tmp_path / "file/tables"),
    ):
        pass


def test_two_jobs_on_one_folder(tmp_path: Path):
    with (
        sole_job(tmp_path / "tables"),
        pytest.raises(NotReady, match="another job writes to"),
        sole_job(tmp_path / "tables"),
    ):
        pass
    with sole_job(tmp_path / "tables"):  # the lock ended with the first
        pass
