"""Plays the matrix of clients and scenarios: `python -m interop`, or `make interop`."""

import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Final

import click
import msgspec

from interop.builds import ALL, BUILT, OLD_PYTHON, PYTHON
from interop.matrix import PLAYERS, Matrix, OnKafka, load, on_kafka, run, stored
from interop.play import Play, Result
from interop.report import junit, problems, write_page
from interop.scenarios import SCENARIOS
from interop.targets import ALL_TARGETS, KAFKA, OURS, TARGETS
from tests.differential.kafka import KafkaMissing

RESULTS: Final = BUILT / "results.json"
JUNIT: Final = BUILT / "junit.xml"
ON_KAFKA: Final = Path(__file__).parent / "on_kafka.json"
"""What came of the plays on Apache Kafka, written with the page, for runs without it."""

CI_SCENARIOS: Final = (
    "first_join",
    "scale",
    "polite_leave",
    "killed",
    "commit_and_resume",
    "stream_reads_all",
    "share_explicit",
)
"""What the clients that are not Python's play with --ci; one is for a client without groups, one for share groups."""
OLD_PYTHON_SCENARIOS: Final = (
    *CI_SCENARIOS,
    "stopped_and_back",
    "static_restart",
    "static_fencing",
    "cooperative_assignor",
    "subscription_changes",
    "server_restarts",
    "over_plain",
)
"""What the oldest versions of Python's clients play with --ci: where versions differed before."""
BETWEEN_VERSIONS: Final = ("java-3.4", "java-3.7")
"""Neither the oldest nor the newest of their clients: without --ci alone."""


def _names(known: Collection[str]) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    def parse(_: click.Context, option: click.Parameter, value: str) -> list[str]:
        names = [name.strip() for name in value.split(",") if name.strip()]
        unknown = [name for name in names if name not in known]
        if unknown:
            raise click.BadParameter(f"no {option.name} {unknown[0]!r}; there are {', '.join(known)}")
        return names

    return parse


@click.command()
@click.option("--target", "targets", default=",".join(TARGETS), callback=_names(ALL_TARGETS), show_default=True)
@click.option("--only", "clients", default=",".join(ALL), callback=_names(ALL), help="Clients, comma-separated.")
@click.option(
    "--scenarios", default=",".join(SCENARIOS), callback=_names(SCENARIOS), help="Scenarios, comma-separated."
)
@click.option("--players", default=PLAYERS, show_default=True, type=click.IntRange(1, 16), help="Plays at a time.")
@click.option("--ci", is_flag=True, help="This server: Python's clients in all scenarios, others and old ones in some.")
@click.option("--page/--no-page", default=None, help="Write docs/interop.md; by default after a whole matrix.")
def main(
    targets: list[str], clients: list[str], scenarios: list[str], players: int, ci: bool, page: bool | None
) -> None:
    """Play each scenario with each client, against this server and Apache Kafka."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # Drivers are killed, also Spark's, which then cannot remove its temporary files: they all go with this folder.
    with tempfile.TemporaryDirectory(prefix="interop-", ignore_cleanup_errors=True) as scratch:
        os.environ["TMPDIR"] = tempfile.tempdir = scratch
        _main(targets, clients, scenarios, players, ci, page)


def _is_played_in_ci(client: str, scenario: str) -> bool:
    if client in PYTHON:
        return True
    if client in BETWEEN_VERSIONS:
        return False
    return scenario in (OLD_PYTHON_SCENARIOS if client in OLD_PYTHON else CI_SCENARIOS)


def _main(
    targets: list[str], clients: list[str], scenarios: list[str], players: int, ci: bool, page: bool | None
) -> None:
    began = time.monotonic()
    wanted = [(client, name) for name in scenarios for client in clients]
    if ci:
        targets = [OURS]
        wanted = [(client, name) for client, name in wanted if _is_played_in_ci(client, name)]
        clients = quick(clients)
    matrix = _play(clients, targets, wanted, players)
    matrix.on_kafka = msgspec.json.decode(ON_KAFKA.read_bytes(), type=OnKafka)
    if not ci:
        is_whole = len(clients) == len(ALL) and len(scenarios) == len(SCENARIOS)
        _keep(matrix, is_whole if page is None else page)
    JUNIT.parent.mkdir(exist_ok=True)
    JUNIT.write_text(junit(matrix), encoding="utf-8")
    found = problems(matrix)
    for line in found:
        print(line)
    print(f"{len(found)} problems; {time.monotonic() - began:.0f} s; {os.path.relpath(JUNIT)}")
    sys.exit(1 if found else 0)


def quick(clients: Sequence[str]) -> list[str]:
    """The clients whose drivers are built already or soon; says which are left out."""
    slow = [name for name in clients if ALL[name].slow_build and not ALL[name].is_built()]
    for name in slow:
        print(f"left out: {name}: its driver takes long to build; `make interop ONLY={name}` builds it")
    return [name for name in clients if name not in slow]


def _play(clients: Sequence[str], targets: Sequence[str], wanted: Sequence[tuple[str, str]], players: int) -> Matrix:
    """Play with all clients whose drivers can be built, and say which are left out."""
    matrix = Matrix()
    matrix.build(clients)
    for name, why in matrix.skipped.items():
        print(f"left out: {name}: {why}")
    for target_name in targets:
        try:
            run(matrix, target_name, wanted, _report, players)
        except KafkaMissing as missing:
            print(f"left out: Apache Kafka: {missing}")
    return matrix


def _keep(matrix: Matrix, with_page: bool) -> None:
    """Add the results to those of earlier runs, and write the page of all."""
    stored(matrix, RESULTS)
    known = load(RESULTS)
    if KAFKA in known.results:
        matrix.on_kafka = on_kafka(known)
    if with_page:
        write_page(known)
        ON_KAFKA.write_bytes(msgspec.json.format(msgspec.json.encode(on_kafka(known)), indent=1) + b"\n")


def _report(play: Play, result: Result, number: int, count: int) -> None:
    what = f"[{number}/{count}] {play.target}: {play.client}, {SCENARIOS[play.scenario].title}"
    more = f": {result.message}" if result.message else f"; told: {'; '.join(result.told)}" if result.told else ""
    print(f"{what}: {result.outcome} in {result.seconds:.1f} s{more}", flush=True)


if __name__ == "__main__":
    main()
