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
from coordinator.config.ssl_keys import SSL_CLIENT_AUTH
from coordinator.front.limits import ConnectionLimits
from coordinator.front.listener import parse_listeners
from coordinator.front.listeners import Listeners
from coordinator.front.rejection_log import RejectionLog
from coordinator.groups.sessions import SessionTable
from coordinator.listen_address import Address, ListenError, parse_addresses
from coordinator.security.protocols import SecurityProtocol
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
    none: Any = None
    return Listeners(
        config,
        parse_listeners(config),
        none,
        ConnectionLimits(config, none),
        SessionTable(TimerWheel(0), 0),
        lambda: 0,
        rejections=RejectionLog(none, lambda: 0),
    )


def test_at_least_one_listener_is_needed():
    with pytest.raises(ConfigError, match="at least one listener"):
        listeners(listeners=" ")


def test_advertised_listeners_must_be_listeners():
    with pytest.raises(ConfigError, match="there is no listener OUTSIDE"):
        listeners(listeners="PLAINTEXT://127.0.0.1:0", advertised_listeners="OUTSIDE://example.org:9092")


MAP = "A:PLAINTEXT,B:PLAINTEXT,C:PLAINTEXT,INSIDE:PLAINTEXT"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("INTERNAL://:1", "the listener INTERNAL has no security protocol; add INTERNAL:PLAINTEXT (or SSL, SASL_PLAIN"),
        ("PLAINTEXT://:1,INTERNAL://:2", "the listener INTERNAL has no security protocol"),
        ("PLAINTEXT://:1,PLAINTEXT://:2", "each listener must have a different name, PLAINTEXT is there twice"),
        ("PLAINTEXT://:1,plaintext://:2", "each listener must have a different name, PLAINTEXT is there twice"),
        ("PLAINTEXT://127.0.0.1:7,SSL://127.0.0.2:7", "each listener must have a different port, 7 is there twice"),
        ("PLAINTEXT://localhost:7,SSL://[::1]:7", "each listener must have a different port, 7 is there twice"),
    ],
)
def test_listeners_that_contradict_each_other_are_refused(given, message):
    with pytest.raises(ConfigError) as problem:
        listeners(listeners=given)
    assert message in str(problem.value)
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A", "'A' is not NAME:PROTOCOL"),
        ("A:PLAINTEXT,", "'' is not NAME:PROTOCOL"),
        (":PLAINTEXT", "':PLAINTEXT' is not NAME:PROTOCOL"),
        ("A:TLS", "'TLS' is not one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ("A:PLAINTEXT,a:SSL", "A is named twice"),
    ],
)
def test_a_map_of_protocols_that_cannot_be_read_is_refused(text, message):
    with pytest.raises(ConfigError) as problem:
        listeners(listeners="A://:1", listener_security_protocol_map=text)
    assert message in str(problem.value)
    assert str(problem.value).startswith("listener.security.protocol.map=")


def test_a_listener_has_the_protocol_of_the_map_and_a_name_in_upper_case():
    (listener,) = parse_listeners(
        Config({"listeners": "outside.x://h:1", "listener.security.protocol.map": "Outside.X:sasl_ssl"})
    )
    assert (listener.name, listener.security_protocol) == ("OUTSIDE.X", SecurityProtocol.SASL_SSL)


def test_one_ipv4_and_one_ipv6_address_may_share_a_port():
    config = Config({"listeners": "A://127.0.0.1:7,B://[::1]:7", "listener.security.protocol.map": MAP})
    assert [listener.address.host for listener in parse_listeners(config)] == ["127.0.0.1", "::1"]
    with pytest.raises(ConfigError, match="7 is there twice"):
        listeners(listeners="A://127.0.0.1:7,B://[::1]:7,C://127.0.0.2:7", listener_security_protocol_map=MAP)


def test_clients_cannot_be_told_to_connect_to_0_0_0_0():
    with pytest.raises(ConfigError, match=r"clients cannot connect to 0\.0\.0\.0; write the address"):
        listeners(listeners="PLAINTEXT://:0", advertised_listeners="PLAINTEXT://0.0.0.0:9092")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"inter.broker.listener.name": "A"}, "inter.broker.listener.name=A: there is no such listener"),
        (
            {"inter.broker.listener.name": "PLAINTEXT", "security.inter.broker.protocol": "PLAINTEXT"},
            "only one of it and security.inter.broker.protocol may be given",
        ),
    ],
)
def test_settings_of_connections_between_brokers_are_checked(settings, message):
    with pytest.raises(ConfigError) as problem:
        parse_listeners(Config(settings))
    assert message in str(problem.value)
    assert parse_listeners(Config({"inter.broker.listener.name": "plaintext"}))


def test_a_listener_has_its_own_settings():
    inside, outside = parse_listeners(
        Config(
            {
                "listeners": "INSIDE://:1,OUTSIDE://:2",
                "listener.security.protocol.map": "INSIDE:SSL,OUTSIDE:SSL",
                "ssl.client.auth": "required",
                "listener.name.outside.ssl.client.auth": "none",
            }
        )
    )
    assert (inside.config[SSL_CLIENT_AUTH], outside.config[SSL_CLIENT_AUTH]) == ("required", "none")


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
    opened = listeners(listeners=f"A://127.0.0.1:0,B://127.0.0.1:{taken}", listener_security_protocol_map=MAP)
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
