"""Writes docs/audit-cases.md: plays each case of tests/e2e/audit_cases.py with each client (about ten minutes).

    python docs/make_audit_cases.py [--only CASE,…] [--clients CLIENT,…] [--stories]

With `--only` or `--clients` it plays these alone and replaces their cells; `--stories` prints what is said of each.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from coordinator.explain.notes import notes  # noqa: E402
from coordinator.explain.story import tell  # noqa: E402
from coordinator.explain.words import utc_clock  # noqa: E402
from interop.driver import Driver, DriverFailed, DriverMissing, java_driver, python_driver  # noqa: E402
from interop.scene import Scene  # noqa: E402
from tests.differential.kafka import KafkaMissing, kafka_jars  # noqa: E402
from tests.e2e.audit_cases import CASES, SERVER_SETTINGS, Case  # noqa: E402
from tests.servers import RunningServer  # noqa: E402

PAGE: Final = ROOT / "docs" / "audit-cases.md"
HEAD: Final = """# What the audit tells of each way to rebalance

Played with stock clients; `make audit-cases` makes this table, and [the cases](../tests/e2e/audit_cases.py) say what is
asserted. ✓: told in full, with the clients by name and host. A number: what the protocol does not tell the coordinator,
listed below; the audit then says no more than it knows. –: the client cannot do it.

"""

PYTHON_CLIENTS: Final = ("kafka-python", "aiokafka", "confluent-kafka")
CLIENTS: Final = (*PYTHON_CLIENTS, "java")
numbers = count()


def main() -> int:
    chosen = _arguments()
    cases = {name: CASES[name] for name in chosen.only or CASES}
    failed = False
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        commands = {client: python_driver(client) for client in PYTHON_CLIENTS if client in chosen.clients}
        try:
            if "java" not in chosen.clients:
                raise DriverMissing("it is not among --clients")
            classes = Path(scratch, "classes")
            classes.mkdir()
            commands["java"] = java_driver([f"{kafka_jars()}/*"], classes)
        except (DriverMissing, KafkaMissing) as missing:
            print(f"without the Java client: {missing}", file=sys.stderr)
        shared = stack.enter_context(RunningServer(_folder(scratch, "shared"), SERVER_SETTINGS))
        names, cells = _read_page() if chosen.only or chosen.clients != CLIENTS else ({}, {})
        abilities = {}
        for client, command in commands.items():
            with Driver(command) as probe:
                names[client] = f"{client} {probe.version}"
                abilities[client] = probe.can
        for case in cases.values():
            for client, command in commands.items():
                if case.needs and case.needs not in abilities[client]:
                    cells[case.title, client] = "–"
                    continue
                unknown = _play(case, command, shared, scratch, with_stories=chosen.stories)
                failed |= unknown.startswith("FAILED")
                print(f"{case.title}, {client}: {unknown or 'told'}", file=sys.stderr)
                cells[case.title, client] = f"{unknown[0].upper()}{unknown[1:]}." if unknown else "✓"
    _write_page(names, cells)
    return int(failed)


Cells = dict[tuple[str, str], str]
"""(title of a case, client) → a check mark, a dash, or the sentence that says what remains unknown."""


def _read_page() -> tuple[dict[str, str], Cells]:
    """The clients with their versions, and the cells of the page as it is."""
    names: dict[str, str] = {}
    cells: Cells = {}
    if not PAGE.exists():
        return names, cells
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    sentences = dict(line.split(". ", 1) for line in lines if line[:1].isdigit())
    header, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    names = {name.split(" ")[0]: name for name in header[1:]}
    for title, *row in rows:
        for client, cell in zip(names, row, strict=True):
            cells[title, client] = sentences.get(cell, cell)
    return names, cells


def _write_page(names: dict[str, str], cells: Cells) -> None:
    clients = [client for client in CLIENTS if client in names]
    sentences: list[str] = []
    rows = []
    for case in CASES.values():
        row = []
        for client in clients:
            cell = cells.get((case.title, client), "–")
            if cell not in "✓–" and cell not in sentences:
                sentences.append(cell)
            row.append(cell if cell in "✓–" else str(sentences.index(cell) + 1))
        rows.append(f"| {case.title} | {' | '.join(row)} |")
    lines = [f"| case | {' | '.join(names[client] for client in clients)} |", "|---" * (len(clients) + 1) + "|", *rows]
    lines += ["", *(f"{number}. {text}" for number, text in enumerate(sentences, 1))]
    PAGE.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="play the cases of the audit with stock clients")
    parser.add_argument("--only", type=_names_of(tuple(CASES)), default=())
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


def _play(case: Case, command: list[str], shared: RunningServer, scratch: str, *, with_stories: bool) -> str:
    """Play a case with a client; return what remains unknown, or that the case failed and how."""
    number = next(numbers)
    start: Callable[[], Driver] = lambda: Driver(command)  # noqa: E731
    with ExitStack() as stack:
        server = shared
        if case.own_server:
            settings = {**SERVER_SETTINGS, **case.settings}
            server = stack.enter_context(RunningServer(_folder(scratch, str(number)), settings))
        others = {"aiokafka": lambda: Driver(python_driver("aiokafka"))}
        scene = Scene(server, start, f"case{number}", stack, others=others)
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
        story = tell(history, generation)
        print(f"{story.headline}.", *story.paragraphs, *(f"try: {each}" for each in story.advice), sep="\n    ")
    for note in notes(history):
        print(f"{utc_clock(note.time_ms)}: {note.text}")


def _folder(scratch: str, name: str) -> Path:
    folder = Path(scratch, name)
    folder.mkdir()
    return folder


if __name__ == "__main__":
    sys.exit(main())
