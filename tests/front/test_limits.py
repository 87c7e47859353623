"""How many connections there may be, and how long one may be silent: over real sockets."""

import os
import select
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.heartbeat import HeartbeatRequest
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.records import build_batch, parse_records
from coordinator.config.connection_overrides import parse_overrides
from coordinator.config.key import ConfigError, ConfigKey
from coordinator.config.network_keys import (
    CONNECTIONS_MAX_IDLE_MS,
    MAX_CONNECTION_CREATION_RATE,
    MAX_CONNECTIONS,
    MAX_CONNECTIONS_PER_IP,
    MAX_CONNECTIONS_PER_IP_OVERRIDES,
)
from tests.servers import QUICK_GROUPS, RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient, fetch_request, join_request


@pytest.fixture
def limited(tmp_path):
    @contextmanager
    def start(key: ConfigKey[Any], value: object) -> Iterator[RunningServer]:
        with RunningServer(tmp_path, QUICK_GROUPS | {key.name: str(value)}) as server:
            yield server

    return start


def is_served(client: WireClient) -> bool:
    return bool(client.request(ApiVersionsRequest(), 0).error_code == 0)


def test_a_connection_over_the_limit_of_its_address_is_closed_and_the_others_stay(limited):
    with limited(MAX_CONNECTIONS_PER_IP, 2) as server, ExitStack() as stack:
        first, second = (stack.enter_context(WireClient(server.bootstrap)) for _ in range(2))
        assert is_served(first) and is_served(second)
        with WireClient(server.bootstrap) as third:
            assert third.is_closed_by_peer()
        assert is_served(first) and is_served(second)
        wait_for(lambda: "(max.connections.per.ip)" in server.log.read_text(), 5, "the line about it")
        assert "more than 2 connections" in server.log.read_text()


@pytest.mark.parametrize("overrides", ["127.0.0.1:1", "10.0.0.1:5, localhost:1"])
def test_an_address_may_have_a_limit_of_its_own(limited, overrides):
    with limited(MAX_CONNECTIONS_PER_IP_OVERRIDES, overrides) as server, WireClient(server.bootstrap) as first:
        assert is_served(first)
        with WireClient(server.bootstrap) as second:
            assert second.is_closed_by_peer()
        assert is_served(first)


def test_an_override_may_be_more_than_all_others_have(tmp_path):
    settings = {MAX_CONNECTIONS_PER_IP.name: "0", MAX_CONNECTIONS_PER_IP_OVERRIDES.name: "127.0.0.1:1"}
    with RunningServer(tmp_path, settings) as server, WireClient(server.bootstrap) as client:
        assert is_served(client)


def test_overrides_are_by_address():
    parsed = parse_overrides(" 127.0.0.1:200,::1:5 ,[2001:db8::1]:6, ::ffff:10.0.0.1:7,")
    assert parsed == {"127.0.0.1": 200, "::1": 5, "2001:db8::1": 6, "10.0.0.1": 7}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("127.0.0.1", "'127.0.0.1' is not HOST:COUNT"),
        (":5", "':5' is not HOST:COUNT"),
        ("127.0.0.1:", "is not HOST:COUNT"),
        ("127.0.0.1:-1", "is not HOST:COUNT"),
        ("127.0.0.1:2147483648", "from 0 to 2147483647"),
        ("127.0.0.1:1,127.0.0.1:2", "127.0.0.1 has two values"),
        ("no.such.host.invalid:1", "the host 'no.such.host.invalid' is unknown"),
        ("..:1", "the host '..' is unknown"),
    ],
)
def test_an_invalid_override_is_named_in_the_error(text, said):
    with pytest.raises(ConfigError) as problem:
        parse_overrides(text)
    assert str(problem.value).startswith(f"max.connections.per.ip.overrides={text}: ")
    assert said in str(problem.value)


def test_at_the_limit_of_all_connections_a_client_waits_until_another_has_gone(limited):
    with limited(MAX_CONNECTIONS, 2) as server, ExitStack() as stack:
        first, second = (stack.enter_context(WireClient(server.bootstrap)) for _ in range(2))
        assert is_served(first) and is_served(second)
        waiting = stack.enter_context(WireClient(server.bootstrap))
        sent = waiting.send(ApiVersionsRequest(), 0)
        wait_for(lambda: "accepting paused" in server.log.read_text(), 5, "the pause")
        assert not select.select([waiting.socket], [], [], 0)[0]
        assert is_served(first) and is_served(second)
        first.socket.close()
        assert waiting.receive(sent).error_code == 0
        waiting.socket.close()
        second.socket.close()
        wait_for(lambda: "accepting resumed" in server.log.read_text(), 5, "the end of the pause")
    lines = [line for line in server.log.read_text().splitlines() if "accepting" in line]
    assert len(lines) == 2
    assert "there are 2 connections (max.connections)" in lines[0]


FILES_OF_THE_LOGS: Final = 64
"""Of 256 files, so many are theirs; they have few of them open here, and the numbers of those say nothing."""


def open_files(server: RunningServer) -> int:
    return len(os.listdir(f"/proc/{server.pid}/fd"))


def connect_from(server: RunningServer, address: str) -> socket.socket:
    """A connection from an address of loopback."""
    host, _, port = server.bootstrap.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=10, source_address=(address, 0))


def client_from(server: RunningServer, address: str) -> WireClient:
    client = WireClient(server.bootstrap)
    client.socket.close()
    client.socket = connect_from(server, address)
    return client


def test_a_flood_of_idle_connections_leaves_the_others_what_they_need(tmp_path):
    """256 open files, 400 connections of one address that say nothing: half of the files stay free for the log."""
    with RunningServer(tmp_path, open_files_max=(256, 256)) as server, WireClient(server.bootstrap) as client:
        client.create_topic("orders")
        member_id = client.join_alone("g")
        before = open_files(server)
        with ExitStack() as stack:
            for _ in range(400):
                stack.enter_context(connect_from(server, "127.0.0.66"))
            wait_for(lambda: "the last tenth" in server.log.read_text(), 10, "the connections that are closed")
            assert open_files(server) <= 129 + FILES_OF_THE_LOGS
            for number in range(20):
                client.create_topic(f"orders-{number}", 2)
                assert client.produce(f"orders-{number}", build_batch([(None, b"x", ())])).error_code == 0
                assert commit_error(client, "g", member_id) == 0
            for _ in range(3):
                # What a client needs of an address that had no connection.
                assert is_served(stack.enter_context(client_from(server, "127.0.0.7")))
        with WireClient(server.bootstrap) as another:
            assert is_served(another)
        wait_for(lambda: open_files(server) < before + 2 * 40, 10, "the descriptors to come back")
    assert "Traceback" not in server.log.read_text()


def test_floods_of_many_addresses_make_accepting_pause(tmp_path):
    with RunningServer(tmp_path, open_files_max=(256, 256)) as server, ExitStack() as stack:
        for number in range(400):
            stack.enter_context(connect_from(server, f"127.0.{number // 100 + 1}.{number % 100 + 1}"))
        wait_for(lambda: "accepting paused" in server.log.read_text(), 10, "the pause")
        assert open_files(server) <= 129 + FILES_OF_THE_LOGS
        with WireClient(server.bootstrap) as late:
            sent = late.send(ApiVersionsRequest(), 0)
            stack.close()
            assert late.receive(sent).error_code == 0, "it waited in the queue of the system"
        wait_for(lambda: "accepting resumed" in server.log.read_text(), 10, "the end of the pause")
    said = [line for line in server.log.read_text().splitlines() if "accepting" in line]
    assert len(said) == 2


def test_more_logs_than_descriptors_are_served(tmp_path):
    """64 open files, 60 topics: files that nobody uses are closed, and opened again."""
    with RunningServer(tmp_path, open_files_max=(64, 64)) as server, WireClient(server.bootstrap) as client:
        member_id = client.join_alone("g")
        client.create_topic("orders")
        for round_ in range(2):
            for number in range(60):
                if round_ == 0:
                    client.create_topic(f"orders-{number}")
                batch = build_batch([(None, f"{number} {round_}".encode(), ())])
                assert client.produce(f"orders-{number}", batch).error_code == ErrorCode.NONE
                assert commit_error(client, "g", member_id) == ErrorCode.NONE
        for number in range(60):
            (topic,) = client.request(fetch_request(f"orders-{number}"), 11).responses
            found = [record.value for record in parse_records(topic.partitions[0].records)]
            assert found == [f"{number} 0".encode(), f"{number} 1".encode()]
        assert open_files(server) < 40  # eight of them of logs
        with WireClient(server.bootstrap) as another:
            assert is_served(another)
    logged = server.log.read_text()
    assert "Traceback" not in logged
    assert "without a file descriptor" not in logged


def commit_error(client: WireClient, group_id: str, member_id: str) -> int:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata="")
    request = OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=1,
        member_id=member_id,
        topics=[OffsetCommitRequestTopic(name="orders", partitions=[partition])],
    )
    (topic,) = client.request(request, 7).topics
    error_code: int = topic.partitions[0].error_code
    return error_code


def test_a_rate_of_new_connections_delays_those_above_it(limited):
    """20 at once, and 20 a second from then on: the last of 30 comes after half a second."""
    with limited(MAX_CONNECTION_CREATION_RATE, 20) as server, ExitStack() as stack:
        began = time.monotonic()
        clients = [stack.enter_context(WireClient(server.bootstrap)) for _ in range(30)]
        sent = [client.send(ApiVersionsRequest(), 0) for client in clients]
        for client, request in zip(clients, sent, strict=True):
            assert client.receive(request).error_code == 0
        assert 0.4 < time.monotonic() - began < 10


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


def test_a_running_server_takes_no_host_names():
    assert parse_overrides("127.0.0.1:1,[::1]:2", names_allowed=False) == {"127.0.0.1": 1, "::1": 2}
    with pytest.raises(ConfigError, match="'localhost' is no IP address; names are only allowed at the start"):
        parse_overrides("localhost:1", names_allowed=False)
