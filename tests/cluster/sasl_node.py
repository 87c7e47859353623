"""A node in front of a server that needs a login, in a thread of the test: what a server checks, it checks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from coordinator.cluster.node import ClusterNode
from coordinator.config.settings import Config
from tests.cluster.running import ONE_BROKER, free_ports
from tests.sasl_server import PLAIN_MODULE, SaslServer

BROKER_ID: Final = 1
BROKER_PORTS: Final = 5
PORTS: Final = {"node": "NODE", "broker": "BROKER"}
"""The ports of a node: its own, and the one through which clients reach the broker."""


class SaslNode(SaslServer):
    """Its addresses are also those of PORTS; the node logs in as alice."""

    front_node: ClusterNode

    def __init__(
        self, folder: Path, settings: Mapping[str, str], listeners: Mapping[str, str], of_node: Mapping[str, str]
    ) -> None:
        super().__init__(folder, {"node.id": str(BROKER_ID), **settings}, listeners)
        self._folder = folder
        self._of_node = of_node

    async def _begin(self) -> None:
        await super()._begin()
        login = self._folder / "node.properties"
        login.write_text(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
            f'sasl.jaas.config={PLAIN_MODULE} username="alice" password="alice-secret";\n',
            encoding="utf-8",
        )
        base = free_ports(BROKER_PORTS)
        self.front_node = ClusterNode(
            Config(
                {
                    **ONE_BROKER,
                    **self._of_node,
                    "listeners": f"SASL_PLAINTEXT://127.0.0.1:{base + BROKER_PORTS - 1}",
                    "cluster.bootstrap.servers": self.bootstrap,
                    "cluster.command.config": str(login),
                    "cluster.broker.port.base": str(base),
                    "cluster.adopt": "*",
                }
            )
        )
        await self.front_node.start()
        self.addresses[PORTS["node"]] = self.front_node.bootstrap
        self.addresses[PORTS["broker"]] = f"127.0.0.1:{base + BROKER_ID}"

    async def _end(self) -> None:
        await self.front_node.stop()
        await super()._end()
