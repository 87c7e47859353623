"""A node in front of a cluster under attack: its own port, and the port through which clients reach the broker.

The cluster is a Kafka of one broker with a login and an authorizer.
"""

import json
import socket
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from coordinator.client.bootstrap import Bootstrap
from coordinator.client.security import ClientSecurity
from coordinator.config.authorizer_keys import STANDARD_AUTHORIZER
from tests.cluster.running import ONE_BROKER, RunningNode
from tests.differential.kafka import RunningKafka, free_port
from tests.hostile.target import SETTINGS, CountingClient, Target, address_of
from tests.hostile.turns import Turns
from tests.sasl_server import PLAIN_MODULE, plain_jaas
from tests.waiting import wait_for

BROKER_ID: Final = 1
START_SECONDS: Final = 60
NODES, ALICE = "nodes", "alice"
"""The user of the node, and the one of all clients."""
RULES: Final = (
    "*",
    "*a*a*a*b",
    "a*" * 400 + "b",
    "*a?a?b*a?b*",
    *("?" * length + "*b" for length in range(100, 900, 50)),
)
"""Which groups the node owns: what is long, and takes long where it is matched by backtracking."""
OF_CLUSTER: Final = {
    "listener.security.protocol.map": "CLIENTS:SASL_PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "INTERNAL",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.clients.plain.sasl.jaas.config": plain_jaas(nodes="nodes-secret", alice="alice-secret"),
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": f"User:ANONYMOUS;User:{NODES}",
    "allow.everyone.if.no.acl.found": "true",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "offset.metadata.max.bytes": "32767",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
}


def cluster_settings(ports: Mapping[str, int]) -> dict[str, str]:
    """`ports`: listener → its port."""
    clients = {name: port for name, port in ports.items() if name != "CONTROLLER"}
    return {
        **OF_CLUSTER,
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
        "advertised.listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in clients.items()),
        "controller.quorum.voters": f"1@127.0.0.1:{ports['CONTROLLER']}",
    }


def login_of(user: str) -> ClientSecurity:
    return ClientSecurity(
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'{PLAIN_MODULE} username="{user}" password="{user}-secret";',
        }
    )


class NodeTarget(Target):
    """The process that is measured is the node. Leaving its context stops it, the cluster and the victim."""

    answered_by_itself = ("Heartbeat",)
    """All other answers are those of the cluster, which works for the attacker meanwhile."""

    def __init__(
        self, folder: Path, settings: Mapping[str, str] | None = None, open_files_max: int | None = None
    ) -> None:
        """`settings` are those of the node. Raises KafkaMissing."""
        assert open_files_max is None, "only servers have a limit of open files"
        at_cluster, at_node = folder / "cluster", folder / "node"
        at_cluster.mkdir()
        at_node.mkdir()
        self._turns = Turns(at_node)
        ports = {name: free_port() for name in ("CLIENTS", "INTERNAL", "CONTROLLER")}
        self._cluster = RunningKafka(at_cluster, cluster_settings(ports), {}, port=ports["INTERNAL"])
        self._brokers = f"127.0.0.1:{ports['CLIENTS']}"
        self._folder = at_node
        self._settings = {**SETTINGS, **ONE_BROKER, "cluster.adopt": ",".join(RULES), **(settings or {})}
        self._node: RunningNode
        self._sockets: list[socket.socket] = []
        self.sent_bytes = 0

    def __enter__(self) -> Self:
        self._cluster.__enter__()
        try:
            self._node = RunningNode(
                self._folder,
                self._brokers,
                BROKER_ID,
                self._settings,
                login_of(NODES),
                log_level="warning",
                environment=self._turns.environment,
            )
            self._node.start()
            wait_for(self._leads_all, START_SECONDS, "the node to lead all partitions", every_ms=100)
            self._start_victim(self.bootstrap, self.broker_bootstrap, json.dumps(login_of(ALICE).settings))
        except BaseException:
            if self._node.is_running:
                self._node.kill()
            self._cluster.__exit__()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        for opened in self._sockets:
            opened.close()
        self._victim.kill()
        self._victim.wait()
        self._node.kill()
        self._cluster.__exit__(kind, problem, trace)
        self._turns.close()

    def _leads_all(self) -> bool:
        return self._node.partitions_led() == int(ONE_BROKER["membership.topic.num.partitions"])

    @property
    def bootstrap(self) -> str:
        return self._node.bootstrap

    @property
    def broker_bootstrap(self) -> str:
        return self._node.broker_address(BROKER_ID)

    @property
    def ports(self) -> tuple[str, str]:
        """Both."""
        return self.bootstrap, self.broker_bootstrap

    @property
    def pid(self) -> int:
        return self._node.pid

    @property
    def logged(self) -> str:
        return self._node.log.read_text(encoding="utf-8", errors="replace")

    def client(self, client_id: str = "attacker") -> CountingClient:
        """One that has logged in at the node's own port."""
        return self.client_at(self.bootstrap, client_id)

    def client_at(self, address: str, client_id: str = "attacker") -> CountingClient:
        return CountingClient(self, Bootstrap(address, login_of(ALICE)), client_id)

    def connect_to(self, address: str) -> socket.socket:
        """A bare connection, closed at the end, whose login is the attack's affair."""
        return self._connect(address_of(address))
