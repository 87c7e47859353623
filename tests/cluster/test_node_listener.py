"""The one listener of a node in front of a cluster."""

import asyncio
from pathlib import Path

import pytest

from coordinator.cluster.node import ClusterNode
from coordinator.config.key import ConfigError
from coordinator.config.settings import Config
from tests.certificates import tls_settings


@pytest.mark.parametrize("protocol", ["SSL", "SASL_SSL"])
def test_a_listener_with_tls_is_refused_with_a_reason(protocol: str, tmp_path: Path):
    cluster = {"cluster.bootstrap.servers": "127.0.0.1:9092", "listeners": f"{protocol}://127.0.0.1:9093"}

    async def make() -> None:
        ClusterNode(Config(tls_settings(tmp_path) | cluster))

    with pytest.raises(ConfigError, match="cannot have TLS yet"):
        asyncio.run(make())
