"""Plays scenarios with clients, a few at a time, each in a process of its own that is ended in any case."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from interop.builds import ALL, CLASSIC, ROOT, SHARE
from interop.driver import ASSIGNORS, DriverFailed, DriverMissing
from interop.play import Play, Result
from interop.scenarios import REFUSALS, SCENARIOS
from interop.scenarios.scenario import Scenario
from interop.security import SecuredListeners
from interop.targets import BY_NODES, FRONT, KAFKA, NAMES, OURS, target

ENDING_SECONDS: Final = 10
CONSUMER_PROTOCOL: Final = "consumer-protocol"
"""The ability to have the group protocol of KIP-848."""
SHARE_PROTOCOL: Final = "share-protocol"
"""The ability to join share groups (KIP-932)."""
PLAYERS: Final = 4
"""Plays at a time: they mostly wait."""


@dataclass(frozen=True)
class Ready:
    """A client whose driver is built."""

    name: str
    version: str
    can: frozenset[str]


class OnKafka(msgspec.Struct):
    """What came of the plays on Apache Kafka in an earlier run, for a run without it: client → scenario → …"""

    failures: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)
    told: dict[str, dict[str, list[str]]] = msgspec.field(default_factory=dict)
    """What members that were refused were told."""


@dataclass
class Matrix:
    """The clients that can be played, the others with a reason, and the results: target → client → scenario."""

    clients: dict[str, Ready] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    results: dict[str, dict[str, dict[str, Result]]] = field(default_factory=dict)
    on_kafka: OnKafka = field(default_factory=OnKafka)

    def build(self, names: Sequence[str]) -> None:
        """Build drivers, and ask each what it can do."""
        for name in names:
            try:
                with ALL[name].built().start() as probe:
                    self.clients[name] = Ready(name, probe.version, abilities(probe.can, ALL[name].protocol))
            except (DriverMissing, DriverFailed) as missing:
                self.skipped[name] = str(missing)

    def partners(self, scenario: Scenario, client: str) -> tuple[str, ...]:
        """The other clients that a scenario is played with."""
        able = [name for name in scenario.others if name in self.clients and name != client]
        return tuple(name for name in able if self.clients[name].can >= scenario.abilities)

    def can_play(self, scenario: Scenario, client: str) -> bool:
        if scenario.clients and client not in scenario.clients:
            return False
        protocol = ALL[client].protocol
        if (scenario.protocol or protocol) != protocol or (protocol == SHARE) != (scenario.protocol == SHARE):
            return False
        has_partners = not scenario.others or bool(self.partners(scenario, client))
        return has_partners and self.clients[client].can >= scenario.abilities

    def add(self, play: Play, result: Result) -> None:
        self.results.setdefault(play.target, {}).setdefault(play.client, {})[play.scenario] = result


def abilities(can: frozenset[str], protocol: str) -> frozenset[str]:
    """What members of this protocol can, of what their driver can: with the new one the server assigns partitions.

    Raises:
        DriverMissing: the driver does not have the protocol.
    """
    if protocol == CLASSIC:
        return can
    if (SHARE_PROTOCOL if protocol == SHARE else CONSUMER_PROTOCOL) not in can:
        raise DriverMissing(f"this version does not have the group protocol {protocol}")
    return can - ASSIGNORS


def plays_of(matrix: Matrix, target_name: str, wanted: Sequence[tuple[str, str]], folder: Path) -> list[Play]:
    """The plays of (client, scenario) pairs that are possible; the heavy ones come last."""
    pairs = [pair for pair in wanted if pair[0] in matrix.clients and matrix.can_play(SCENARIOS[pair[1]], pair[0])]
    pairs = [pair for pair in pairs if target_name == OURS or not SCENARIOS[pair[1]].faults]
    if target_name in BY_NODES:
        pairs = [pair for pair in pairs if not SCENARIOS[pair[1]].security]
    if target_name == FRONT:
        pairs = [pair for pair in pairs if SCENARIOS[pair[1]].protocol != SHARE]
    pairs.sort(key=lambda pair: (SCENARIOS[pair[1]].is_heavy, list(SCENARIOS).index(pair[1])))
    return [
        Play(
            scenario=name,
            client=client,
            target=target_name,
            number=number,
            folder=str(folder / f"{target_name}-{number}"),
            others=matrix.partners(SCENARIOS[name], client),
        )
        for number, (client, name) in enumerate(pairs)
    ]


def run(
    matrix: Matrix,
    target_name: str,
    wanted: Sequence[tuple[str, str]],
    told: Callable[[Play, Result, int, int], None],
    players: int = PLAYERS,
) -> None:
    """Play against one target. `told` hears of each result, its number and how many there will be."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="interop-")))
        plays = plays_of(matrix, target_name, wanted, folder)
        if not plays:
            return
        listeners = None
        if any(SCENARIOS[play.scenario].security for play in plays):
            listeners = SecuredListeners(folder / "security")
        shared = stack.enter_context(target(target_name, folder / "shared", listeners))
        if listeners is not None:
            listeners.add_users()
        ways = {} if listeners is None else listeners.secured()
        done = threading.Lock()
        count = 0

        def one(play: Play) -> None:
            nonlocal count
            if not (SCENARIOS[play.scenario].own_server or SCENARIOS[play.scenario].faults):
                secured = ways.get(SCENARIOS[play.scenario].security)
                play = msgspec.structs.replace(play, bootstrap=shared.bootstrap, secured=secured)
            result = play_in_process(play, SCENARIOS[play.scenario].seconds)
            with done:
                count += 1
                matrix.add(play, result)
                told(play, result, count, len(plays))

        light = [play for play in plays if not SCENARIOS[play.scenario].is_heavy]
        with ThreadPoolExecutor(players) as pool:
            list(pool.map(one, light))
        for play in plays[len(light) :]:
            one(play)


def play_in_process(play: Play, seconds: float, module: str = "interop.play") -> Result:
    """Play, and end the process and all that it has started: the processes of its group."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", module],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    late = threading.Event()

    def end() -> None:
        late.set()
        _end_group(process.pid)

    timer = threading.Timer(seconds, end)
    timer.start()
    line = errors = ""
    try:
        process.stdin.write(msgspec.json.encode(play).decode() + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
    except BrokenPipeError:
        pass  # it has ended: what it said follows
    finally:
        timer.cancel()
        _end_group(process.pid)
        errors = process.stderr.read()
        process.wait(ENDING_SECONDS)
        for pipe in (process.stdin, process.stdout, process.stderr):
            _close(pipe)
    if late.is_set():
        return Result("failed", f"it did not end within {seconds:g} s", round(time.monotonic() - began, 2))
    try:
        return Result(**json.loads(line))
    except (ValueError, TypeError):
        last = (errors.strip().splitlines() or ["without a word"])[-1]
        return Result("broken", f"the play ended: {last}", round(time.monotonic() - began, 2))


def _end_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _close(pipe: object) -> None:
    try:
        pipe.close()  # type: ignore[attr-defined]
    except BrokenPipeError:
        return


def stored(matrix: Matrix, path: Path) -> None:
    """Add the results to those that are stored in a file."""
    known = load(path)
    for client in matrix.clients.values():
        known.clients[client.name] = client
        known.skipped.pop(client.name, None)
    for name, why in matrix.skipped.items():
        if name not in known.clients:
            known.skipped[name] = why
    for target_name, clients in matrix.results.items():
        for client_name, scenarios in clients.items():
            known.results.setdefault(target_name, {}).setdefault(client_name, {}).update(scenarios)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(asdict(known)), indent=1))


def load(path: Path) -> Matrix:
    """The stored results; none if there is no such file."""
    return msgspec.json.decode(path.read_bytes(), type=Matrix) if path.exists() else Matrix()


def is_kafkas_too(matrix: Matrix, client: str, scenario: str) -> bool:
    """Whether the same client fails in the same scenario on Apache Kafka."""
    result = matrix.results.get(KAFKA, {}).get(client, {}).get(scenario)
    return result.outcome != "passed" if result is not None else scenario in matrix.on_kafka.failures.get(client, {})


def told_on_kafka(matrix: Matrix, client: str, scenario: str) -> list[str] | None:
    """What a member that was refused was told on Apache Kafka; None if that is not known."""
    result = matrix.results.get(KAFKA, {}).get(client, {}).get(scenario)
    if result is not None:
        return result.told if result.outcome == "passed" else None
    return matrix.on_kafka.told.get(client, {}).get(scenario)


def on_kafka(matrix: Matrix) -> OnKafka:
    """What `Matrix.on_kafka` is in later runs."""
    found = OnKafka()
    for client, of_client in sorted(matrix.results.get(KAFKA, {}).items()):
        results = {name: each for name, each in of_client.items() if name in SCENARIOS}
        failures = {name: result.message for name, result in sorted(results.items()) if result.outcome != "passed"}
        refusals = [(name, result) for name, result in sorted(results.items()) if name in REFUSALS]
        told = {name: each.told for name, each in refusals if each.outcome == "passed"}
        found.failures |= {client: failures} if failures else {}
        found.told |= {client: told} if told else {}
    return found


def title(target_name: str) -> str:
    return NAMES[target_name]
