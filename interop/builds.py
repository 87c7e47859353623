"""Builds the drivers of the matrix into `.interop/`, each in a folder of its own and with locked versions.

A driver is built again when its sources or its lock file change.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from interop.driver import CLIENTS, Driver, DriverMissing

ROOT: Final = Path(__file__).resolve().parent.parent
BUILT: Final = ROOT / ".interop"
STAMP: Final = ".built"
CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"
SHARE: Final = "share"
"""The group protocols (KIP-848, KIP-932)."""
BUILD_SECONDS: Final = 1_200
JAVA_OPTIONS: Final = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xmx256m",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
)


@dataclass(frozen=True)
class BuiltDriver:
    """How a driver is started."""

    command: list[str]
    environment: Mapping[str, str] = field(default_factory=dict)

    def start(self) -> Driver:
        return Driver(self.command, self.environment)


@dataclass(frozen=True)
class Toolchain:
    """How drivers of a language are built and started. `build` may find what an earlier build left."""

    tool: str
    install: str
    build: Callable[["Client", Path], None]
    started: Callable[["Client", Path], BuiltDriver]


@dataclass(frozen=True)
class Client:
    """A client library in one version. `sources` are folders of interop/clients; the first has the lock file.

    `slow_build`: the build takes most of a minute or more; with --ci the client is played only if it is built already.
    `protocol` is the group protocol of its members. `driver` names the client whose driver is used, if another one's.
    """

    name: str
    toolchain: Toolchain
    sources: tuple[str, ...]
    version: str = ""
    slow_build: bool = False
    protocol: str = CLASSIC
    driver: str = ""

    @property
    def folder(self) -> Path:
        """Where the driver is built."""
        return BUILT / (self.driver or self.name)

    @property
    def lock(self) -> Path:
        return CLIENTS / self.sources[0]

    def source(self, name: str) -> Path:
        """The file with this name, in the first of its source folders that has one."""
        return next(path for source in self.sources if (path := CLIENTS / source / name).exists())

    def built(self) -> BuiltDriver:
        """Build the driver, unless it is there already.

        Raises:
            DriverMissing: its toolchain is missing, or the build failed; the message is one line.
        """
        if shutil.which(self.toolchain.tool) is None:
            raise DriverMissing(f"{self.toolchain.tool} is missing: {self.toolchain.install}")
        folder = self.folder
        if not self.is_built():
            print(f"building the driver of {self.name}", file=sys.stderr)
            folder.mkdir(parents=True, exist_ok=True)
            stamp = folder / STAMP
            stamp.unlink(missing_ok=True)
            self.toolchain.build(self, folder)
            stamp.write_text(self._digest(), encoding="ascii")
        return self.toolchain.started(self, folder)

    def is_built(self) -> bool:
        """Whether a driver of these sources and versions is there."""
        stamp = self.folder / STAMP
        return stamp.exists() and stamp.read_text(encoding="ascii") == self._digest()

    def _digest(self) -> str:
        digest = hashlib.sha256(self.version.encode())
        for path in _files(self.sources):
            digest.update(path.name.encode() + path.read_bytes())
        return digest.hexdigest()


def _files(sources: tuple[str, ...]) -> Iterator[Path]:
    for source in sources:
        yield from sorted(path for path in (CLIENTS / source).rglob("*") if path.is_file() and path.suffix != ".pyc")


def _run(client: Client, command: list[str], folder: Path, environment: Mapping[str, str] | None = None) -> None:
    """Run a step of a build; its output is kept in the client's folder."""
    log = BUILT / f"{client.name}.log"
    with log.open("wb") as output:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=BUILD_SECONDS,
            check=False,
        )
    if done.returncode:
        raise DriverMissing(f"the build of {client.name} failed: see {log.relative_to(ROOT)}")


def _build_python(client: Client, folder: Path) -> None:
    _run(client, [sys.executable, "-m", "venv", "--clear", str(folder / "venv")], ROOT)
    install = ["-m", "pip", "install", "--disable-pip-version-check", "--no-deps", "-r"]
    _run(client, [str(folder / "venv/bin/python"), *install, str(client.lock / "requirements.txt")], ROOT)


def _start_python(client: Client, folder: Path) -> BuiltDriver:
    return BuiltDriver([str(folder / "venv/bin/python"), str(client.source("driver.py"))])


def _build_go(client: Client, folder: Path) -> None:
    versions = f"-modfile={client.lock / 'go.mod'}"
    # A driver may leave out what an older version of its library does not have.
    tags = f"-tags={client.folder.name.replace('-', '_').replace('.', '_')}"
    package = client.source("main.go").parent
    _run(client, ["go", "build", "-p", "2", tags, versions, "-o", str(folder / "driver"), "."], package)


def _start_go(_: Client, folder: Path) -> BuiltDriver:
    return BuiltDriver([str(folder / "driver")])


def _build_node(client: Client, folder: Path) -> None:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(client.lock / name, folder / name)
    # Where librdkafka has to be compiled, it is linked with the system's libraries: nothing else is downloaded.
    _run(client, ["npm", "ci", "--no-audit", "--no-fund"], folder, {"CKJS_LINKING": "dynamic"})


def _start_node(client: Client, folder: Path) -> BuiltDriver:
    return BuiltDriver(["node", str(client.source("driver.js"))], {"INTEROP_BUILT": str(folder)})


def _build_rust(client: Client, folder: Path) -> None:
    """A lock file of Cargo names the index of its registry; the one in the repository has a placeholder for it."""
    package = folder / "package"
    shutil.copytree(client.lock, package, dirs_exist_ok=True)
    lock = package / "Cargo.lock"
    _run(client, ["cargo", "generate-lockfile"], package)
    index = next(line for line in lock.read_text(encoding="utf-8").splitlines() if line.startswith("source = "))
    versions = (client.lock / "Cargo.lock.in").read_text(encoding="utf-8")
    lock.write_text(versions.replace('source = "@index@"', index), encoding="utf-8")
    _run(client, ["cargo", "build", "--release", "--locked", "-j", "2"], package, {"CARGO_TARGET_DIR": str(folder)})


def _start_rust(client: Client, folder: Path) -> BuiltDriver:
    return BuiltDriver([str(folder / "release" / f"interop-{folder.name}")])


def _build_java(client: Client, folder: Path) -> None:
    jars = folder / "jars"
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={jars}", f"-Dkafka.version={client.version}"]
    _run(client, ["mvn", "-q", "-B", "-f", str(client.lock / "pom.xml"), *goal], folder)
    classes = str(folder / "classes")
    _run(client, ["javac", "-cp", f"{jars}/*", "-d", classes, str(client.lock / "Driver.java")], folder)


def _start_java(_: Client, folder: Path) -> BuiltDriver:
    class_path = f"{folder / 'classes'}{os.pathsep}{folder / 'jars'}/*"
    return BuiltDriver(["java", *JAVA_OPTIONS, "-cp", class_path, "Driver"])


def _build_nothing(_: Client, __: Path) -> None:
    """What is installed is its version."""


def _start_script(client: Client, _: Path) -> BuiltDriver:
    return BuiltDriver([sys.executable, str(client.lock / "driver.py")])


_APT: Final = "Debian and Ubuntu: apt-get install"
_PYTHON: Final = Toolchain(sys.executable, "install Python 3.11 or newer", _build_python, _start_python)
_GO: Final = Toolchain("go", "install Go 1.26 or newer", _build_go, _start_go)
_NODE: Final = Toolchain("npm", f"install Node.js 20 or newer ({_APT} nodejs npm)", _build_node, _start_node)
_RUST: Final = Toolchain(
    "cargo",
    f"install Rust 1.85 or newer, and the headers of libcurl and OpenSSL ({_APT} cargo libssl-dev)",
    _build_rust,
    _start_rust,
)
_JAVA: Final = Toolchain(
    "mvn", f"install Maven and a JDK, 17 or newer ({_APT} maven openjdk-17-jdk-headless)", _build_java, _start_java
)
_KCAT: Final = Toolchain("kcat", f"install kcat 1.7 or newer ({_APT} kcat)", _build_nothing, _start_script)
_SPARK: Final = Toolchain(
    "java", f"install Java 17 or newer ({_APT} openjdk-17-jre-headless)", _build_nothing, _start_script
)


ALL: dict[str, Client] = {
    client.name: client
    for client in (
        Client("kafka-python", _PYTHON, ("kafka-python", "_python")),
        Client("kafka-python-2.0", _PYTHON, ("kafka-python-2.0", "_python", "kafka-python")),
        Client("aiokafka", _PYTHON, ("aiokafka", "_python")),
        Client("aiokafka-0.8", _PYTHON, ("aiokafka-0.8", "_python", "aiokafka")),
        Client("confluent-kafka", _PYTHON, ("confluent-kafka", "_python")),
        Client("confluent-kafka-2.0", _PYTHON, ("confluent-kafka-2.0", "_python", "confluent-kafka")),
        Client("java", _JAVA, ("java",), "4.3.1"),
        Client("java-3.7", _JAVA, ("java",), "3.7.1"),
        Client("java-3.4", _JAVA, ("java",), "3.4.1"),
        Client("java-2.8", _JAVA, ("java",), "2.8.2"),
        Client("franz-go", _GO, ("franz-go", "_go")),
        Client("franz-go-1.16", _GO, ("franz-go-1.16", "_go", "franz-go")),
        Client("sarama", _GO, ("sarama", "_go")),
        Client("sarama-1.42", _GO, ("sarama-1.42", "_go", "sarama")),
        Client("kafka-go", _GO, ("kafka-go", "_go")),
        Client("kafka-go-0.4.42", _GO, ("kafka-go-0.4.42", "_go", "kafka-go")),
        Client("kafkajs", _NODE, ("kafkajs", "_node")),
        Client("kafkajs-1.16", _NODE, ("kafkajs-1.16", "_node", "kafkajs")),
        Client("confluent-javascript", _NODE, ("confluent-javascript", "_node"), slow_build=True),
        Client("rdkafka", _RUST, ("rdkafka",), slow_build=True),
        Client("kafrust", _RUST, ("kafrust",), slow_build=True),
        Client("kcat", _KCAT, ("kcat", "_python")),
        Client("spark", _SPARK, ("spark", "_python")),
        Client("java-share", _JAVA, ("java-share",), "4.3.1", protocol=SHARE),
        Client("confluent-kafka-share", _PYTHON, ("confluent-kafka-share", "_python"), protocol=SHARE),
        Client("franz-go-share", _GO, ("franz-go-share", "_go"), protocol=SHARE),
    )
}
ALL |= {
    f"{name}-consumer": replace(ALL[name], name=f"{name}-consumer", protocol=CONSUMER, driver=name)
    for name in ("java", "confluent-kafka", "rdkafka", "franz-go")
}
"""The clients that have the new group protocol (KIP-848) play with it, too."""
PYTHON: Final = ("kafka-python", "aiokafka", "confluent-kafka", "confluent-kafka-consumer", "confluent-kafka-share")
OLD_PYTHON: Final = ("kafka-python-2.0", "aiokafka-0.8", "confluent-kafka-2.0")
"""The oldest versions that are still in wide use."""
