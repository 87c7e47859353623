"""The addresses that are bound, and those that are advertised to clients."""

import asyncio
import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from _wire.messages.describe_cluster import DescribeClusterRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.metadata import MetadataRequest
from coordinator.config.key import ConfigError
from coordinator.config.settings import Config
from coordinator.groups.sessions import SessionTable
from coordinator.listen_address import Address, ListenError, parse_addresses
from coordinator.server.limits import ConnectionLimits
from coordinator.server.listeners import Listeners
from coordinator.timers.wheel import TimerWheel
from tests.servers import QUICK_GROUPS, RunningServer
from tests.wire_client import WireClient


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("PLAINTEXT://127.0.0.1:9092", [Address("PLAINTEXT", "127.0.0.1", 9092)]),
        ("PLAINTEXT://:0", [Address("PLAINTEXT", "", 0)]),
        ("INSIDE://[::1]:9092", [Address("INSIDE", "::1", 9092)]),
        (" A://a:1 , B://b:65535 ", [Address("A", "a", 1), Address("B", "b", 65535)]),
        ("", []),
    ],
)
def test_addresses_are_name_host_and_port(text, addresses):
    assert parse_addresses("listeners", text) == addresses


@pytest.mark.parametrize(
    "text",
    ["localhost:9092", "PLAINTEXT://localhost", "://a:1", "A://a:", "A://a:65536", "A://a:-1", "A://a:x", "A://a:1,b"],
)
def test_an_invalid_address_is_named_in_the_error(text):
    with pytest.raises(ConfigError, match=r"listeners=.* is not NAME://HOST:PORT"):
        parse_addresses("listeners", text)


def listeners(**settings: str) -> Listeners:
    config = Config({name.replace("_", "."): value for name, value in settings.items()})
    host: Any = None
    return Listeners(config, host, ConnectionLimits(config, host), SessionTable(TimerWheel(0), 0), lambda: 0)


def test_at_least_one_listener_is_needed():
    with pytest.raises(ConfigError, match="at least one listener"):
        listeners(listeners=" ")


def test_advertised_listeners_must_be_listeners():
    with pytest.raises(ConfigError, match="there is no listener OUTSIDE"):
        listeners(listeners="INSIDE://127.0.0.1:0", advertised_listeners="OUTSIDE://example.org:9092")


@pytest.mark.parametrize("name", ["SSL", "SASL_PLAINTEXT", "SASL_SSL", "ssl"])
def test_a_name_that_promises_encryption_or_login_is_refused(name):
    with pytest.raises(ConfigError) as problem:
        listeners(listeners=f"PLAINTEXT://127.0.0.1:0,{name}://127.0.0.1:0")
    assert f": {name} is not served, connections have neither encryption nor login" in str(problem.value)
    assert "name the listener PLAINTEXT" in str(problem.value)
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize("name", ["PLAINTEXT", "INTERNAL", "SSL_LATER"])
def test_other_names_are_free(name):
    ((found, _, _),) = asyncio.run(endpoints(listeners(listeners=f"{name}://127.0.0.1:0")))
    assert found == name


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that somebody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


def test_a_port_in_use_is_reported_in_one_line(taken):
    with pytest.raises(ListenError) as problem:
        asyncio.run(listeners(listeners=f"PLAINTEXT://127.0.0.1:{taken}").open())
    assert str(problem.value).startswith(f"cannot listen on 127.0.0.1:{taken}: ")
    assert "another process uses this port" in str(problem.value)


def test_an_unknown_host_is_reported_in_one_line():
    with pytest.raises(ListenError, match=r"^cannot listen on no\.such\.host\.invalid:0: "):
        asyncio.run(listeners(listeners="PLAINTEXT://no.such.host.invalid:0").open())


def test_a_second_address_that_fails_leaves_none_open(taken):
    opened = listeners(listeners=f"A://127.0.0.1:0,B://127.0.0.1:{taken}")
    with pytest.raises(ListenError):
        asyncio.run(opened.open())
    assert opened.endpoints == []


async def endpoints(opened: Listeners) -> list[tuple[str, str, int]]:
    await opened.open()
    opened.close()
    return [(endpoint.name, endpoint.host, endpoint.port) for endpoint in opened.endpoints]


def test_port_0_is_replaced_by_the_bound_port():
    ((name, host, port),) = asyncio.run(endpoints(listeners(listeners="PLAINTEXT://127.0.0.1:0")))
    assert (name, host) == ("PLAINTEXT", "127.0.0.1")
    assert port > 0


def test_a_wildcard_listener_advertises_the_host_name():
    ((_, host, _),) = asyncio.run(endpoints(listeners(listeners="PLAINTEXT://0.0.0.0:0")))
    assert host == socket.gethostname()


def test_an_advertised_port_0_is_replaced_by_the_bound_port():
    config = listeners(listeners="PLAINTEXT://127.0.0.1:0", advertised_listeners="PLAINTEXT://kafka.example.org:0")
    ((_, host, port),) = asyncio.run(endpoints(config))
    assert host == "kafka.example.org"
    assert port > 0


def test_clients_get_the_advertised_endpoint(tmp_path):
    settings = QUICK_GROUPS | {"advertised.listeners": "PLAINTEXT://kafka.example.org:19092"}
    with RunningServer(tmp_path, settings) as server:
        assert server.bootstrap == "kafka.example.org:19092"
        with WireClient(f"127.0.0.1:{listening_port(server.pid)}") as client:
            (broker,) = client.request(MetadataRequest(topics=[]), 9).brokers
            (described,) = client.request(DescribeClusterRequest(), 1).brokers
            old = client.request(FindCoordinatorRequest(key="g"), 2)
            (new,) = client.request(FindCoordinatorRequest(coordinator_keys=["g"]), 4).coordinators
    for each in (broker, described, old, new):
        assert (each.host, each.port) == ("kafka.example.org", 19092)


def listening_port(pid: int) -> int:
    """The TCP port that a process listens on, from /proc."""
    inodes = set()
    for descriptor in os.scandir(f"/proc/{pid}/fd"):
        link = os.readlink(descriptor.path)
        if link.startswith("socket:["):
            inodes.add(link[len("socket:[") : -1])
    with open(f"/proc/{pid}/net/tcp", encoding="ascii") as table:
        rows = [line.split() for line in table.readlines()[1:]]
    (port,) = (int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and row[9] in inodes)
    return port
