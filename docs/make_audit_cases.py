"""Writes docs/audit-cases.md: plays each case with each client (about 25 minutes).

    python docs/make_audit_cases.py [--only CASE,…] [--clients CLIENT,…] [--stories]

With `--only` or `--clients` it plays these alone and replaces their cells; `--stories` prints what is said of each.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from coordinator.explain.notes import notes  # noqa: E402
from coordinator.explain.story import story_of  # noqa: E402
from coordinator.explain.words import utc_clock  # noqa: E402
from interop.builds import ALL, CLASSIC, CONSUMER  # noqa: E402
from interop.driver import Driver, DriverFailed, DriverMissing, java_driver, python_driver  # noqa: E402
from interop.scene import Scene  # noqa: E402
from tests.differential.kafka import KafkaMissing, kafka_jars  # noqa: E402
from tests.e2e import audit_cases, audit_cases_of_epochs  # noqa: E402
from tests.e2e.audit_cases import SERVER_SETTINGS, Case  # noqa: E402
from tests.servers import RunningServer  # noqa: E402

PAGE: Final = ROOT / "docs" / "audit-cases.md"
HEAD: Final = """# What the audit tells of each way to rebalance

Played with stock clients; `make audit-cases` makes these tables. The cases say what is asserted: those
[of the classic protocol](../tests/e2e/audit_cases.py) and those
[of consumer groups](../tests/e2e/audit_cases_of_epochs.py).
✓: told in full, with the clients by name and host. A number: what the protocol does not tell the coordinator, listed
below the table; the audit then says no more than it knows. –: the client cannot do it.
"""

StartDriver = Callable[[], Driver]


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
    Table("The classic protocol", CLASSIC, audit_cases.CASES, (*PYTHON_CLIENTS, "java"), SERVER_SETTINGS),
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
numbers = count()


def main() -> int:
    chosen = _arguments()
    has_failed = False
    with tempfile.TemporaryDirectory() as scratch:
        started = _drivers(chosen.clients, Path(scratch))
        names, cells = _read_page() if chosen.only or chosen.clients != CLIENTS else ({}, {})
        for table in TABLES:
            drivers = {client: start for client, start in started.items() if client in table.clients}
            cases = [table.cases[name] for name in chosen.only or table.cases if name in table.cases]
            if drivers and cases:
                has_failed |= _play_table(table, cases, drivers, scratch, names, cells, with_stories=chosen.stories)
    _write_page(names, cells)
    return int(has_failed)


def _drivers(clients: Collection[str], scratch: Path) -> dict[str, StartDriver]:
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


Cells = dict[tuple[str, str], str]
"""(title of a case, client) → a check mark, a dash, or the sentence that says what remains unknown."""


def _play_table(
    table: Table,
    cases: Iterable[Case],
    drivers: Mapping[str, StartDriver],
    scratch: str,
    names: dict[str, str],
    cells: Cells,
    *,
    with_stories: bool,
) -> bool:
    """Play the cases and fill in their cells; returns whether one failed."""
    has_failed = False
    abilities = {}
    for client, start in drivers.items():
        with start() as probe:
            names[client] = f"{client} {probe.version}"
            abilities[client] = probe.can
    with RunningServer(_folder(scratch, table.protocol), table.settings) as shared:
        for case in cases:
            for client, start in drivers.items():
                if case.needs and case.needs not in abilities[client]:
                    cells[case.title, client] = "–"
                    continue
                unknown = _play(case, table, start, shared, scratch, with_stories=with_stories)
                has_failed |= unknown.startswith("FAILED")
                print(f"{case.title}, {client}: {unknown or 'told'}", file=sys.stderr)
                cells[case.title, client] = f"{unknown[0].upper()}{unknown[1:]}." if unknown else "✓"
    return has_failed


def _read_page() -> tuple[dict[str, str], Cells]:
    """The clients with their versions, and the cells of the page as it is."""
    names: dict[str, str] = {}
    cells: Cells = {}
    if PAGE.exists():
        for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
            _read_table(section.splitlines(), names, cells)
    return names, cells


def _read_table(lines: list[str], names: dict[str, str], cells: Cells) -> None:
    sentences = dict(line.split(". ", 1) for line in lines if line[:1].isdigit())
    header, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    clients = [name.split(" ")[0] for name in header[1:]]
    names.update(zip(clients, header[1:], strict=True))
    for title, *row in rows:
        for client, cell in zip(clients, row, strict=True):
            cells[title, client] = sentences.get(cell, cell)


def _write_page(names: Mapping[str, str], cells: Cells) -> None:
    tables = ["\n".join(_lines_of(table, names, cells)) for table in TABLES]
    PAGE.write_text("\n".join([HEAD, *tables]), encoding="utf-8")


def _lines_of(table: Table, names: Mapping[str, str], cells: Cells) -> Iterator[str]:
    clients = [client for client in table.clients if client in names]
    sentences: list[str] = []
    yield from (f"## {table.title}", "", f"| case | {' | '.join(names[client] for client in clients)} |")
    yield "|---" * (len(clients) + 1) + "|"
    for case in table.cases.values():
        row = []
        for client in clients:
            cell = cells.get((case.title, client), "–")
            if cell not in "✓–" and cell not in sentences:
                sentences.append(cell)
            row.append(cell if cell in "✓–" else str(sentences.index(cell) + 1))
        yield f"| {case.title} | {' | '.join(row)} |"
    yield from ("", *(f"{number}. {text}" for number, text in enumerate(sentences, 1)), "")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="play the cases of the audit with stock clients")
    parser.add_argument("--only", type=_names_of(CASES), default=())
    parser.add_argument("--clients", type=_names_of(CLIENTS), default=CLIENTS)
    parser.add_argument("--stories", action="store_true")
    return parser.parse_args()


def _names_of(known: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    def names(text: str) -> tuple[str, ...]:
        found = tuple(filter(None, text.split(",")))
        if unknown := [each for each in found if each not in known]:
            raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(known)}")
        return found

    return names


def _play(
    case: Case, table: Table, start: StartDriver, shared: RunningServer, scratch: str, *, with_stories: bool
) -> str:
    """Play a case with a client; return what remains unknown, or that the case failed and how."""
    number = next(numbers)
    with ExitStack() as stack:
        server = shared
        if case.own_server:
            settings = {**table.settings, **case.settings}
            server = stack.enter_context(RunningServer(_folder(scratch, str(number)), settings))
        others = {"aiokafka": lambda: Driver(python_driver("aiokafka"))}
        scene = Scene(server, start, f"case{number}", stack, protocol=table.protocol, others=others)
        try:
            case.play(scene)
        except (AssertionError, DriverFailed) as problem:
            first = str(problem).splitlines()[:1] or ["an assertion"]
            return f"FAILED: {first[0]}"
        finally:
            if with_stories:
                _print_stories(scene)
        return scene.unknown


def _print_stories(scene: Scene) -> None:
    history = scene.history()
    for generation in history.generations:
        story = story_of(history, generation)
        print(f"{story.headline}.", *story.paragraphs, *(f"try: {each}" for each in story.advice), sep="\n    ")
    for note in notes(history):
        print(f"{utc_clock(note.time_ms)}: {note.text}")


def _folder(scratch: str, name: str) -> Path:
    folder = Path(scratch, name)
    folder.mkdir()
    return folder


if __name__ == "__main__":
    sys.exit(main())
