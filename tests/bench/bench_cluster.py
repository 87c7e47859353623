"""Nodes in front of a Kafka beside that Kafka's own coordinator, in one run (`make bench-cluster`; Go, Java, Maven).

The Kafka is one broker. Its groups are coordinated by itself, or by 1, 2 or 4 nodes; the load generator is that of
bench_coordinator.py. CPU time is that of the whole process while a load runs, with the forming of its groups; latencies
are as the load sees them, and nothing is pinned. ROUNDS (3) and SECONDS (5) of each load, TAKEOVERS (5). At the end,
or with WATCH=1 alone: groups that stay with the cluster, passed on by a node and watched by it.
"""

import io
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, NoReturn

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from coordinator.client.wire import ClientError
from tests.bench.cluster.loads import Generator, LoadFailed, Result
from tests.bench.cluster.takeover import group_led_by, takeover_seconds, wait_until_shared_out
from tests.bench.cluster.watching import compare_watching, watching_bench
from tests.bench.coordinator.servers import LOG_LEVEL, SETTINGS
from tests.cluster.running import RunningNodes
from tests.differential.kafka import KafkaMissing, RunningKafka

ROUNDS: Final = int(os.environ.get("ROUNDS", "3"))
SECONDS: Final = float(os.environ.get("SECONDS", "5"))
TAKEOVERS: Final = int(os.environ.get("TAKEOVERS", "5"))
WARMUP_ROUNDS: Final = 2
NODE_COUNTS: Final = (1, 2, 4)
PARTITIONS: Final = 8
BROKER: Final = "broker"
JOIN_ROUNDS: Final = 20
"""Joins of the members of a group over the same connections. With few of them the figures are those of connecting."""
JOINING_MEMBERS: Final = (100, 1_000)
CLEAN_GOAL_SECONDS: Final = 0.5
KILL_GOAL_SECONDS: Final = 7.0
NODE_SETTINGS: Final = {"group.max.session.timeout.ms": "1800000", "membership.topic.num.partitions": str(PARTITIONS)}
HEARTBEAT: Final = f"heartbeat --groups 1 --members 64 --conns 64 --warmup 0 --seconds {SECONDS:g}"
COMMIT: Final = f"commit --groups 1 --members 16 --conns 16 --warmup 0 --seconds {SECONDS:g}"
SIGTERM_EXIT: Final = 128 + signal.SIGTERM

Row = tuple[str, str, str, str]
"""What, Kafka's own coordinator, the nodes, the ratio or the goal."""


class Bench:
    """One Kafka, and nodes in front of it that come and go."""

    def __init__(self, kafka: RunningKafka, generator: Generator, scratch: Path) -> None:
        self._kafka = kafka
        self._generator = generator
        self._scratch = scratch
        self._runs = 0
        self.rows: list[Row] = []

    def nodes(self, count: int) -> RunningNodes:
        folder = self._scratch / f"nodes-{count}-{self._runs}"
        return RunningNodes(folder, self._kafka.bootstrap, count, NODE_SETTINGS, log_level=LOG_LEVEL)

    def _prefix(self) -> str:
        self._runs += 1
        return f"bench{self._runs}-"

    def _at_kafka(self, load: str, groups: int = 1) -> Result:
        targets = [(self._kafka.bootstrap, self._prefix()) for _ in range(groups)]
        return self._generator.run(targets, load, {BROKER: self._kafka.pid})

    def _at_nodes(self, nodes: RunningNodes, load: str) -> Result:
        """One group at each node."""
        targets = [
            (node.bootstrap, group_led_by(nodes, node, PARTITIONS, self._prefix()).removesuffix("-0"))
            for node in nodes.nodes
        ]
        pids = {BROKER: self._kafka.pid} | {f"node {node.node_id}": node.pid for node in nodes.nodes}
        return self._generator.run(targets, load, pids)

    def interleaved(self, nodes: RunningNodes, load: str) -> tuple[list[Result], list[Result]]:
        """Runs at the Kafka and at the nodes in turn; the first ones only warm up."""
        found = [
            (self._at_kafka(load, len(nodes.nodes)), self._at_nodes(nodes, load)) for _ in range(WARMUP_ROUNDS + ROUNDS)
        ][WARMUP_ROUNDS:]
        return [kafka for kafka, _ in found], [front for _, front in found]

    def compare(self, what: str, kafka: float, front: float, unit: str) -> None:
        row = what, f"{kafka:,.1f} {unit}", f"{front:,.1f} {unit}", f"{front / kafka:.2f}"
        self.rows.append(row)
        print(" | ".join(row))

    def latencies(self, what: str, kafka: Sequence[Result], front: Sequence[Result], name: str) -> None:
        for quantile in ("p50", "p99"):
            own, through = (
                statistics.median(result.latency_ms(name, quantile) for result in results) for results in (kafka, front)
            )
            self.compare(f"{what}, {quantile}", own, through, "ms")

    def cpu(self, what: str, kafka: Sequence[Result], front: Sequence[Result], ops: Callable[[Result], int]) -> None:
        """CPU time of each operation, by the number of operations that a run had."""
        own = median(kafka, lambda each: each.us(BROKER, ops(each)))
        self.compare(f"{what}: CPU of the coordinator", own, median(front, lambda each: node_us(each, ops(each))), "µs")
        self.compare(f"{what}: CPU of the broker", own, median(front, lambda each: each.us(BROKER, ops(each))), "µs")

    def goal(self, what: str, seconds: Sequence[float], at_most: float) -> None:
        middle, worst = statistics.median(seconds), max(seconds)
        met = "met" if worst <= at_most else "missed" if middle > at_most else "met by the median"
        row = what, "", f"{middle:.2f} s, at most {worst:.2f} s", f"goal {at_most:g} s: {met}"
        self.rows.append(row)
        print(" | ".join(row))


def node_us(result: Result, count: int) -> float:
    """CPU time of all nodes, for each of so many operations."""
    return sum(result.us(name, count) for name in result.cpu if name != BROKER)


def median(results: Iterable[Result], figure: Callable[[Result], float]) -> float:
    return statistics.median(figure(result) for result in results)


def joins(bench: Bench, nodes: RunningNodes) -> None:
    """All members of a group join at once, again and again."""
    for members in JOINING_MEMBERS:
        load = f"rebalance --storm --members {members} --conns {members} --rounds {JOIN_ROUNDS} --warmup 1"
        kafka, front = bench.interleaved(nodes, load)
        name, joined = f"{members:,} members join", members * (JOIN_ROUNDS + 2)
        bench.latencies(f"{name}: time until all are synced", kafka, front, "rebalance_us")
        bench.cpu(name, kafka, front, lambda each, joined=joined: joined)  # type: ignore[misc]


def heartbeats(bench: Bench, nodes: RunningNodes) -> None:
    kafka, front = bench.interleaved(nodes, HEARTBEAT)
    bench.cpu("Heartbeat", kafka, front, lambda each: each.ops)


def commits(bench: Bench, nodes: RunningNodes) -> None:
    """Ten partitions each, from as many groups as there are nodes."""
    kafka, front = bench.interleaved(nodes, COMMIT)
    count = len(nodes.nodes)
    name = f"OffsetCommit, {count} node{'s' if count > 1 else ''}"
    bench.compare(f"{name}: per second", median(kafka, _rate), median(front, _rate), "")
    bench.latencies(name, kafka, front, "latency_us")
    bench.cpu(name, kafka, front, lambda each: each.ops)


def _rate(result: Result) -> float:
    return result.ops_per_second


def takeovers(bench: Bench, nodes: RunningNodes) -> None:
    for what, end, goal in (
        ("takeover after a clean stop", lambda node: node.send(signal.SIGTERM), CLEAN_GOAL_SECONDS),
        ("takeover after a kill", lambda node: node.kill(), KILL_GOAL_SECONDS),
    ):
        found = []
        for number in range(TAKEOVERS):
            found.append(takeover_seconds(nodes, PARTITIONS, f"{what.replace(' ', '-')}-{number}-", end))
            print(f"{what}: {found[-1]:.2f} s")
        bench.goal(f"{what}, until the first answer", found, goal)


def coordinating(scratch: Path, generator: Generator) -> list[Row]:
    """Nodes that coordinate the groups. Raises KafkaMissing."""
    (scratch / "kafka").mkdir(parents=True)
    with RunningKafka(scratch / "kafka", SETTINGS, threads={}) as kafka:
        bench = Bench(kafka, generator, scratch)
        for count in NODE_COUNTS:
            with bench.nodes(count) as nodes:
                wait_until_shared_out(nodes, PARTITIONS)
                if count == 1:
                    joins(bench, nodes)
                    heartbeats(bench, nodes)
                commits(bench, nodes)
                if count == 2:
                    takeovers(bench, nodes)
        return bench.rows


def terminated(*_: object) -> NoReturn:
    """Leave as on Ctrl-C, so that what was started is ended."""
    sys.exit(SIGTERM_EXIT)


def main() -> None:
    if shutil.which("go") is None:
        sys.exit("Go is missing: install it (https://go.dev/dl), the load generator is written in it")
    signal.signal(signal.SIGTERM, terminated)
    assert isinstance(sys.stdout, io.TextIOWrapper)
    sys.stdout.reconfigure(line_buffering=True)
    with tempfile.TemporaryDirectory(prefix="bench-cluster-") as folder:
        scratch = Path(folder)
        generator = Generator(scratch)
        try:
            rows = [] if os.environ.get("WATCH") else coordinating(scratch / "coordinated", generator)
            with watching_bench(scratch / "watched", generator) as watching:
                compare_watching(watching, ROUNDS, WARMUP_ROUNDS, SECONDS)
        except KafkaMissing as missing:
            sys.exit(str(missing))
    if not rows:
        return
    print("\n| | Kafka's own coordinator | nodes | nodes / Kafka |\n|---|---|---|---|")
    for row in rows:
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    try:
        main()
    except (LoadFailed, ClientError, AssertionError) as problem:
        sys.exit(str(problem))
    except subprocess.CalledProcessError as problem:
        sys.exit(f"{' '.join(problem.cmd)}: {problem.stderr or problem}")
    except KeyboardInterrupt:
        sys.exit("stopped")
