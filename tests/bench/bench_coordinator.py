"""Our server under the loads of tests/bench/groupload, beside bare floors, Apache Kafka, kfake and librdkafka's mock.

    python tests/bench/bench_coordinator.py

Environment:
    ROUNDS=5    interleaved rounds; a figure is their median
    SECONDS=5   of a load that goes by the clock
    WARMUP=10   seconds at least of heartbeats for a fresh JVM, and of each load before it is measured
    ONLY=       some of the loads (hb64,hb16,commit,...) and checks (storms,steady,...) instead of all
    PEERS=      some of uvloop,epoll,kafka,kfake,librdkafka instead of all

The figures are the server's CPU time per operation, which travels better than throughput; ours audits as always. The
server has one core, the load the other. Needs Linux and Go; a peer whose needs are not there is left out, and a line
says so. Prints the tables of docs/benchmarks.md at the end. Exit status 1: a run of our server failed; a missed target
is no failure.
"""

import io
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench.coordinator import secured  # noqa: E402
from tests.bench.coordinator.groupload import LoadFailed, LoadGenerator  # noqa: E402
from tests.bench.coordinator.loads import (  # noqa: E402
    LOADS,
    Load,
)
from tests.bench.coordinator.scale import CHECKS, Bench, Check, LeftOut  # noqa: E402
from tests.bench.coordinator.servers import (  # noqa: E402
    KAFKA,
    OURS,
    STARTERS,
    Target,
    ours,
    pin,
    start_peers,
)

ROUNDS = int(os.environ.get("ROUNDS", "5"))
SECONDS = float(os.environ.get("SECONDS", "5"))
WARMUP_SECONDS = float(os.environ.get("WARMUP", "10"))
DESCRIPTORS_WANTED = 20_000
SIGTERM_EXIT = 128 + signal.SIGTERM

Figures = dict[str, dict[str, float]]
"""Load → server → median."""


def chosen(variable: str, known: Iterable[str]) -> list[str]:
    """The names that an environment variable lists, or all of them."""
    names = list(known)
    wanted = [each for each in os.environ.get(variable, "").split(",") if each]
    for each in wanted:
        if each not in names:
            sys.exit(f"{variable}: {each} is none of {', '.join(names)}")
    return [name for name in names if name in wanted] if wanted else names


def cores() -> tuple[int, int]:
    """One for the server, one for the load."""
    found = sorted(os.sched_getaffinity(0))
    if len(found) == 1:
        print("there is only one core: server and load share it, and the figures are worth less")
    return found[0], found[-1]


class Comparison:
    """Ours and the peers under the loads. What fails is reported, and counted when it is ours."""

    def __init__(self, generator: LoadGenerator, targets: Sequence[Target]) -> None:
        self._generator = generator
        self._targets = targets
        self.failed = False

    def warm_up(self, load: Load) -> None:
        """What a JVM compiles while it is measured would count as its work."""
        for target in self._targets:
            started = time.monotonic()
            while target.name == KAFKA and time.monotonic() - started < WARMUP_SECONDS:
                self._figure(load, target)

    def medians(self, load: Load) -> dict[str, float]:
        asked = [target for target in self._targets if self._asks(load, target)]
        if not load.only_ours:
            self.warm_up(load)
        figures: dict[str, list[float]] = {target.name: [] for target in asked}
        for number in range(ROUNDS):
            for target in list(asked):
                figure = self._figure(load, target)
                if figure is None:
                    asked.remove(target)  # to wait for what hangs once is enough
                else:
                    figures[target.name].append(figure)
            latest = ", ".join(f"{name} {each[-1]:.2f}" for name, each in figures.items() if each)
            print(f"{load.key}, round {number + 1}: {latest}")
        return {name: statistics.median(each) for name, each in figures.items() if each}

    def _asks(self, load: Load, target: Target) -> bool:
        if target.raw:
            return load.asks_floors
        return target.name == OURS or not load.only_ours

    def _figure(self, load: Load, target: Target) -> float | None:
        try:
            return load.read(self._generator.run(target, load.command(SECONDS)))
        except LoadFailed as failure:
            print(failure)
            self.failed |= target.name == OURS
            return None


def compare(loads: Sequence[Load], generator: LoadGenerator, scratch: Path, server_core: int) -> tuple[Figures, bool]:
    """All loads on all servers; and whether a run of our server failed."""
    figures: Figures = {}
    failed = False
    for is_secured, folder, start, starters in (
        (False, scratch / "plain", ours, STARTERS),
        (True, scratch / "secured", secured.ours, secured.SECURED),
    ):
        of_servers = [load for load in loads if load.is_secured is is_secured]
        if not of_servers:
            continue
        with ExitStack() as stack:
            (folder / OURS).mkdir(parents=True)
            peers = {name: starters[name] for name in chosen("PEERS", STARTERS) if name in starters}
            targets = [start(folder / OURS, stack), *start_peers(peers, folder, stack)]
            for target in targets:
                pin(target.pid, server_core)
            comparison = Comparison(generator, targets)
            comparison.warm_up(of_servers[0])
            figures |= {load.key: comparison.medians(load) for load in of_servers}
            failed |= comparison.failed
    return figures, failed


def check(names: Iterable[str], bench: Bench) -> tuple[list[Check], bool]:
    """The rows of the checks at size; and whether one failed."""
    rows, failed = [], False
    for name in names:
        try:
            found = CHECKS[name](bench)
        except LeftOut as reason:
            print(f"{name} is left out: {reason}")
            continue
        except LoadFailed as failure:
            print(failure)
            found, failed = [Check(name, "failed", "", False)], True
        rows.extend(found)
        for row in found:
            print(f"{row.title}: {row.figure}")
    return rows, failed


def verdicts(load: Load, figures: Figures) -> list[tuple[str, bool]]:
    """The targets of a load that can be judged, and whether they are met."""
    mine = figures[load.key].get(OURS)
    if mine is None:
        return [("a run", False)]
    limits = [(each, figures[load.key].get(each), at_most) for each, at_most in load.at_most.items()]
    limits += [(f"of {key}", figures.get(key, {}).get(OURS), at_most) for key, at_most in load.at_most_of.items()]
    return [
        (f"<= {at_most:.2g} {name}", mine / other <= at_most) for name, other, at_most in limits if other is not None
    ]


def markdown(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def print_loads(loads: Sequence[Load], figures: Figures) -> None:
    servers = list(dict.fromkeys(name for figure in figures.values() for name in figure))
    others = [name for name in servers if name != OURS]
    header = ["load", *servers, *(f"ours / {name}" for name in others), "target", "met"]
    print(f"\n{markdown(header)}\n|{'---|' * len(header)}")
    for load in loads:
        print(markdown([load.title, *_cells(figures[load.key], servers, others), *_judged(verdicts(load, figures))]))


def _cells(found: Mapping[str, float], servers: Iterable[str], others: Iterable[str]) -> list[str]:
    ratios = [found[OURS] / found[name] if OURS in found and name in found else None for name in others]
    return [
        *("-" if name not in found else f"{found[name]:,.2f}" for name in servers),
        *("-" if ratio is None else f"{ratio:.2g}" for ratio in ratios),
    ]


def _judged(judged: Sequence[tuple[str, bool]]) -> list[str]:
    return ["; ".join(text for text, _ in judged) or "-", "; ".join("yes" if met else "no" for _, met in judged) or "-"]


def print_checks(rows: Iterable[Check]) -> None:
    print("\n| at size | | target | met |\n|---|---|---|---|")
    for row in rows:
        print(markdown([row.title, row.figure, row.target, "yes" if row.met else "no"]))


def allow_descriptors() -> None:
    """As many as the hard limit has: ten thousand members are ten thousand sockets at both ends."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard != resource.RLIM_INFINITY and hard < DESCRIPTORS_WANTED:
        print(f"only {hard} file descriptors are allowed: what needs more will fail (ulimit -n {DESCRIPTORS_WANTED})")


def terminated(*_: object) -> NoReturn:
    """Leave as on Ctrl-C, so that what was started is stopped."""
    sys.exit(SIGTERM_EXIT)


def main() -> None:
    if shutil.which("go") is None:
        sys.exit("Go is missing: install it (https://go.dev/dl), the load generator is written in it")
    signal.signal(signal.SIGTERM, terminated)
    assert isinstance(sys.stdout, io.TextIOWrapper)
    sys.stdout.reconfigure(line_buffering=True)  # a pipe sees each round when it is over
    names = chosen("ONLY", [*(load.key for load in LOADS), *CHECKS])
    loads = [load for load in LOADS if load.key in names]
    allow_descriptors()
    server_core, load_core = cores()
    rows: list[Check] = []
    failed = False
    with tempfile.TemporaryDirectory(prefix="bench-coordinator-") as folder:
        scratch = Path(folder)
        generator = LoadGenerator(scratch, load_core)
        figures: Figures = {}
        if loads:
            figures, failed = compare(loads, generator, scratch, server_core)
        checks = [name for name in CHECKS if name in names]
        if checks:
            rows, check_failed = check(checks, Bench(generator, scratch, server_core, ROUNDS))
            failed |= check_failed
    if loads:
        print_loads(loads, figures)
    if rows:
        print_checks(rows)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as problem:
        sys.exit(f"{' '.join(problem.cmd)}: {problem.stderr or problem}")
    except KeyboardInterrupt:
        sys.exit("stopped")
