"""Writes docs/audit-cases.md: plays each case with each client (about 25 minutes).

    python docs/make_audit_cases.py [--only CASE,…] [--clients CLIENT,…] [--stories]

With `--only` or `--clients` it plays these alone and replaces their cells; `--stories` prints what is said of each.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.e2e.case_homes import OWN  # noqa: E402
from tests.e2e.playing_tables import (  # noqa: E402
    CASES,
    CLIENTS,
    IMPOSSIBLE,
    TABLES,
    TOLD,
    Cells,
    Player,
    ShownTable,
    drivers_of,
)

PAGE: Final = ROOT / "docs" / "audit-cases.md"
HEAD: Final = """# What the audit tells of each way to rebalance

Played with stock clients; `make audit-cases` makes these tables. The cases say what is asserted: those
[of the classic protocol](../tests/e2e/audit_cases.py) and those
[of consumer groups](../tests/e2e/audit_cases_of_epochs.py).
✓: told in full, with the clients by name and host. A number: what the protocol does not tell the coordinator, listed
below the table; the audit then says no more than it knows. –: the client cannot do it.
"""
UNPLAYED: Final = "?"
MARKS: Final = (TOLD, IMPOSSIBLE, UNPLAYED)


def main() -> int:
    chosen = arguments("play the cases of the audit with stock clients")
    with tempfile.TemporaryDirectory() as scratch:
        started = drivers_of(chosen.clients, Path(scratch))
        player = Player(OWN, Path(scratch), with_stories=chosen.stories)
        names, cells = own_page() if chosen.only or chosen.clients != CLIENTS else ({}, {})
        for table in TABLES:
            drivers = {client: start for client, start in started.items() if client in table.clients}
            cases = [table.cases[name] for name in chosen.only or table.cases if name in table.cases]
            if drivers and cases:
                played, versions = player.play(table, cases, drivers)
                cells |= played
                names |= versions
    tables = ["\n".join(lines_of(table, table.title, names, cells)) for table in TABLES]
    PAGE.write_text("\n".join([HEAD, *tables]), encoding="utf-8")
    return int(player.has_failed)


def own_page() -> tuple[dict[str, str], Cells]:
    """The clients with their versions, and the cells of the page as it is."""
    names: dict[str, str] = {}
    cells: Cells = {}
    for lines in sections(PAGE).values():
        found, marks = read_table(lines)
        names |= found
        cells |= {where: text for where, (text,) in marks.items()}
    return names, cells


# ---- tables of cells with one mark or several


def sections(page: Path) -> dict[str, list[str]]:
    """The lines of each section of a page, by its title."""
    if not page.exists():
        return {}
    texts = page.read_text(encoding="utf-8").split("\n## ")[1:]
    return {lines[0]: lines[1:] for text in texts if (lines := text.splitlines())}


def read_table(lines: list[str]) -> tuple[dict[str, str], dict[tuple[str, str], tuple[str, ...]]]:
    """The clients with their versions, and what the marks of the cells stand for."""
    sentences = dict(line.split(". ", 1) for line in lines if line[:1].isdigit())
    header, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    clients = [name.split(" ")[0] for name in header[1:]]
    cells = {
        (title, client): tuple(sentences.get(mark, mark) for mark in cell.split())
        for title, *row in rows
        for client, cell in zip(clients, row, strict=True)
    }
    return dict(zip(clients, header[1:], strict=True)), cells


def lines_of(table: ShownTable, title: str, names: Mapping[str, str], *pages: Cells) -> Iterator[str]:
    """A section: a table whose cells have a mark for each page, and below it the sentences that numbers stand for."""
    clients = [client for client in table.clients if client in names]
    sentences: list[str] = []

    def mark(text: str) -> str:
        if text not in MARKS and text not in sentences:
            sentences.append(text)
        return text if text in MARKS else str(sentences.index(text) + 1)

    yield from (f"## {title}", "", f"| case | {' | '.join(names[client] for client in clients)} |")
    yield "|---" * (len(clients) + 1) + "|"
    for case in table.cases.values():
        row = [[mark(page.get((case.title, client), UNPLAYED)) for page in pages] for client in clients]
        yield f"| {case.title} | {' | '.join(' '.join(marks) for marks in row)} |"
    yield from ("", *(f"{number}. {text}" for number, text in enumerate(sentences, 1)), "")


def arguments(
    description: str,
    *more: Callable[[argparse.ArgumentParser], object],
    clients: tuple[str, ...] = CLIENTS,
) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--only", type=_names_of(CASES), default=())
    parser.add_argument("--clients", type=_names_of(clients), default=clients)
    parser.add_argument("--stories", action="store_true")
    for add in more:
        add(parser)
    return parser.parse_args()


def _names_of(known: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    def names(text: str) -> tuple[str, ...]:
        found = tuple(filter(None, text.split(",")))
        if unknown := [each for each in found if each not in known]:
            raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(known)}")
        return found

    return names


if __name__ == "__main__":
    sys.exit(main())
