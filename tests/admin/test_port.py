"""The admin port: its address, its routes, and clients that mean no good."""

import json
import socket
import subprocess
import sys
import threading
import time

import pytest

from _wire.errors import ErrorCode
from _wire.messages.api_versions import ApiVersionsRequest
from coordinator.admin import http_server
from tests.admin.http_client import get, with_node
from tests.servers import QUICK_GROUPS, RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient, join_request

ADMIN = {**QUICK_GROUPS, "admin.listener": "127.0.0.1:0"}


def serve(folder, *arguments, code="from coordinator.cli import main; main()"):
    """A `coordinator serve` that ends by itself, because it cannot start."""
    options = ["serve", "--listen", "127.0.0.1:0", "--data-dir", str(folder / "data"), *arguments]
    return subprocess.run(
        [sys.executable, "-c", code, *options], capture_output=True, text=True, timeout=30, check=False
    )


def connect(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=20)


def is_closed(sock: socket.socket) -> bool:
    """Whether the peer closes it; waits until it does or sends something."""
    try:
        return not sock.recv(1)
    except ConnectionResetError:
        return True


def test_the_port_is_told_in_the_ready_file_and_in_the_log(tmp_path):
    with RunningServer(tmp_path, ADMIN) as server:
        assert json.loads((tmp_path / "ready.json").read_text())["admin"] == server.admin
        wait_for(lambda: f"admin={server.admin}" in server.log.read_text(), 10, "the line about it")
        assert get(server.admin, "/healthz")[::2] == (200, '{"healthy": true}\n')
        assert get(server.admin, "/readyz").status == 200
        assert server.stop() == 0
    with pytest.raises(ConnectionRefusedError):
        connect(server.admin)


def test_the_first_connections_wait_for_what_serves_them(tmp_path):
    def questions(node):
        assert node._admin._port._server is None
        waiting = [connect(node.admin) for _ in range(3)]
        for each in waiting:
            each.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert [each.recv(15) for each in waiting] == [b"HTTP/1.1 200 OK"] * 3
        assert node._admin._port._server is not None

    with_node(tmp_path, questions)


def test_a_port_that_nobody_asked_is_closed_by_a_stop(tmp_path):
    address = with_node(tmp_path, lambda node: node.admin)
    with pytest.raises(ConnectionRefusedError):
        connect(address)


def test_a_port_alone_is_on_loopback(tmp_path):
    address = with_node(tmp_path, lambda node: node.admin, {"admin.listener": ":0"})
    assert address.startswith("127.0.0.1:")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_only_get_and_head_are_served(tmp_path, method):
    def questions(node):
        assert get(node.admin, "/metrics", method).status == 405
        assert get(node.admin, "/nothing", "GET").status == 404
        head = get(node.admin, "/healthz", "HEAD")
        assert (head.status, head.text, head.headers["connection"]) == (200, "", "close")

    with_node(tmp_path, questions)


@pytest.mark.parametrize(
    "text", ["9100", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:x", "::", "a:b:-1", ":999999999999"]
)
def test_a_wrong_address_is_one_line(tmp_path, text):
    ended = serve(tmp_path, "--admin", text)
    assert ended.returncode == 2
    assert ended.stderr == f"coordinator: admin.listener={text}: expected HOST:PORT, or :PORT for 127.0.0.1\n"


def test_an_address_in_use_is_one_line(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ended = serve(tmp_path, "--admin", address)
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"coordinator: cannot listen on {address}: Address already in use; another process")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("library", ["prometheus_client", "starlette", "uvicorn"])
def test_a_missing_library_is_one_line_that_names_the_extra(tmp_path, library):
    code = f"import sys; sys.modules[{library!r}] = None; from coordinator.cli import main; main()"
    ended = serve(tmp_path, "--admin", ":0", code=code)
    assert ended.returncode == 2
    install = "pip install 'kafka-group-coordinator[admin]'"
    assert ended.stderr == f"coordinator: admin.listener needs the package {library}: {install}\n"


def test_more_groups_allowed_than_may_have_series_is_one_line(tmp_path):
    ended = serve(tmp_path, "--admin", ":0", "--set=metrics.groups.allow=a, b,a", "--set=metrics.groups.max=1")
    assert (ended.returncode, ended.stderr) == (
        2,
        "coordinator: metrics.groups.allow: it names 2 groups, but metrics.groups.max is 1\n",
    )


def test_off_it_imports_nothing():
    code = (
        "import sys, coordinator.node.node, coordinator.cli.serve\n"
        "print({'starlette', 'uvicorn', 'prometheus_client', 'coordinator.admin'} & set(sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert ran.stdout == "set()\n"


@pytest.mark.realtime  # it measures a second, which other tests beside it could take
@pytest.mark.parametrize("sent", [b"", b"GET /metrics HTTP/1.1\r\nHost: "], ids=["silent", "half a head"])
def test_clients_that_send_no_head_do_not_keep_others_out(tmp_path, sent):
    """An orchestrator kills a server whose /healthz does not answer in a second."""

    def questions(node):
        silent = []
        try:
            for _ in range(3 * http_server.CONNECTIONS_MAX):
                silent.append(connect(node.admin))
                silent[-1].sendall(sent)
            began = time.monotonic()
            assert get(node.admin, "/healthz").status == 200
            assert get(node.admin, "/readyz").status == 200
            assert time.monotonic() - began < http_server.HEAD_SECONDS
            with WireClient(node.bootstrap) as client:
                assert client.request(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE
            assert all(is_closed(each) for each in silent)
            assert time.monotonic() - began < http_server.CONNECTION_SECONDS / 2
        finally:
            for each in silent:
                each.close()

    with_node(tmp_path, questions)


def test_a_head_that_waits_in_the_socket_while_the_loop_is_blocked_is_served(tmp_path, monkeypatch):
    monkeypatch.setattr(http_server, "HEAD_SECONDS", 0.2)

    def questions(node):
        with connect(node.admin) as client:
            blocked = threading.Event()

            def block():
                blocked.set()
                time.sleep(0.5)

            node.failure.get_loop().call_soon_threadsafe(block)
            assert blocked.wait(10)
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert client.recv(15) == b"HTTP/1.1 200 OK"

    with_node(tmp_path, questions)


def test_requests_that_take_long_go_before_a_new_one(tmp_path, monkeypatch):
    monkeypatch.setattr(http_server, "REQUEST_SECONDS", 0)
    monkeypatch.setattr(http_server, "CONNECTIONS_MAX", 4)
    held = threading.Event()
    started = []

    async def exposition(metrics, pause):
        started.append(metrics)
        while not held.is_set():
            await pause()
        return b""

    monkeypatch.setattr("coordinator.admin.app.exposition", exposition)

    def questions(node):
        scrapes = [connect(node.admin) for _ in range(4)]
        for scrape in scrapes:
            scrape.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_for(lambda: started, 10, "the scrape to begin")
        assert get(node.admin, "/healthz").status == 200
        held.set()
        closed = [is_closed(scrape) for scrape in scrapes]
        assert closed == [True, False, False, False]
        for scrape in scrapes:
            scrape.close()

    with_node(tmp_path, questions)


@pytest.mark.parametrize(
    ("setting", "headers", "status"),
    [
        ("", {"Host": "evil.example"}, 403),
        ("", {"Host": "evil.example:9100"}, 403),
        ("", {"Origin": "http://evil.example"}, 403),
        ("metrics.internal", {"Host": "metrics.internal:9100"}, 200),
        ("metrics.internal", {"Host": "evil.example"}, 403),
        ("", {"Host": "localhost:9100"}, 200),
    ],
)
def test_a_web_page_of_another_site_does_not_reach_the_port(tmp_path, setting, headers, status):
    def questions(node):
        answer = get(node.admin, "/metrics", headers=headers)
        assert answer.status == status
        assert status == 200 or "admin.allowed.hosts" in answer.text

    with_node(tmp_path, questions, {"admin.allowed.hosts": setting})


def test_a_client_that_does_not_read_is_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(http_server, "CONNECTION_SECONDS", 1)

    def questions(node):
        with connect(node.admin) as lazy:
            lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            lazy.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert get(node.admin, "/metrics").status == 200
            wait_for(lambda: _is_reset(lazy), 10, "the port to close the connection")

    with_node(tmp_path, questions)


def _is_reset(sock: socket.socket) -> bool:
    """Whether the peer has closed; nothing is read."""
    try:
        sock.send(b"x")
    except (BrokenPipeError, ConnectionResetError):
        return True
    return False


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\nx: " + b"x" * 200_000,
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n" + b"x" * 200_000,
        b"\x00" * 200_000,
        b"\r\n" * 100_000,
    ],
    ids=["long header", "large body", "no HTTP", "empty lines"],
)
def test_a_request_that_is_too_large_or_none_is_closed(tmp_path, sent):
    def questions(node):
        with connect(node.admin) as hostile:
            try:
                hostile.sendall(sent)
                while hostile.recv(65536):
                    continue
            except (BrokenPipeError, ConnectionResetError):
                pass  # closed while it was sending
        assert get(node.admin, "/healthz").status == 200

    with_node(tmp_path, questions)


def test_a_stop_closes_the_port_and_its_connections(tmp_path):
    with RunningServer(tmp_path, ADMIN) as server, connect(server.admin) as idle:
        assert server.stop() == 0
        assert is_closed(idle)


def test_many_scrapes_at_once_are_all_answered(tmp_path):
    def questions(node):
        waiting = [connect(node.admin) for _ in range(20)]
        for each in waiting:
            each.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for each in waiting:
            with each, each.makefile("rb") as file:
                assert file.readline() == b"HTTP/1.1 200 OK\r\n"
                assert b"coordinator_epoch 1.0" in file.read()

    with_node(tmp_path, questions)


def test_a_kafka_listener_that_cannot_be_bound_leaves_no_admin_port(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        bootstrap = f"127.0.0.1:{taken.getsockname()[1]}"
        ended = serve(tmp_path, "--listen", bootstrap, "--admin", ":0")
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)


def test_a_waiting_join_does_not_hold_up_the_stop(tmp_path):
    slow = ADMIN | {"group.initial.rebalance.delay.ms": "60000"}
    with RunningServer(tmp_path, slow) as server, WireClient(server.bootstrap) as member:
        member.send(join_request("g"), 3)
        assert get(server.admin, "/metrics").status == 200
        assert server.stop() == 0
