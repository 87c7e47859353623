"""`coordinator dashboard` when it cannot start."""

import socket
import subprocess
import sys

import pytest


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "coordinator.cli", "dashboard", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


@pytest.mark.parametrize("listen", ["8080", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:x"])
def test_a_wrong_address_to_listen_on_is_explained(listen):
    ended = run("--bootstrap", "127.0.0.1:1", "--listen", listen)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == f"Error: --listen {listen}: expected HOST:PORT\n"


def test_something_to_read_has_to_be_named():
    ended = run()
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == "Error: name a server (--bootstrap HOST:PORT), tables (--tables DIR), or both\n"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--tables", "."], "--allow-actions needs a server: --bootstrap HOST:PORT"),
        (
            ["--bootstrap", "127.0.0.1:1", "--listen", "0.0.0.0:0"],
            "--allow-actions on 0.0.0.0 needs --allow-host NAME: the host name of the page",
        ),
    ],
)
def test_actions_need_a_server_and_a_known_host(tmp_path, arguments, problem):
    (tmp_path / "bronze").mkdir()
    given = [str(tmp_path) if each == "." else each for each in arguments]
    ended = run(*given, "--allow-actions")
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", f"Error: {problem}\n")


def test_tables_that_do_not_exist_are_one_line(tmp_path):
    ended = run("--tables", str(tmp_path))
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == f"Error: there is no table {tmp_path / 'bronze'}\n"


def test_an_unreachable_server_is_one_line():
    bootstrap = f"127.0.0.1:{unused_port()}"
    ended = run("--bootstrap", bootstrap, "--listen", "127.0.0.1:0")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith(f"Error: cannot reach {bootstrap}")
    assert ended.stderr.count("\n") == 1


def test_an_address_in_use_is_one_line():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listen = f"127.0.0.1:{listener.getsockname()[1]}"
        ended = run("--bootstrap", "127.0.0.1:1", "--listen", listen)
    assert ended.returncode == 1
    assert ended.stderr == f"Error: cannot listen on {listen}: Address already in use\n"
