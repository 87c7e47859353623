"""What is put under load: our server, bare floors, and peers where they are installed. Each is a process of its own."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import util
from pathlib import Path
from typing import Final, NamedTuple

from tests.differential.kafka import KafkaMissing, RunningKafka
from tests.servers import RunningServer
from tests.waiting import wait_for

GROUPLOAD: Final = Path(__file__).resolve().parents[1] / "groupload"
SETTINGS: Final = {"group.initial.rebalance.delay.ms": "0", "message.max.bytes": str(16 << 20)}
"""The metadata of a group of 10,000 members is one record, larger than a record may be by default."""

LOG_LEVEL: Final = "warning"
"""That of the peers too: none of them logs each rebalance."""

START_SECONDS: Final = 20
STOP_SECONDS: Final = 10

OURS: Final = "ours"
FLOOR: Final = "uvloop floor"
KAFKA: Final = "Kafka"
KFAKE: Final = "kfake"

LIBRDKAFKA_CAPS: Final = "11=5,12=3,14=3,13=1,8=7,9=5,10=2"
"""librdkafka's mock cluster lists versions that it cannot parse."""


class PeerMissing(RuntimeError):
    """What a peer needs is not there; the message is one line."""


class Target(NamedTuple):
    """A server that runs."""

    name: str
    bootstrap: str
    pid: int
    raw: bool = False
    """It answers any frame with a Heartbeat's answer, and knows no groups."""
    caps: str = ""
    """The highest version of each API, as groupload takes it."""
    options: tuple[str, ...] = ()
    """What else groupload has to know to connect."""


Starter = Callable[[Path, ExitStack], Target]
"""Start a server with its files in an empty folder; the stack stops it. Raises PeerMissing."""


def ours(folder: Path, stack: ExitStack) -> Target:
    server = stack.enter_context(RunningServer(folder, SETTINGS, log_level=LOG_LEVEL))
    return Target(OURS, server.bootstrap, server.pid)


def ours_starting(folder: Path, stack: ExitStack) -> Target:
    """Started this moment; it serves nobody yet."""
    bootstrap = f"127.0.0.1:{_free_port()}"
    options = [f"--listen={bootstrap}", f"--data-dir={folder / 'data'}"]
    options += [f"--set={name}={value}" for name, value in SETTINGS.items()]
    command = [sys.executable, "-m", "coordinator.cli", "serve", f"--log-level={LOG_LEVEL}", *options]
    return Target(OURS, bootstrap, stack.enter_context(_process(command, stderr=subprocess.DEVNULL)).pid)


def uvloop_floor(folder: Path, stack: ExitStack) -> Target:
    script = str(GROUPLOAD / "floors" / "uvloop_floor.py")
    return _listening(FLOOR, stack, lambda port: [sys.executable, script, str(port)], raw=True)


def epoll_floor(folder: Path, stack: ExitStack) -> Target:
    compiler = shutil.which("cc")
    if compiler is None:
        raise PeerMissing("there is no C compiler")
    binary = str(folder / "epoll-floor")
    subprocess.run([compiler, "-O2", "-o", binary, str(GROUPLOAD / "floors" / "epoll.c")], check=True)
    return _listening("epoll floor", stack, lambda port: [binary, str(port)], raw=True)


def kafka(folder: Path, stack: ExitStack) -> Target:
    try:
        running = stack.enter_context(RunningKafka(folder, SETTINGS, threads={}))
    except KafkaMissing as missing:
        raise PeerMissing(str(missing)) from None
    return Target(KAFKA, running.bootstrap, running.pid)


def kfake(folder: Path, stack: ExitStack) -> Target:
    binary = folder / "kfaked"
    try:
        build_go(GROUPLOAD / "anchors" / "kfaked", binary)
    except subprocess.CalledProcessError as failed:
        raise PeerMissing(f"its modules cannot be had ({(failed.stderr.splitlines() or ['no output'])[-1]})") from None
    return _listening(KFAKE, stack, lambda port: [str(binary), "--port", str(port)])


def librdkafka_mock(folder: Path, stack: ExitStack) -> Target:
    if util.find_spec("confluent_kafka") is None:
        raise PeerMissing("confluent-kafka is not installed")
    command = [sys.executable, str(GROUPLOAD / "anchors" / "librdkafka_mock.py")]
    process = stack.enter_context(_process(command, stdout=subprocess.PIPE))
    assert process.stdout is not None
    printed = process.stdout.readline().decode().split()
    if not printed:
        raise PeerMissing("it stopped before it served")
    return Target("librdkafka mock", printed[0], process.pid, caps=LIBRDKAFKA_CAPS)


STARTERS: Final[dict[str, Starter]] = {
    "uvloop": uvloop_floor,
    "epoll": epoll_floor,
    "kafka": kafka,
    "kfake": kfake,
    "librdkafka": librdkafka_mock,
}
"""The peers, by the names that PEERS takes."""


def build_go(folder: Path, binary: Path) -> None:
    """Raises CalledProcessError with what Go said."""
    environment = os.environ | {"CGO_ENABLED": "0"}
    command = ["go", "build", "-o", str(binary), "."]
    subprocess.run(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True, check=True)


def start_peers(starters: Mapping[str, Starter], scratch: Path, stack: ExitStack) -> list[Target]:
    """Those that can be had; of the others a line each says why not."""
    found = []
    for name, start in starters.items():
        folder = scratch / name
        folder.mkdir(parents=True)
        try:
            found.append(start(folder, stack))
        except PeerMissing as missing:
            print(f"{name} is left out: {missing}")
    return found


def pin(pid: int, core: int) -> None:
    """All threads of a process; those it makes later follow."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(thread), {core})


@contextmanager
def _process(
    command: list[str], stdout: int = subprocess.DEVNULL, stderr: int | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    # In a session of its own: Ctrl-C is for the bench, which then stops it.
    process = subprocess.Popen(command, stdout=stdout, stderr=stderr, start_new_session=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait(STOP_SECONDS)


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


def _listening(name: str, stack: ExitStack, command: Callable[[int], list[str]], raw: bool = False) -> Target:
    port = _free_port()
    process = stack.enter_context(_process(command(port)))

    def listens() -> bool:
        with socket.socket() as probe:
            return process.poll() is not None or probe.connect_ex(("127.0.0.1", port)) == 0

    wait_for(listens, START_SECONDS, f"{name} to listen")
    if process.poll() is not None:
        raise PeerMissing(f"it stopped with exit status {process.returncode}")
    return Target(name, f"127.0.0.1:{port}", process.pid, raw)
