"""How many connections there may be, and how long one may be silent: over real sockets."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.heartbeat import HeartbeatRequest
from coordinator.config import CONNECTIONS_MAX_IDLE_MS, MAX_CONNECTIONS, MAX_CONNECTIONS_PER_IP, ConfigKey
from tests.servers import QUICK_GROUPS, RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient, join_request


@pytest.fixture
def limited(tmp_path):
    @contextmanager
    def start(key: ConfigKey[int], value: int) -> Iterator[RunningServer]:
        with RunningServer(tmp_path, QUICK_GROUPS | {key.name: str(value)}) as server:
            yield server

    return start


def is_served(client: WireClient) -> bool:
    return client.request(ApiVersionsRequest(), 0).error_code == 0


@pytest.mark.parametrize("key", [MAX_CONNECTIONS, MAX_CONNECTIONS_PER_IP], ids=lambda key: key.name)
def test_a_connection_over_the_limit_is_closed_and_the_others_stay(limited, key):
    with limited(key, 2) as server, ExitStack() as stack:
        first, second = (stack.enter_context(WireClient(server.bootstrap)) for _ in range(2))
        assert is_served(first) and is_served(second)
        with WireClient(server.bootstrap) as third:
            assert third.is_closed_by_peer()
        assert is_served(first) and is_served(second)
        wait_for(lambda: f"({key.name})" in server.log.read_text(), 5, "the line about it")
        assert "more than 2 connections" in server.log.read_text()


def test_a_closed_connection_makes_room_for_another(limited):
    with limited(MAX_CONNECTIONS, 1) as server:
        for _ in range(3):
            with WireClient(server.bootstrap) as client:
                assert is_served(client)
                client.socket.shutdown(socket.SHUT_WR)
                assert client.is_closed_by_peer()


def test_an_idle_connection_is_closed(limited):
    with limited(CONNECTIONS_MAX_IDLE_MS, 300) as server, WireClient(server.bootstrap) as client:
        assert is_served(client)
        assert client.is_closed_by_peer()


def test_a_connection_with_a_pending_request_is_not_idle(limited):
    with (
        limited(CONNECTIONS_MAX_IDLE_MS, 200) as server,
        WireClient(server.bootstrap, "a") as a,
        WireClient(server.bootstrap, "b") as b,
    ):
        member_id = a.join_alone("waiting")
        sent = b.send(join_request("waiting"), 3)
        for _ in range(20):  # heartbeats over more than the time that would close it, and a heartbeat takes none
            b.socket.settimeout(0.03)
            with pytest.raises(TimeoutError):
                b.socket.recv(1)
            a.request(HeartbeatRequest(group_id="waiting", generation_id=1, member_id=member_id), 3)
        b.socket.settimeout(20)
        rejoined = a.send(join_request("waiting", member_id), 3)
        assert a.receive(rejoined).generation_id == b.receive(sent).generation_id == 2
