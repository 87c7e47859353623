"""Real nodes in front of a real Kafka, as processes of their own."""

import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

from coordinator.client.bootstrap import PLAINTEXT_CLIENT, Bootstrap
from coordinator.client.group_owners import describe_ownership
from coordinator.client.security import ClientSecurity
from coordinator.client.wire import ClientError
from tests.differential.kafka import VERSION, RunningKafka, free_port
from tests.servers import QUICK_GROUPS
from tests.waiting import wait_for

START_SECONDS: Final = 60
STOP_SECONDS: Final = 20
PORTS: Final = (20_000, 32_000)
BROKER_PORTS: Final = 20
"""Ports for brokers that each node has, from its base on."""
ONE_BROKER: Final = {
    "membership.topic.num.partitions": "8",
    "membership.topic.replication.factor": "1",
    "membership.topic.min.isr": "1",
}
"""Settings of nodes in front of a single broker."""
SETTINGS: Final = {name: value for name, value in QUICK_GROUPS.items() if name != "group.audit.linger.ms"}


class RunningNode:
    """One node. It keeps nothing on disk: it may be killed and started again at the same ports."""

    def __init__(
        self,
        folder: Path,
        cluster: str,
        node_id: int,
        settings: Mapping[str, str],
        security: ClientSecurity = PLAINTEXT_CLIENT,
        operator: ClientSecurity | None = None,
        log_level: str = "info",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`security` is how the node connects to the brokers, `operator` how it is asked for its partitions.

        `environment` is added to that of the test.

        The listener has the security protocol by which `operator` connects to it.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self._log_level = log_level
        self._environment = environment or {}
        self._security, self._operator = security, operator or security
        self._command_config = folder / f"node-{node_id}.properties"
        self.node_id = node_id
        self.log = folder / f"node-{node_id}.log"
        self._ready = folder / f"node-{node_id}.json"
        self._cluster = cluster
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self.bootstrap = f"127.0.0.1:{free_port()}"
        self._broker_port_base = free_ports(BROKER_PORTS)

    def start(self) -> None:
        """Start it, and wait until it serves its ports; it may lead nothing yet."""
        self._ready.unlink(missing_ok=True)
        settings = {
            "node.id": str(self.node_id),
            "cluster.broker.port.base": str(self._broker_port_base),
            **self._settings,
        }
        if self._security.settings:
            lines = (f"{name}={value}\n" for name, value in self._security.settings.items())
            self._command_config.write_text("".join(lines), encoding="utf-8")
            settings["cluster.command.config"] = str(self._command_config)
        protocol = self._operator.settings.get("security.protocol", "PLAINTEXT")
        settings["listeners"] = f"{protocol}://{self.bootstrap}"
        arguments = ["serve", "--cluster", self._cluster, "--ready-file", str(self._ready)]
        arguments.append(f"--log-level={self._log_level}")
        arguments += [f"--set={name}={value}" for name, value in settings.items()]
        with self.log.open("ab") as log:
            command = [sys.executable, "-m", "coordinator.cli", *arguments]
            process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, **self._environment}
            )
        self._process = process
        wait_for(lambda: self._ready.exists() or process.poll() is not None, START_SECONDS, "the node to be ready")
        assert process.poll() is None, self.log.read_text(encoding="utf-8")

    def broker_address(self, broker_id: int) -> str:
        """HOST:PORT by which the node lets clients reach a broker."""
        return f"127.0.0.1:{self._broker_port_base + broker_id}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def send(self, number: signal.Signals) -> None:
        assert self._process is not None
        os.kill(self._process.pid, number)

    def kill(self) -> int:
        """SIGKILL; the exit status."""
        return self._end(signal.SIGKILL)

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        return self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> int:
        assert self._process is not None
        process, self._process = self._process, None
        process.send_signal(number)
        return process.wait(STOP_SECONDS)

    def partitions_led(self) -> int:
        """How many partitions the node serves; -1 if it does not answer."""
        try:
            ownership = describe_ownership(Bootstrap(self.bootstrap, self._operator))
        except ClientError:
            return -1
        for node in ownership.nodes:
            if node.node_id == self.node_id:
                return len(node.partitions) - len(node.unserved)
        return -1


class RunningNodes:
    """Several nodes in front of one cluster. Leaving its context stops them."""

    def __init__(
        self,
        folder: Path,
        cluster: str,
        count: int = 1,
        settings: Mapping[str, str] | None = None,
        security: ClientSecurity = PLAINTEXT_CLIENT,
        operator: ClientSecurity | None = None,
        log_level: str = "info",
    ) -> None:
        self._settings = {**SETTINGS, **ONE_BROKER, "cluster.adopt": "*", **(settings or {})}
        self.nodes = [
            RunningNode(folder, cluster, number, self._settings, security, operator, log_level)
            for number in range(1, count + 1)
        ]

    @property
    def bootstrap(self) -> str:
        return ",".join(node.bootstrap for node in self.nodes)

    def __enter__(self) -> Self:
        try:
            for node in self.nodes:
                node.start()
            self.wait_until_served()
        except BaseException:
            self.__exit__()
            raise
        return self

    def wait_until_served(self) -> None:
        """Wait until the nodes that run lead all partitions together."""
        partitions = int(self._settings["membership.topic.num.partitions"])

        def all_led() -> bool:
            return sum(max(node.partitions_led(), 0) for node in self.nodes if node.is_running) == partitions

        wait_for(all_led, START_SECONDS, "all partitions to be served", every_ms=100)

    def __exit__(self, *problem: object) -> None:
        for node in self.nodes:
            if node.is_running:
                node.send(signal.SIGCONT)
                node.kill()


class FrontOfKafka:
    """A Kafka with one node in front of it: a server that can be killed and started again, which is the node."""

    def __init__(
        self, folder: Path, kafka_settings: Mapping[str, str], settings: Mapping[str, str], version: str = VERSION
    ) -> None:
        self._folder = folder
        self._kafka = RunningKafka(folder / "kafka", kafka_settings, threads={}, version=version)
        self._settings = settings
        self._nodes: RunningNodes | None = None
        self.bootstrap = ""

    def __enter__(self) -> Self:
        (self._folder / "kafka").mkdir(parents=True, exist_ok=True)
        self._kafka.__enter__()
        try:
            nodes = self._nodes = RunningNodes(self._folder, self._kafka.bootstrap, 1, self._settings)
            nodes.__enter__()
        except BaseException:
            self._kafka.__exit__(None, None, None)
            raise
        self.bootstrap = nodes.bootstrap
        return self

    def __exit__(self, *problem: object) -> None:
        if self._nodes is not None:
            self._nodes.__exit__(*problem)
        self._kafka.__exit__(*problem)

    def kill(self) -> int:
        assert self._nodes is not None
        return self._nodes.nodes[0].kill()

    def start(self) -> None:
        assert self._nodes is not None
        self._nodes.nodes[0].start()
        self._nodes.wait_until_served()


WATCHES_ALL: Final = {"cluster.adopt": "", "cluster.watch": "*"}
"""Settings of a node that coordinates no group, and watches each."""


class WatchedKafka(FrontOfKafka):
    """A Kafka behind a node that watches its groups. Killed, stopped and started is the Kafka, as it coordinates."""

    def __init__(
        self, folder: Path, kafka_settings: Mapping[str, str], settings: Mapping[str, str], version: str = VERSION
    ) -> None:
        super().__init__(folder, kafka_settings, {**settings, **WATCHES_ALL}, version)

    @property
    def pid(self) -> int:
        return self._kafka.pid

    @property
    def broker(self) -> str:
        """The address of the Kafka itself."""
        return self._kafka.bootstrap

    def kill(self) -> int:
        return self._kafka.kill()

    def stop(self) -> int:
        return self._kafka.stop()

    def start(self) -> None:
        self._kafka.start()


def free_ports(count: int) -> int:
    """The first of so many ports that are free at this time, below those that systems give to outgoing connections."""
    while True:
        base = random.randrange(*PORTS)
        taken: list[socket.socket] = []
        try:
            for port in range(base, base + count):
                sock = socket.socket()
                taken.append(sock)
                sock.bind(("127.0.0.1", port))
            return base
        except OSError:
            continue
        finally:
            for sock in taken:
                sock.close()
