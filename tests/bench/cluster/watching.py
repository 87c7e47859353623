"""Groups that stay with the cluster, by way of one node: passed on, and watched, beside those that go directly."""

import statistics
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Final

from tests.bench.cluster.loads import Generator, Result
from tests.bench.coordinator.servers import LOG_LEVEL, SETTINGS
from tests.cluster.running import RunningNode, RunningNodes
from tests.differential.kafka import RunningKafka

PARTITIONS: Final = 8
OF_KAFKA: Final = SETTINGS | {"offsets.topic.num.partitions": str(PARTITIONS)}
WATCHED: Final = "watched-"
OF_NODE: Final = {
    "cluster.adopt": "",
    "cluster.watch": f"{WATCHED}*",
    "membership.topic.num.partitions": str(PARTITIONS),
}
BROKER, NODE = "broker", "node"
DIRECTLY, PASSED_ON, IS_WATCHED = WAYS = "directly", "passed on", "watched"
MEMBERS: Final = 10_000
MEMBERS_CONNECTIONS: Final = 1_000
HEARTBEAT_SECONDS: Final = 3

Rounds = Mapping[str, list[Result]]
"""Way → the results of its rounds."""


class WatchingBench:
    """The same node passes groups on and watches them, by their names: so both have the same state of the machine."""

    def __init__(self, kafka: RunningKafka, node: RunningNode, generator: Generator) -> None:
        self._kafka, self._node, self._generator = kafka, node, generator
        self._runs = count()

    def run(self, way: str, load: str) -> Result:
        address = self._kafka.bootstrap if way == DIRECTLY else self._node.bootstrap
        prefix = f"{WATCHED if way == IS_WATCHED else 'bench-'}{next(self._runs)}-"
        return self._generator.run([(address, prefix)], load, {BROKER: self._kafka.pid, NODE: self._node.pid})

    def interleaved(self, load: str, rounds: int, warmups: int, ways: tuple[str, ...] = WAYS) -> Rounds:
        found: dict[str, list[Result]] = {way: [] for way in ways}
        for number in range(warmups + rounds):
            for way in ways[number % len(ways) :] + ways[: number % len(ways)]:
                result = self.run(way, load)
                if number >= warmups:
                    found[way].append(result)
        return found

    def members(self, rounds: int, seconds: float) -> None:
        """How long MEMBERS members wait that join at once, and the share of a core that a node then takes for them.

        Each has a group of its own, and sends a heartbeat every three seconds.
        """
        load = (
            f"steady --groups {MEMBERS} --conns {MEMBERS_CONNECTIONS} --parallel 16 --warmup {HEARTBEAT_SECONDS} "
            f"--seconds {seconds:g} --heartbeat-interval {HEARTBEAT_SECONDS}s --pid {self._node.pid}"
        )
        found = self.interleaved(load, rounds, 0)
        _row(f"{MEMBERS:,} groups: s until all have joined", found, lambda each: _only(each, "form_s"))
        for name, quantile in (("half of the joins", "p50"), ("the longest join", "max")):
            _row(f"{MEMBERS:,} groups: ms, {name}", found, lambda each, of=quantile: each.latency_ms("join_us", of))  # type: ignore[misc]
        of_node = {way: results for way, results in found.items() if way != DIRECTLY}
        _row(f"{MEMBERS:,} groups of one member: cores of the node", of_node, lambda each: _only(each, "server_cores"))
        _row(f"{MEMBERS:,} groups: heartbeats a second", found, lambda each: _only(each, "heartbeats_per_s"))


def _only(result: Result, name: str) -> float:
    (output,) = result.outputs
    return float(output[name])


def _row(what: str, found: Rounds, figure: Callable[[Result], float]) -> None:
    """A row of medians, and the median of the ratios of rounds that were measured one after the other."""
    figures = {way: [figure(each) for each in found.get(way, ())] for way in WAYS}
    cells = [f"{statistics.median(figures[way]):,.2f}" if figures[way] else "" for way in WAYS]
    ratio = statistics.median(
        its / alone for its, alone in zip(figures[IS_WATCHED], figures[PASSED_ON], strict=True) if alone
    )
    print(f"| {what} | {' | '.join(cells)} | {ratio:.3f} |", flush=True)


@contextmanager
def watching_bench(scratch: Path, generator: Generator) -> Iterator[WatchingBench]:
    """Raises KafkaMissing."""
    (scratch / "kafka").mkdir(parents=True)
    with (
        RunningKafka(scratch / "kafka", OF_KAFKA, threads={}) as kafka,
        RunningNodes(scratch, kafka.bootstrap, 1, OF_NODE, log_level=LOG_LEVEL) as nodes,
    ):
        yield WatchingBench(kafka, nodes.nodes[0], generator)


def compare_watching(bench: WatchingBench, rounds: int, warmups: int, seconds: float) -> None:
    print(f"\n| groups that stay with the cluster | {' | '.join(WAYS)} | watched / passed on |\n|---|---|---|---|---|")
    loads = {
        "Heartbeat": f"heartbeat --groups 1 --members 64 --conns 64 --warmup 0 --seconds {seconds:g}",
        "OffsetCommit": f"commit --groups 1 --members 16 --conns 16 --warmup 0 --seconds {seconds:g}",
    }
    for name, load in loads.items():
        found = bench.interleaved(load, rounds, warmups)
        _row(f"{name}: per second", found, lambda each: each.ops_per_second)
        _row(f"{name}: CPU of the node, µs", found, lambda each: each.us(NODE, each.ops))
    members, joins = 100, 20
    storm = f"rebalance --storm --members {members} --conns {members} --rounds {joins} --warmup 1"
    found = bench.interleaved(storm, rounds, warmups)
    joined = members * (joins + 2)
    _row(f"{members} members join: ms until all are synced", found, lambda each: each.latency_ms("rebalance_us", "p50"))
    _row(f"{members} members join: CPU of the node, µs", found, lambda each: each.us(NODE, joined))
    bench.members(rounds, seconds=2 * seconds)
