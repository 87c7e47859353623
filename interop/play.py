"""Plays one scenario with one client, in a process of its own: the matrix ends it with all that it has started.

The arguments come as one line of JSON on stdin, and the result goes to stdout. When stdin ends, so does the process.
"""

import json
import os
import signal
import sys
import threading
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from interop.builds import ALL
from interop.driver import DriverFailed
from interop.invariants import rebalances
from interop.scenarios import SCENARIOS
from interop.scene import Scene
from interop.security import Secured
from interop.targets import AUDITED, OURS, WATCHED, TestingServer, target
from interop.watched_scene import WatchedScene

MESSAGE_CHARACTERS = 600


class Play(msgspec.Struct, frozen=True):
    """What is played. `bootstrap` is that of the shared server; empty if the scenario has one of its own."""

    scenario: str
    client: str
    target: str
    number: int
    folder: str
    bootstrap: str = ""
    others: tuple[str, ...] = ()
    secured: Secured | None = None
    """How members connect to the shared server, if the scenario says so."""


@dataclass
class Result:
    """`outcome` is passed, failed or broken: a client or server failed, or the play itself is broken."""

    outcome: str
    message: str = ""
    seconds: float = 0
    rebalances: int = 0
    generations: int = 0
    told: list[str] = field(default_factory=list)
    """What a member was told that was refused; it has to be the same on all servers."""


class SharedServer:
    """A server that others use too, so it is not killed."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def kill(self) -> int:
        raise AssertionError("a scenario that kills the server needs one of its own")

    def start(self) -> None:
        raise AssertionError("a scenario that starts the server needs one of its own")


def played(play: Play) -> Result:
    scenario = SCENARIOS[play.scenario]
    client = ALL[play.client]
    driver = client.built()
    others = {name: ALL[name].built().start for name in play.others}
    began = time.monotonic()
    result = Result("passed")
    with ExitStack() as stack:
        server: Any = SharedServer(play.bootstrap)
        faults: TestingServer | None = None
        if scenario.faults:
            server = faults = stack.enter_context(TestingServer(Path(play.folder)))
        elif scenario.own_server:
            server = stack.enter_context(target(play.target, Path(play.folder)))
        scene = (WatchedScene if play.target == WATCHED else Scene)(
            server,
            driver.start,
            f"p{play.number}-{play.target}",
            stack,
            audited=play.target in AUDITED,
            audits_offsets=play.target == OURS,
            protocol=client.protocol,
            session_ms=scenario.session_ms,
            partitions=scenario.partitions,
            others=others,
            server_faults=faults,
            secured=play.secured,
        )
        try:
            scenario.play(scene)
        except (AssertionError, DriverFailed) as problem:
            text = " ".join(str(problem).split()) or place_of(problem)
            result = Result("failed", text[:MESSAGE_CHARACTERS])
        result.told = scene.told
        result.rebalances = rebalances(scene.members)
        result.generations = len(scene.history().generations) if scene.audited else 0
    result.seconds = round(time.monotonic() - began, 2)
    return result


def place_of(problem: BaseException) -> str:
    """Where an assertion without a text failed."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"


def _end_with_stdin() -> None:
    sys.stdin.read()
    os.killpg(os.getpgrp(), signal.SIGKILL)


def main() -> None:
    play = msgspec.json.decode(sys.stdin.readline(), type=Play)
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    try:
        result = played(play)
    except Exception as problem:
        result = Result("broken", f"{type(problem).__name__}: {problem} ({place_of(problem)})"[:MESSAGE_CHARACTERS])
    print(json.dumps(asdict(result)), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
