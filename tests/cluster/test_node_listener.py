"""The one listener of a node in front of a cluster."""

import asyncio
import time
from pathlib import Path

import pytest

from coordinator.cluster.front import without_login
from coordinator.cluster.node import ClusterNode
from coordinator.config.key import ConfigError
from coordinator.config.settings import Config
from coordinator.security.protocols import SecurityProtocol
from tests.certificates import tls_settings


def make(settings: dict[str, str]) -> ClusterNode:
    async def made() -> ClusterNode:
        return ClusterNode(Config({"cluster.bootstrap.servers": "127.0.0.1:9092"} | settings))

    return asyncio.run(made())


@pytest.mark.parametrize("protocol", ["SSL", "SASL_SSL"])
def test_a_listener_may_have_tls_and_a_name_of_its_own(protocol: str, tmp_path: Path):
    settings = tls_settings(tmp_path) | {
        "listeners": "CLIENTS://127.0.0.1:9093",
        "listener.security.protocol.map": f"CLIENTS:{protocol}",
        "advertised.listeners": "CLIENTS://node.example:9094",
    }
    node = make(settings)
    assert node.address.address == "node.example:9094"
    assert without_login(node._listener).security_protocol is SecurityProtocol.SSL, "logins are passed on"


@pytest.mark.parametrize(
    ("listeners", "problem"),
    [
        ("SSL://127.0.0.1:9093,PLAINTEXT://127.0.0.1:9094", "has one listener"),
        ("SSL://127.0.0.1:0", "needs a port that is not 0"),
    ],
)
def test_other_listeners_are_refused_with_a_reason(listeners: str, problem: str, tmp_path: Path):
    with pytest.raises(ConfigError, match=problem):
        make(tls_settings(tmp_path) | {"listeners": listeners})


def test_other_nodes_are_asked_over_the_tls_that_the_brokers_need_not_have(tmp_path: Path):
    path = tmp_path / "node.properties"
    path.write_text("security.protocol=PLAINTEXT\n", encoding="utf-8")
    settings = {"listeners": "SSL://127.0.0.1:9093", "cluster.command.config": str(path)}
    node = make(tls_settings(tmp_path) | settings)
    assert node._peers._security.tls_context is not None
    assert node._security.own.tls_context is None


def test_the_lease_of_a_node_counts_while_its_machine_is_suspended():
    node = make({})
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    assert node._host.clock.clock_id == clock  # type: ignore[attr-defined]
    assert node.links.lease._now_ms == node.loop.now_ms == node._host.clock.now_ms
