"""Plays the audit cases of a group protocol with each of its clients, a few at a time, in one home."""

import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final, Protocol

from coordinator.explain.notes import notes
from coordinator.explain.story import story_of
from coordinator.explain.words import utc_clock
from interop.builds import ALL, CLASSIC, CONSUMER
from interop.driver import Driver, DriverMissing, java_driver, python_driver
from interop.play import place_of
from interop.scene import Scene, Server
from tests.differential.kafka import KafkaMissing, kafka_jars
from tests.e2e import audit_cases, audit_cases_of_epochs
from tests.e2e.audit_cases import Case
from tests.e2e.case_homes import Home

StartDriver = Callable[[], Driver]


class Titled(Protocol):
    @property
    def title(self) -> str: ...


class ShownTable(Protocol):
    """What a page shows of a table."""

    @property
    def cases(self) -> Mapping[str, Titled]: ...

    @property
    def clients(self) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class Table:
    """The cases of one group protocol, and the clients that play them."""

    title: str
    protocol: str
    cases: Mapping[str, Case]
    clients: tuple[str, ...]
    settings: Mapping[str, str]


PYTHON_CLIENTS: Final = ("kafka-python", "aiokafka", "confluent-kafka")
TABLES: Final = (
    Table("The classic protocol", CLASSIC, audit_cases.CASES, (*PYTHON_CLIENTS, "java"), audit_cases.SERVER_SETTINGS),
    Table(
        "Consumer groups (KIP-848)",
        CONSUMER,
        audit_cases_of_epochs.CASES,
        ("java-consumer", "confluent-kafka-consumer", "rdkafka-consumer", "franz-go-consumer"),
        audit_cases_of_epochs.SERVER_SETTINGS,
    ),
)
CASES: Final = tuple(dict.fromkeys(name for table in TABLES for name in table.cases))
CLIENTS: Final = tuple(client for table in TABLES for client in table.clients)
TOLD: Final = "✓"
IMPOSSIBLE: Final = "–"
numbers: Final = count()

Cells = dict[tuple[str, str], str]
"""(title of a case, client) → a check mark, a dash, or the sentence that says what remains unknown."""


def drivers_of(clients: Collection[str], scratch: Path) -> dict[str, StartDriver]:
    """How the drivers of these clients are started; it says which are left out."""
    found: dict[str, StartDriver] = {}
    for client in clients:
        try:
            if client in PYTHON_CLIENTS:
                found[client] = partial(Driver, python_driver(client))
            elif client == "java":
                classes = scratch / "classes"
                classes.mkdir()
                found[client] = partial(Driver, java_driver([f"{kafka_jars()}/*"], classes))
            else:
                found[client] = ALL[client].built().start
        except (DriverMissing, KafkaMissing) as missing:
            print(f"without {client}: {missing}", file=sys.stderr)
    return found


class Player:
    """Plays cases in a home; `has_failed` says whether one failed."""

    def __init__(self, home: Home, scratch: Path, *, players: int = 1, with_stories: bool = False) -> None:
        self._home, self._scratch = home, scratch
        self._players, self._with_stories = players, with_stories
        self.has_failed = False

    def play(
        self, table: Table, cases: Iterable[Case], drivers: Mapping[str, StartDriver]
    ) -> tuple[Cells, dict[str, str]]:
        """Play cases with each client; the cells, and the clients with their versions."""
        names, abilities = {}, {}
        for client, start in drivers.items():
            with start() as probe:
                names[client], abilities[client] = f"{client} {probe.version}", probe.can
        pairs = [(case, client) for case in cases for client in drivers]
        with self._home.server(self._folder(), table.settings) as shared:

            def cell(pair: tuple[Case, str]) -> str:
                case, client = pair
                if case.needs and case.needs not in abilities[client]:
                    return IMPOSSIBLE
                return self._cell(case, table, client, drivers[client], shared)

            with ThreadPoolExecutor(self._players) as pool:
                found = list(pool.map(cell, pairs))
        return {(case.title, client): text for (case, client), text in zip(pairs, found, strict=True)}, names

    def _cell(self, case: Case, table: Table, client: str, start: StartDriver, shared: Server) -> str:
        unknown = self._play(case, table, start, shared)
        self.has_failed |= unknown.startswith("FAILED")
        print(f"{case.title}, {client}: {unknown or 'told'}", file=sys.stderr, flush=True)
        return f"{unknown[0].upper()}{unknown[1:]}." if unknown else TOLD

    def _play(self, case: Case, table: Table, start: StartDriver, shared: Server) -> str:
        """Play a case with a client; return what remains unknown, or that the case failed and how."""
        with ExitStack() as stack:
            server = shared
            if case.own_server:
                server = stack.enter_context(self._home.server(self._folder(), {**table.settings, **case.settings}))
            others = {"aiokafka": lambda: Driver(python_driver("aiokafka"))}
            scene = self._home.scene(
                server, start, f"case{next(numbers)}", stack, protocol=table.protocol, others=others
            )
            try:
                case.play(scene)
            except Exception as problem:  # one that fails ends no other play
                first = str(problem).splitlines()[:1] or ["an assertion"]
                return f"FAILED: {place_of(problem)}: {first[0]}"
            finally:
                if self._with_stories:
                    _print_stories(scene)
            return scene.unknown

    def _folder(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self._scratch))


def _print_stories(scene: Scene) -> None:
    history = scene.history()
    for generation in history.generations:
        story = story_of(history, generation)
        print(f"{story.headline}.", *story.paragraphs, *(f"try: {each}" for each in story.advice), sep="\n    ")
    for note in notes(history):
        print(f"{utc_clock(note.time_ms)}: {note.text}")
