"""A real Apache Kafka as a process: one node, plain TCP, with jars that Maven brings and the cache keeps."""

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from coordinator.pipeline.java import JavaMissing, require_java
from tests.waiting import wait_for

VERSION: Final = "4.3.1"
POM: Final = Path(__file__).parent / "pom.xml"
START_SECONDS: Final = 60
STOP_SECONDS: Final = 20

ONE_AFTER_THE_OTHER: Final = {
    "num.network.threads": "1",
    "num.io.threads": "1",
    "group.coordinator.append.linger.ms": "0",
}
"""Requests of different connections are looked at in the order they came, and answered as soon as they are decided."""


class KafkaMissing(RuntimeError):
    """What a Kafka needs is not there; the message is one line and says what to install."""


def kafka_jars(version: str = VERSION) -> Path:
    """The folder with the jars, those of the tools too; at first Maven fetches them (60 MB). Raises KafkaMissing."""
    return fetched_jars(version, f"kafka-tools-{version}.jar", POM, f"-Dkafka.version={version}")


def fetched_jars(name: str, a_jar: str, pom: Path, *options: str) -> Path:
    """A folder of the cache with the jars that a POM names; Maven fetches them if `a_jar` is not there."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    folder = cache / "kafka-jars" / name
    if any(folder.glob(a_jar)):
        return folder
    maven = shutil.which("mvn")
    if maven is None:
        raise KafkaMissing(
            "Maven is missing: install it (Debian and Ubuntu: apt-get install maven; macOS: brew install maven)"
        )
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={folder}", *options]
    fetched = subprocess.run([maven, "-q", "-B", "-f", str(pom), *goal], stdout=subprocess.PIPE, text=True, check=False)
    if fetched.returncode:
        last = fetched.stdout.strip().splitlines()[-1:] or ["no output"]
        raise KafkaMissing(f"Maven could not fetch Kafka {name}: {last[0]}")
    return folder


class RunningKafka:
    """A Kafka on free ports with data of its own. Leaving its context stops it."""

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, str],
        threads: Mapping[str, str] = ONE_AFTER_THE_OTHER,
        *,
        is_formatted: bool = False,
        port: int | None = None,
        jvm_options: Sequence[str] = (),
        version: str = VERSION,
        jars_before: Sequence[Path] = (),
    ) -> None:
        """With no `threads`, Kafka has its own defaults. Raises KafkaMissing when Java or the jars are not there.

        `is_formatted`: the data are there already. `port` is that of `bootstrap`, if the listeners are in `settings`.
        """
        self._is_formatted = is_formatted
        self._port = port
        self._jvm_options = jvm_options
        try:
            self._java = require_java()
        except JavaMissing as missing:
            raise KafkaMissing(str(missing)) from None
        self._class_path = ":".join(f"{each}/*" for each in (*jars_before, kafka_jars(version)))
        self._folder = folder
        self._settings = {**threads, **settings}
        self._process: subprocess.Popen[bytes] | None = None
        self.log = folder / "kafka.log"
        self.bootstrap = ""

    def __enter__(self) -> Self:
        port, controller_port = self._port or free_port(), free_port()
        self.bootstrap = f"127.0.0.1:{port}"
        properties = self._properties_file
        properties.write_text(self._properties(port, controller_port), encoding="utf-8")
        storage = ["kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", str(properties)]
        if not self._is_formatted:
            subprocess.run(
                self._command("-Xmx256m", *storage), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True
            )
        self.start()
        return self

    def __exit__(self, *problem: object) -> None:
        if self._process is not None:
            self.kill()

    def start(self) -> None:
        """Start on what is in the folder, and wait until it listens."""
        with self.log.open("ab") as log:
            arguments = ["-Xmx1g", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", *self._jvm_options, "kafka.Kafka"]
            command = self._command(*arguments, str(self._properties_file))
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        self._process = process
        port = int(self.bootstrap.rpartition(":")[2])
        wait_for(lambda: _listens(port) or process.poll() is not None, START_SECONDS, "Kafka to listen", every_ms=200)
        assert process.poll() is None, self.log.read_text(encoding="utf-8")

    def kill(self) -> int:
        """SIGKILL; the exit status."""
        return self._end(signal.SIGKILL)

    def stop(self) -> int:
        """SIGTERM, which lets it flush its logs; the exit status."""
        return self._end(signal.SIGTERM)

    def send(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def _end(self, number: signal.Signals) -> int:
        assert self._process is not None
        process, self._process = self._process, None
        process.send_signal(number)
        return process.wait(STOP_SECONDS)

    @property
    def _properties_file(self) -> Path:
        return self._folder / "server.properties"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def _command(self, *arguments: str) -> list[str]:
        options = [argument for argument in arguments if argument.startswith("-X") or argument.startswith("-D")]
        rest = [argument for argument in arguments if argument not in options]
        return [str(self._java), *options, "-cp", self._class_path, *rest]

    def _properties(self, port: int, controller_port: int) -> str:
        node = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(self._folder / "data"),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
        }
        return "".join(f"{name}={value}\n" for name, value in (node | self._settings).items())


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
