"""The timing wheel against asyncio's and uvloop's call_later, heapq with lazy deletion, and Kafka's SystemTimer.

    python tests/bench/bench_timers.py

Environment: ROUNDS (5), COUNTS (100000,1000000). Each figure is the median over the rounds; in a round each peer runs
once, in a process of its own. Kafka's timer needs Java, and the jars that Maven brings; else that column is left out,
and it says so. The last lines are the table of docs/benchmarks.md.
"""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from coordinator.pipeline.java import JavaMissing, require_java  # noqa: E402
from tests.bench.timers.peers import PEERS, Figures  # noqa: E402
from tests.differential.kafka import KafkaMissing, kafka_jars  # noqa: E402

ROUNDS = int(os.environ.get("ROUNDS", "5"))
COUNTS = [int(each) for each in os.environ.get("COUNTS", "100000,1000000").split(",")]
KAFKA = "Kafka"
KAFKA_TIMER = Path(__file__).parent / "timers" / "Peer.java"
MEASURES = {
    "cancel_and_start_ns": "cancel + start, ns",
    "restart_ns": "restart, ns",
    "expiry_ns": "expiry, ns",
    "bytes_per_timer": "memory, bytes",
}
EXPIRY_NS_MAX = 200
BYTES_MAX = 80
ASYNCIO_TIMES_MIN = 10
KAFKA_RATIO_MAX = 1.0


def commands() -> dict[str, list[str]]:
    """Peer → what measures it, but for the number of timers."""
    found = {name: [sys.executable, "-m", "tests.bench.timers.peers", name] for name in PEERS}
    try:
        java, jars = require_java(), kafka_jars()
    except (JavaMissing, KafkaMissing) as missing:
        print(f"the column of Kafka is left out: {missing}")
        return found
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"
    return found | {KAFKA: [str(java), quiet, "-cp", f"{jars}/*", str(KAFKA_TIMER)]}


def measured(command: Iterable[str], count: int) -> Figures:
    run = subprocess.run([*command, str(count)], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return Figures(**json.loads(run.stdout))


def medians(rounds: Iterable[Figures]) -> Figures:
    """The median of each figure; None where a peer does not have it."""
    columns: Iterable[tuple[Any, ...]] = zip(*rounds, strict=True)
    return Figures._make(None if None in column else statistics.median(column) for column in columns)


def verdicts(count: int, found: Mapping[str, Figures]) -> None:
    ours = found["ours"]
    against_asyncio = found["asyncio"].cancel_and_start_ns / ours.cancel_and_start_ns
    targets = [
        (f"cancel + start {against_asyncio:.1f} x faster than asyncio's", against_asyncio >= ASYNCIO_TIMES_MIN),
        (f"expiry {ours.expiry_ns:.0f} ns", ours.expiry_ns <= EXPIRY_NS_MAX),
        (f"{ours.bytes_per_timer:.0f} bytes", ours.bytes_per_timer <= BYTES_MAX),
    ]
    if KAFKA in found:
        ratio = ours.cancel_and_start_ns / found[KAFKA].cancel_and_start_ns
        targets.append((f"cancel + start {ratio:.2f} of Kafka's", ratio <= KAFKA_RATIO_MAX))
    for text, met in targets:
        print(f"{count:,} timers: {text}: {'met' if met else 'MISSED'}")


def main() -> None:
    peers = commands()
    table = {}
    for count in COUNTS:
        rounds: dict[str, list[Figures]] = {name: [] for name in peers}
        for number in range(ROUNDS):
            for name, command in peers.items():
                rounds[name].append(measured(command, count))
                print(f"{count:,} timers, round {number + 1}, {name}: {rounds[name][-1]._asdict()}", flush=True)
        table[count] = {name: medians(each) for name, each in rounds.items()}
    print()
    for count, found in table.items():
        verdicts(count, found)
    print(f"\n| timers | | {' | '.join(peers)} |\n|{'---|' * (len(peers) + 2)}")
    for count, found in table.items():
        for measure, title in MEASURES.items():
            figures = [getattr(found[name], measure) for name in peers]
            cells = ["-" if figure is None else f"{figure:,.0f}" for figure in figures]
            print(f"| {count:,} | {title} | {' | '.join(cells)} |")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("stopped")
