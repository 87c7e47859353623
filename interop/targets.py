"""The servers that the scenarios are played against: this project's, and Apache Kafka to compare with."""

import json
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, Protocol, Self
from urllib.request import Request, urlopen

from interop.scene import Server
from interop.security import SecuredListeners
from tests.cluster.running import WATCHES_ALL, FrontOfKafka
from tests.differential.kafka import VERSION, RunningKafka
from tests.servers import QUICK_GROUPS, RunningServer

OURS: Final = "ours"
KAFKA: Final = "kafka"
FRONT: Final = "front"
WATCHED: Final = "watched"
TARGETS: Final = (OURS, KAFKA)
"""Those of the page."""
ALL_TARGETS: Final = (*TARGETS, FRONT, WATCHED)
BY_NODES: Final = (FRONT, WATCHED)
AUDITED: Final = (OURS, *BY_NODES)
"""Those with an audit topic."""
NAMES: Final = {
    OURS: "this server",
    KAFKA: f"Apache Kafka {VERSION}",
    FRONT: f"a node in front of Apache Kafka {VERSION}",
    WATCHED: f"Apache Kafka {VERSION} behind a node that only watches",
}

FAULT_SECONDS: Final = 10
STOP_SECONDS: Final = 10
SETTINGS: Final = QUICK_GROUPS | {
    "group.consumer.min.session.timeout.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.min.record.lock.duration.ms": "1000",
}
KAFKA_SETTINGS: Final = SETTINGS | {
    "offsets.topic.num.partitions": "4",
    "log.cleaner.enable": "false",
    "share.coordinator.state.topic.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
NODES_PARTITIONS: Final = "membership.topic.num.partitions"
WATCHING: Final = WATCHES_ALL | {NODES_PARTITIONS: KAFKA_SETTINGS["offsets.topic.num.partitions"]}


class Target(Server, AbstractContextManager["Target"], Protocol):
    """A server as a process of its own; leaving its context ends it."""


def target(name: str, folder: Path, secured: SecuredListeners | None = None) -> Target:
    """A server with its data in a folder, not started yet, and with secured listeners if they are given.

    Raises:
        KafkaMissing: Java or Kafka's jars are not there; the message is one line.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if name in BY_NODES:
        assert secured is None, "secured listeners are played against single servers"
        return FrontOfKafka(folder, KAFKA_SETTINGS, SETTINGS if name == FRONT else WATCHING)
    if name == KAFKA:
        if secured is None:
            return RunningKafka(folder, KAFKA_SETTINGS, threads={})
        settings = KAFKA_SETTINGS | secured.settings(is_kafka=True)
        port = int(secured.bootstrap.rpartition(":")[2])
        return RunningKafka(folder, settings, threads={}, port=port, jvm_options=secured.jvm_options)
    return RunningServer(folder, SETTINGS | ({} if secured is None else secured.settings(is_kafka=False)))


class TestingServer:
    """A `coordinator testing`: this project's server with faults. It ends with the process that started it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._log = folder / "testing.log"
        self.bootstrap = ""
        self._control = ""

    def __enter__(self) -> Self:
        settings = [f"--set={name}={value}" for name, value in SETTINGS.items()]
        command = [sys.executable, "-m", "coordinator.cli", "testing", "--until-stdin-closes", *settings]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, self._log.read_text(encoding="utf-8")
        ready = json.loads(line)
        self.bootstrap, self._control = ready["bootstrap"], f"http://{ready['admin']}/testing/faults"
        return self

    def __exit__(self, *problem: object) -> None:
        self.kill()

    def kill(self) -> int:
        """SIGKILL; the exit status."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        return self._process.wait(STOP_SECONDS)

    def start(self) -> None:
        raise AssertionError("it keeps nothing on disk, so it is not started again")

    def inject(self, do: str, **arguments: Any) -> int:
        """Inject a fault (docs/testing.md); its number."""
        return int(self._ask("POST", "", {"do": do, **arguments})["id"])

    def hits(self, fault: int) -> int:
        return int(self._ask("GET", f"/{fault}")["hits"])

    def remove(self, fault: int) -> None:
        self._ask("DELETE", f"/{fault}")

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = Request(self._control + path, data, {"Content-Type": "application/json"}, method=method)
        with urlopen(request, timeout=FAULT_SECONDS) as answer:
            found: dict[str, Any] = json.load(answer)
        return found
