"""What the audit tells of the connection of a silent member, from real sockets."""

import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from _wire.messages.sync_group import SyncGroupRequest
from coordinator.audit import schema
from coordinator.client.audit_topic import AuditTopic
from tests.servers import QUICK_GROUPS, RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient, join_request

SESSION_MS = 1_000
WAITS_SECONDS = 10


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with RunningServer(tmp_path_factory.mktemp("closed")) as running:
        yield running


def removed(server: RunningServer, group_id: str) -> schema.MemberRemoved:
    """The first removal of a member of the group, once it is there."""

    def found() -> list[schema.MemberRemoved]:
        with AuditTopic(server.bootstrap) as topic:
            events = [record.event for record in topic.group_events(group_id)]
        return [event for event in events if isinstance(event, schema.MemberRemoved)]

    return wait_for(found, WAITS_SECONDS, "a member to be removed", every_ms=50)[0]


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def test_a_connection_that_stays_open(server: RunningServer) -> None:
    with WireClient(server.bootstrap) as client:
        client.join_alone("open", session_timeout_ms=SESSION_MS)
        event = removed(server, "open")
        assert (event.connection_open, event.connection_closed_ms) == (True, None)


@pytest.mark.parametrize("reset", [False, True])
def test_a_connection_that_the_client_closes_or_resets(server: RunningServer, reset: bool) -> None:
    group_id = f"closed-{reset}"
    with WireClient(server.bootstrap) as client:
        client.join_alone(group_id, session_timeout_ms=SESSION_MS)
        if reset:
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        closed_ms = now_ms()
    event = removed(server, group_id)
    assert event.connection_open is False
    assert event.connection_closed_ms is not None
    assert closed_ms - 2 <= event.connection_closed_ms < closed_ms + 500
    assert event.time_ms - event.connection_closed_ms >= SESSION_MS - 50


def test_a_connection_that_closes_while_a_join_group_waits(server: RunningServer) -> None:
    """Nothing had joined by the connection when it closed."""
    group_id = "waiting"
    with WireClient(server.bootstrap) as first:
        first.join_alone(group_id, session_timeout_ms=30_000)
        with WireClient(server.bootstrap) as second:
            second.send(join_request(group_id, timeout_ms=SESSION_MS), 3)
            wait_for(lambda: first.heartbeat_error(group_id, member_id(server, group_id)) == 27, 10, "a rebalance")
            closed_ms = now_ms()
        joined = first.request(join_request(group_id, member_id(server, group_id)), 3)
        assert joined.generation_id == 2
        first.request(SyncGroupRequest(group_id=group_id, generation_id=2, member_id=joined.member_id), 3)
        event = removed(server, group_id)
    assert event.member.member_id != joined.member_id
    assert event.connection_open is False
    assert event.connection_closed_ms is not None
    assert closed_ms - 2 <= event.connection_closed_ms < closed_ms + 500


def member_id(server: RunningServer, group_id: str) -> str:
    """The id of the first member of the group."""
    with AuditTopic(server.bootstrap) as topic:
        events = [record.event for record in topic.group_events(group_id)]
    return next(event for event in events if isinstance(event, schema.MemberJoined)).member.member_id


def test_a_connection_that_the_server_closes_says_nothing_of_the_client(tmp_path: Path) -> None:
    settings = QUICK_GROUPS | {"connections.max.idle.ms": "500"}
    with RunningServer(tmp_path, settings) as server, WireClient(server.bootstrap) as client:
        client.join_alone("idle", session_timeout_ms=2_000)
        assert client.is_closed_by_peer()
        event = removed(server, "idle")
        assert (event.connection_open, event.connection_closed_ms) == (None, None)


def test_a_member_that_sends_heartbeats_over_another_connection(server: RunningServer) -> None:
    with WireClient(server.bootstrap) as other:
        with WireClient(server.bootstrap) as client:
            found = client.join_alone("moved", session_timeout_ms=SESSION_MS)
        time.sleep(0.05)  # so that the heartbeat is later than the close, by the clock of the server
        assert other.heartbeat_error("moved", found) == 0
        event = removed(server, "moved")
        assert (event.connection_open, event.connection_closed_ms) == (True, None)
