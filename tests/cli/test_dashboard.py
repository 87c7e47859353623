"""`coordinator dashboard` when it cannot start, and who may open its page."""

import json
import socket
import subprocess
import sys
from base64 import b64encode
from contextlib import ExitStack, suppress
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from coordinator.config.ssl_keys import SSL_HANDSHAKES_MAX_PER_IP
from tests.certificates import authority, server_identity
from tests.servers import RunningServer
from tests.waiting import wait_for


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
    given = [str(tmp_path) if argument == "." else argument for argument in arguments]
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


def test_the_page_may_have_a_login_and_tls(tmp_path):
    logins = tmp_path / "logins"
    logins.write_text("ops:secret\ntoken-1\n", encoding="utf-8")
    store = server_identity().write(tmp_path / "server.pem")
    ready = tmp_path / "dashboard.json"
    options = ["--listen", "127.0.0.1:0", "--login-file", str(logins), "--tls-key-store", str(store)]
    with RunningServer(tmp_path) as server:
        command = [sys.executable, "-m", "coordinator.cli", "dashboard", "--bootstrap", server.bootstrap, *options]
        page = subprocess.Popen([*command, "--ready-file", str(ready)], stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: ready.exists() or page.poll() is not None, 20, "the page")
            url = json.loads(ready.read_text())["url"]
            assert url.startswith("https://127.0.0.1:")
            assert status(url) == 401
            assert status(url, "Basic " + b64encode(b"ops:wrong").decode()) == 401
            assert status(url, "Basic " + b64encode(b"ops:secret").decode()) == 200
            assert status(url, "Bearer token-1") == 200
            assert_half_handshakes_are_bounded(url)
        finally:
            page.terminate()
            page.wait(20)


def assert_half_handshakes_are_bounded(url: str) -> None:
    """One above the number for an address takes the place of the oldest; who means it is served meanwhile."""
    address = url.removeprefix("https://").removesuffix("/").split(":")
    with ExitStack() as stack:
        idle = [
            stack.enter_context(socket.create_connection((address[0], int(address[1])), 20))
            for _ in range(SSL_HANDSHAKES_MAX_PER_IP.default + 1)
        ]
        with suppress(ConnectionResetError):
            assert idle[0].recv(1) == b""
        assert status(url, "Bearer token-1") == 200
        idle[-1].settimeout(0)
        with pytest.raises(BlockingIOError):
            idle[-1].recv(1)


def status(url: str, authorization: str = "") -> int:
    request = Request(url, headers={"Authorization": authorization} if authorization else {})
    try:
        with urlopen(request, timeout=20, context=authority().client_context()) as response:
            return int(response.status)
    except HTTPError as problem:
        return problem.code


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        ("--login-file", "Error: {path}: it has no line USER:PASSWORD and no token\n"),
        (
            "--tls-key-store",
            "Error: --tls-key-store {path}: no private key with its certificate chain",
        ),
    ],
)
def test_a_login_or_key_that_cannot_be_used_is_one_line(tmp_path, option, problem):
    path = tmp_path / "empty"
    path.touch()
    ended = run("--bootstrap", "127.0.0.1:1", "--listen", "127.0.0.1:0", option, str(path))
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (1, "", 1)
    assert ended.stderr.startswith(problem.format(path=path))
