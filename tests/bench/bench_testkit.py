"""The test kit beside kfake, librdkafka's mock cluster and Apache Kafka: start, first assignment, a suite of ten tests.

    python tests/bench/bench_testkit.py

Environment:
    ROUNDS=5    interleaved rounds; a figure is their median
    PEERS=      some of kfake,librdkafka,kafka instead of all

Each round starts each server again, has two kafka-python consumers share a topic, and plays ten tests of a rebalance.
Three of the tests need that 6 seconds pass: ours lets its clock jump, the others are waited for. A peer whose needs are
not there is left out, and a line says so. Prints the table of docs/benchmarks.md at the end. Exit status 1: ours failed
in one of the tests; a missed target is no failure.
"""

import io
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter
from typing import Final, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from kafka import ConsumerRebalanceListener, TopicPartition  # noqa: E402

from _wire.errors import ErrorCode  # noqa: E402
from _wire.messages.api_versions import ApiVersionsRequest  # noqa: E402
from coordinator.testing import Coordinator  # noqa: E402
from tests.bench.coordinator.servers import GROUPLOAD, SETTINGS, PeerMissing, build_go  # noqa: E402
from tests.bench.testkit.suite import TESTS, WAIT_SECONDS, Running, play_suite  # noqa: E402
from tests.differential.kafka import KafkaMissing, RunningKafka  # noqa: E402
from tests.e2e.members import Member, stop_all  # noqa: E402
from tests.testing.process import TestingProcess  # noqa: E402
from tests.wire_client import WireClient  # noqa: E402

ROUNDS = int(os.environ.get("ROUNDS", "5"))
STOP_SECONDS: Final = 10
TOPIC: Final = "orders"
PARTITIONS: Final = 4

OURS: Final = "ours in process"
OURS_PROCESS: Final = "`coordinator testing`"
KFAKE: Final = "kfake"
MOCK: Final = "librdkafka mock"
KAFKA: Final = "Kafka"

COLD: Final = "start, cold, ms"
WARM: Final = "start, warm, ms"
ASSIGNED: Final = "first assignment of two consumers, ms"
SUITE: Final = "suite of ten tests, ms"

START_AT_MOST: Final = {KFAKE: 2.0, MOCK: 1.0, KAFKA: 1.0}
ASSIGNED_MS_MAX: Final = 300

COLD_OURS: Final = """
from time import perf_counter
began = perf_counter()
from coordinator.testing import Coordinator
with Coordinator():
    print(perf_counter() - began)
"""
MOCK_SETTINGS: Final = {"bootstrap.servers": "mock", "test.mock.num.brokers": 1, "log_level": 0}
COLD_MOCK: Final = f"""
from time import perf_counter
began = perf_counter()
from confluent_kafka import Producer
Producer({MOCK_SETTINGS}).list_topics(timeout={WAIT_SECONDS})
print(perf_counter() - began)
"""


class Peer(NamedTuple):
    """`cold` is code for a fresh Python process that prints how long the start took; without it each start is cold."""

    name: str
    start: Callable[[ExitStack], Running]
    cold: str | None = None
    serves_kafka_python: bool = True


# ---- servers


def ours(stack: ExitStack) -> Running:
    server = stack.enter_context(Coordinator())
    return Running(server.bootstrap, server.advance)


def ours_process(stack: ExitStack) -> Running:
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-testkit-"))
    process = stack.enter_context(TestingProcess(Path(folder)))
    return Running(process.bootstrap, lambda seconds: process.post("/testing/advance", seconds=seconds))


def kafka(stack: ExitStack) -> Running:
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-testkit-"))
    return Running(stack.enter_context(RunningKafka(Path(folder), SETTINGS, threads={})).bootstrap)


def librdkafka_mock(stack: ExitStack) -> Running:
    from confluent_kafka import Producer

    producer = Producer(MOCK_SETTINGS)
    stack.callback(producer.flush, 0)  # it serves as long as it is referred to
    (broker,) = producer.list_topics(timeout=WAIT_SECONDS).brokers.values()
    return Running(f"{broker.host}:{broker.port}")


def kfake(binary: Path, stack: ExitStack) -> Running:
    process = subprocess.Popen([str(binary), "--port", "0"], stdout=subprocess.PIPE, start_new_session=True)

    def stop() -> None:
        process.kill()
        process.wait(STOP_SECONDS)

    stack.callback(stop)
    assert process.stdout is not None
    stack.enter_context(process.stdout)
    return Running(process.stdout.readline().decode().strip())


def kfake_peer(scratch: Path) -> Peer:
    binary = scratch / "kfaked"
    try:
        build_go(GROUPLOAD / "anchors" / "kfaked", binary)
    except FileNotFoundError:
        raise PeerMissing("Go is missing: install it (https://go.dev/dl)") from None
    except subprocess.CalledProcessError as failed:
        raise PeerMissing(f"its modules cannot be had ({(failed.stderr.splitlines() or ['no output'])[-1]})") from None
    return Peer(KFAKE, lambda stack: kfake(binary, stack))


def mock_peer(scratch: Path) -> Peer:
    try:
        import confluent_kafka  # noqa: F401
    except ImportError:
        raise PeerMissing("confluent-kafka is not installed") from None
    return Peer(MOCK, librdkafka_mock, COLD_MOCK, serves_kafka_python=False)


def kafka_peer(scratch: Path) -> Peer:
    try:
        with RunningKafka(scratch, SETTINGS, threads={}):  # fetches the jars, which is no part of a start
            return Peer(KAFKA, kafka)
    except KafkaMissing as missing:
        raise PeerMissing(str(missing)) from None


PEERS: Final[dict[str, Callable[[Path], Peer]]] = {"kfake": kfake_peer, "librdkafka": mock_peer, "kafka": kafka_peer}


def chosen_peers(scratch: Path) -> list[Peer]:
    wanted = [each for each in os.environ.get("PEERS", "").split(",") if each] or list(PEERS)
    if unknown := next((each for each in wanted if each not in PEERS), None):
        sys.exit(f"PEERS: {unknown} is none of {', '.join(PEERS)}")
    found = [Peer(OURS, ours, COLD_OURS), Peer(OURS_PROCESS, ours_process)]
    for name in wanted:
        folder = scratch / name
        folder.mkdir()
        try:
            found.append(PEERS[name](folder))
        except PeerMissing as missing:
            print(f"{name} is left out: {missing}")
    return found


# ---- start and first assignment


def require_answer(bootstrap: str) -> None:
    with WireClient(bootstrap) as client:
        assert client.request(ApiVersionsRequest(), 0).error_code == ErrorCode.NONE


def cold_seconds(script: str) -> float:
    """Of imports and start, in a Python process that has imported nothing else."""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    return float(done.stdout)


class Holder(ConsumerRebalanceListener):
    """Notes what two consumers hold, and when they first held all partitions half and half."""

    def __init__(self, held: dict[str, int], name: str, all_held: Callable[[], None]) -> None:
        self._held, self._name, self._all_held = held, name, all_held

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        self._held.pop(self._name, None)

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self._held[self._name] = len(list(assigned))
        if sorted(self._held.values()) == [PARTITIONS // 2] * 2:
            self._all_held()


def first_assignment(bootstrap: str) -> float:
    """Seconds from the subscription of the second of two consumers until both hold their partitions."""
    with WireClient(bootstrap) as client:
        client.create_topic(TOPIC, PARTITIONS)
    held: dict[str, int] = {}
    ended: list[float] = []
    done = threading.Event()

    def all_held() -> None:
        ended.append(perf_counter())
        done.set()

    members: list[Member] = []
    try:
        for name in ("first", "second"):
            members.append(Member(bootstrap, TOPIC, "first-assignment", listener=Holder(held, name, all_held)))
        began = perf_counter()
        assert done.wait(WAIT_SECONDS), f"after {WAIT_SECONDS} s the consumers hold {held}"
    finally:
        stop_all(members)
    return max(0.0, ended[0] - began)


# ---- rounds and the table


class Results:
    def __init__(self) -> None:
        self.times: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        """Row → server → ms."""
        self.failed: dict[str, set[str]] = defaultdict(set)

    def add(self, row: str, peer: Peer, seconds: float) -> None:
        self.times[row][peer.name].append(seconds * 1000)

    def median(self, row: str, name: str) -> float | None:
        found = self.times[row].get(name)
        return statistics.median(found) if found else None


def measure(peer: Peer, results: Results) -> None:
    """One round of one server."""
    if peer.cold is not None:
        results.add(COLD, peer, cold_seconds(peer.cold))
    with ExitStack() as stack:
        began = perf_counter()
        server = peer.start(stack)
        require_answer(server.bootstrap)
        results.add(COLD if peer.cold is None else WARM, peer, perf_counter() - began)
        if peer.serves_kafka_python:
            results.add(ASSIGNED, peer, first_assignment(server.bootstrap))
        began = perf_counter()
        failed = results.failed[peer.name]
        play_suite(peer.name, server, failed)
        if not failed:
            results.add(SUITE, peer, perf_counter() - began)


def print_table(peers: Sequence[Peer], results: Results) -> None:
    names = [peer.name for peer in peers]
    others = [name for name in names if name not in (OURS, OURS_PROCESS)]
    header = ["", *names, *(f"ours / {name}" for name in others)]
    print(f"\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for row in (COLD, WARM, ASSIGNED, SUITE):
        figures = {name: results.median(row, name) for name in names}
        mine = figures[OURS]
        cells = ["-" if figure is None else f"{figure:,.1f}" for figure in figures.values()]
        ratios = [figures[name] for name in others]
        cells += ["-" if mine is None or ratio is None else f"{mine / ratio:.2g}" for ratio in ratios]
        print(f"| {' | '.join([row, *cells])} |")
    passed = [f"{len(TESTS) - len(results.failed[name])} of {len(TESTS)}" for name in names]
    print(f"| {' | '.join(['tests that passed in each round', *passed, *('-' for _ in others)])} |")


def print_targets(results: Results) -> None:
    print("\n| target | met |\n|---|---|")
    for row in (COLD, WARM):
        mine = results.median(row, OURS)
        for name, factor in START_AT_MOST.items():
            warm = results.median(row, name)
            other = results.median(COLD, name) if warm is None else warm  # a process has no warm start
            if mine is not None and other is not None:
                print(f"| {row}: <= {factor:g} that of {name} | {'yes' if mine <= factor * other else 'no'} |")
    assigned = results.median(ASSIGNED, OURS)
    if assigned is not None:
        print(f"| {ASSIGNED}: <= {ASSIGNED_MS_MAX} | {'yes' if assigned <= ASSIGNED_MS_MAX else 'no'} |")


def main() -> None:
    assert isinstance(sys.stdout, io.TextIOWrapper)
    sys.stdout.reconfigure(line_buffering=True)  # a pipe sees each round when it is over
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # stop what was started, as on Ctrl-C
    results = Results()
    with tempfile.TemporaryDirectory(prefix="bench-testkit-") as folder:
        peers = chosen_peers(Path(folder))
        for number in range(ROUNDS):
            for peer in peers:
                measure(peer, results)
            latest = (f"{peer.name} {results.times[COLD][peer.name][-1]:.0f} ms" for peer in peers)
            print(f"round {number + 1}, cold starts: {', '.join(latest)}; load {os.getloadavg()[0]:.1f}")
    print_table(peers, results)
    print_targets(results)
    sys.exit(1 if results.failed[OURS] | results.failed[OURS_PROCESS] else 0)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("stopped")
