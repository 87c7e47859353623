"""Writes docs/watched-cases.md: plays the cases of the audit on Apache Kafka behind a node that only watches.

    python docs/make_watched_cases.py [--only CASE,…] [--clients CLIENT,…] [--versions 4.3.1,3.9.1] [--stories]

It takes about 40 minutes for the first version, and half as long for the other one. Cells that are not played stay.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from docs.make_audit_cases import arguments, lines_of, own_page, read_table, sections  # noqa: E402
from interop.builds import CLASSIC  # noqa: E402
from tests.differential.kafka import VERSION  # noqa: E402
from tests.e2e.case_homes import watched  # noqa: E402
from tests.e2e.playing_tables import TABLES, Cells, Player, Table, drivers_of  # noqa: E402

PAGE: Final = ROOT / "docs" / "watched-cases.md"
HEAD: Final = """# What nodes that only watch tell of each way to rebalance

The [cases of the audit](audit-cases.md), played with stock clients on Apache Kafka behind a
[node that only watches](cluster.md#only-watching); `make watched-cases` makes these tables. Each cell has two marks:
what this project's own coordinator tells, and what the node does.
✓: told in full. A number: what is not told, and why, listed below the table; the audit then says no more than it
knows. –: the client cannot do it. ?: it was not played.
"""
PLAYERS: Final = 3
"""Plays at a time: they mostly wait."""
CLASSIC_ONLY: Final = "3."
"""Versions whose consumer protocol (KIP-848) is a preview."""
VERSIONS: Final = (VERSION, "3.9.1")
Page = dict[str, tuple[dict[str, str], Cells]]
"""Title of a section → the clients with their versions, and the cells."""


def main() -> int:
    chosen = arguments("play the cases of the audit on a Kafka behind a node that watches", _add_options)
    page = _read_page()
    has_failed = False
    for version in chosen.versions:
        with tempfile.TemporaryDirectory() as scratch:
            started = drivers_of(chosen.clients, Path(scratch))
            player = Player(watched(version), Path(scratch), players=chosen.players, with_stories=chosen.stories)
            for table in _tables_of(version):
                drivers = {client: start for client, start in started.items() if client in table.clients}
                cases = [table.cases[name] for name in chosen.only or table.cases if name in table.cases]
                if drivers and cases:
                    played, names = player.play(table, cases, drivers)
                    old_names, old_cells = page.get(_title(table, version), ({}, {}))
                    page[_title(table, version)] = old_names | names, old_cells | played
                    _write_page(page)
            has_failed |= player.has_failed
    return int(has_failed)


def _tables_of(version: str) -> tuple[Table, ...]:
    return tuple(table for table in TABLES if table.protocol == CLASSIC or not version.startswith(CLASSIC_ONLY))


def _title(table: Table, version: str) -> str:
    return f"{table.title}, Apache Kafka {version}"


def _read_page() -> Page:
    page = {}
    for title, lines in sections(PAGE).items():
        names, marks = read_table(lines)
        page[title] = names, {where: text for where, (_, text) in marks.items()}
    return page


def _write_page(page: Page) -> None:
    _, own = own_page()
    found = [HEAD]
    for version in VERSIONS:
        for table in _tables_of(version):
            names, cells = page.get(_title(table, version), ({}, {}))
            if names:
                found.append("\n".join(lines_of(table, _title(table, version), names, own, cells)))
    PAGE.write_text("\n".join(found), encoding="utf-8")


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--versions", type=lambda text: tuple(text.split(",")), default=VERSIONS)
    parser.add_argument("--players", type=int, default=PLAYERS)


if __name__ == "__main__":
    sys.exit(main())
