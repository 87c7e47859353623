"""Commits that survive a power loss: ours with log.flush.policy=always beside Kafka with log.flush.interval.messages=1.

    python tests/bench/bench_durable.py

Environment:
    ROUNDS=5    interleaved rounds; a figure is their median
    SECONDS=5   of each run
    WARMUP=10   seconds at least of commits for a fresh JVM
    CLIENTS=1,16,64     how many clients commit, each in a group of its own, one request outstanding

A client commits the offsets of 10 partitions and waits for the answer, which both servers send after an fsync. The
data lies in TMPDIR. The server has one core, the load the other. Needs Linux and Go, and Java for Kafka. Exit status 1:
a run of our server failed, or Kafka was ahead.
"""

import io
import os
import signal
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench.bench_coordinator import cores, markdown, terminated  # noqa: E402
from tests.bench.coordinator.groupload import LoadFailed, LoadGenerator  # noqa: E402
from tests.bench.coordinator.servers import KAFKA, LOG_LEVEL, OURS, SETTINGS, Target, pin  # noqa: E402
from tests.differential.kafka import KafkaMissing, RunningKafka  # noqa: E402
from tests.servers import RunningServer  # noqa: E402

ROUNDS = int(os.environ.get("ROUNDS", "5"))
SECONDS = float(os.environ.get("SECONDS", "5"))
WARMUP_SECONDS = float(os.environ.get("WARMUP", "10"))
CLIENTS = [int(each) for each in os.environ.get("CLIENTS", "1,16,64").split(",")]
ALWAYS = {"log.flush.policy": "always"}
KAFKA_FLUSHES = {"log.flush.interval.messages": "1", "offsets.topic.num.partitions": "50"}


class Figure(NamedTuple):
    """One run."""

    commits_per_second: float
    cpu_us: float
    p99_ms: float


def started(scratch: Path, stack: ExitStack) -> list[Target]:
    """Ours, and Kafka if it can be had."""
    for name in ("ours", "kafka"):
        (scratch / name).mkdir()
    server = stack.enter_context(RunningServer(scratch / "ours", SETTINGS | ALWAYS, log_level=LOG_LEVEL))
    targets = [Target(OURS, server.bootstrap, server.pid)]
    try:
        kafka = stack.enter_context(RunningKafka(scratch / "kafka", SETTINGS | KAFKA_FLUSHES, threads={}))
        targets.append(Target(KAFKA, kafka.bootstrap, kafka.pid))
    except KafkaMissing as missing:
        print(f"Kafka is left out: {missing}")
    return targets


def run(generator: LoadGenerator, target: Target, clients: int) -> Figure:
    """Raises LoadFailed."""
    load = f"commit --conns {clients} --pipeline 1 --groups {clients} --members 1 --seconds {SECONDS:g}"
    result: dict[str, Any] = generator.run(target, load.split())
    return Figure(result["ops_per_s"], result["server_cpu_us_per_op"], result["latency_us"]["p99"] / 1000)


def main() -> None:
    signal.signal(signal.SIGTERM, terminated)
    assert isinstance(sys.stdout, io.TextIOWrapper)
    sys.stdout.reconfigure(line_buffering=True)
    server_core, load_core = cores()
    behind = False
    rows = []
    with tempfile.TemporaryDirectory(prefix="bench-durable-") as folder, ExitStack() as stack:
        scratch = Path(folder)
        generator = LoadGenerator(scratch, load_core)
        targets = started(scratch, stack)
        for target in targets:
            pin(target.pid, server_core)
        for clients in CLIENTS:
            figures = measured(generator, targets, clients)
            rows += [(clients, name, figure) for name, figure in figures.items()]
            if KAFKA in figures:
                behind |= figures[OURS].commits_per_second < figures[KAFKA].commits_per_second
    print("\n| clients | server | commits/s | server CPU, µs/commit | p99, ms |\n|---|---|---|---|---|")
    for clients, name, figure in rows:
        cells = (
            str(clients),
            name,
            f"{figure.commits_per_second:,.0f}",
            f"{figure.cpu_us:.1f}",
            f"{figure.p99_ms:.2f}",
        )
        print(markdown(cells))
    sys.exit(1 if behind else 0)


def measured(generator: LoadGenerator, targets: list[Target], clients: int) -> dict[str, Figure]:
    """The median of each server, of rounds in which they take turns."""
    found: dict[str, list[Figure]] = {target.name: [] for target in targets}
    for target in targets:
        began = time.monotonic()
        while target.name == KAFKA and time.monotonic() - began < WARMUP_SECONDS:
            run(generator, target, clients)
    for number in range(ROUNDS):
        for target in targets:
            found[target.name].append(run(generator, target, clients))
        latest = ", ".join(f"{name} {each[-1].commits_per_second:,.0f}" for name, each in found.items())
        print(f"{clients} clients, round {number + 1}: {latest} commits/s")
    return {
        name: Figure(*(statistics.median(column) for column in zip(*each, strict=True))) for name, each in found.items()
    }


if __name__ == "__main__":
    try:
        main()
    except LoadFailed as failure:
        sys.exit(str(failure))
    except KeyboardInterrupt:
        sys.exit("stopped")
