"""The basics of Kafka Streams, with the classic protocol and with its own, at home and behind a node that watches."""

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from interop.builds import CLASSIC
from interop.play import place_of
from tests.cluster.running import WatchedKafka
from tests.cluster.told_groups import problems_of
from tests.e2e.case_homes import OWN, Home
from tests.e2e.playing_tables import TOLD
from tests.e2e.streams_cases import CASES, SECONDS, STREAMS, StreamsScene, played
from tests.eos.java_programs import VERSION
from tests.waiting import wait_for

PROTOCOLS: Final[Mapping[str, str]] = {"kafka-streams": STREAMS, "kafka-streams-classic": CLASSIC}
"""Column → the group protocol."""
NAMES: Final[dict[str, str]] = {client: f"{client} {VERSION}" for client in PROTOCOLS}
TASKS: Final = "which tasks moved: nodes tell of the partitions that the tasks read"
NO_GOODBYE: Final = "that it was closed: Kafka Streams sends no LeaveGroup then"
TWO: Final = "two-StreamThread-1-consumer"


@dataclass(frozen=True)
class Basic:
    """A case of streams groups. `says`: parts of sentences that are told, whatever protocol and home."""

    title: str
    says: tuple[str, ...]
    classic_unknown: str = ""
    """What remains unknown with the classic protocol."""
    moves_tasks: bool = True


BASICS: Final[Mapping[str, Basic]] = {
    "the first instance joins": Basic(
        "An instance joins", ("one-StreamThread-1-consumer", "joined", "got their first owner"), moves_tasks=False
    ),
    "another instance joins": Basic("Another instance joins", (f"{TWO} (127.0.0.1", "joined", "partitions moved")),
    "an instance is closed in order": Basic("An instance is closed", (f"{TWO} (127.0.0.1",), NO_GOODBYE),
    "an instance is killed": Basic("An instance is killed", ("its session timeout", f"connection of {TWO} closed")),
    "an instance is suspended": Basic("An instance is suspended", ("was silent for", "stayed open")),
}
LEFT: Final = f"{TWO} (127.0.0.1, apache-kafka-java {VERSION}) left"
CLOSED: Final = "closed in order (Kafka Streams sends no LeaveGroup then)"


@dataclass(frozen=True)
class StreamsTable:
    title: str
    cases: Mapping[str, Basic]
    clients: tuple[str, ...]


TABLE: Final = StreamsTable("Kafka Streams", BASICS, tuple(PROTOCOLS))


def says_of(name: str, protocol: str) -> tuple[str, ...]:
    if name == "an instance is closed in order":
        return (*BASICS[name].says, CLOSED if protocol == CLASSIC else LEFT)
    return BASICS[name].says


def played_basic(name: str, client: str, home: Home) -> str:
    """Play a case; a check mark, what remains unknown, or that it failed and how.

    Raises ProgramsMissing: Java, a compiler or Maven is not there.
    """
    protocol, basic = PROTOCOLS[client], BASICS[name]
    try:
        with (
            tempfile.TemporaryDirectory(prefix="streams-basic-") as folder,
            played(CASES[name], Path(folder), home, protocol) as scene,
        ):
            _check(scene, says_of(name, protocol))
            tells_tasks = "got task" in scene.told()
    except AssertionError as problem:
        text = f"FAILED: {str(problem) or place_of(problem)}"
    else:
        text = basic.classic_unknown if protocol == CLASSIC else ""
        if protocol == STREAMS and basic.moves_tasks and not tells_tasks:
            assert home is not OWN, "a coordinator of streams groups tells who got which task"
            text = TASKS
    print(f"{basic.title}, {client}: {text or 'told'}", file=sys.stderr, flush=True)
    return f"{text[0].upper()}{text[1:]}." if text else TOLD


def _check(scene: StreamsScene, says: tuple[str, ...]) -> None:
    """Nodes tell some seconds later."""
    wait_for(lambda: all(said in scene.told() for said in says), SECONDS, f"{says} to be told", every_ms=500)
    if isinstance(scene.server, WatchedKafka):
        problems = problems_of(scene.server.bootstrap, scene.server.broker)
        assert not problems, problems
