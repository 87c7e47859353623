"""Writes docs/watched-cases.md: plays the cases of the audit on Apache Kafka behind a node that only watches.

    python docs/make_watched_cases.py [--only CASE,…] [--clients CLIENT,…] [--versions 4.3.1,3.9.1] [--stories]

It takes about 40 minutes for the first version, and half as long for the other one. Cells that are not played stay.
"""

import argparse
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from docs.make_audit_cases import arguments, lines_of, own_page, read_table, sections  # noqa: E402
from interop.builds import CLASSIC  # noqa: E402
from tests.differential.kafka import VERSION  # noqa: E402
from tests.e2e.case_homes import OWN, watched  # noqa: E402
from tests.e2e.playing_tables import CLIENTS, TABLES, Cells, Player, ShownTable, Table, drivers_of  # noqa: E402
from tests.e2e.streams_basics import BASICS, NAMES, played_basic  # noqa: E402
from tests.e2e.streams_basics import TABLE as STREAMS_TABLE  # noqa: E402
from tests.eos.java_programs import ProgramsMissing  # noqa: E402

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
ALL_CLIENTS: Final = (*CLIENTS, *STREAMS_TABLE.clients)
VERSIONS: Final = (VERSION, "3.9.1")
STREAMS_TITLE: Final = f"{STREAMS_TABLE.title}, Apache Kafka {VERSION}"


@dataclass
class Page:
    sections: dict[str, tuple[dict[str, str], Cells]] = field(default_factory=dict)
    """Title of a section → the clients with their versions, and the cells of the node that watches."""
    own_streams: Cells = field(default_factory=dict)
    """What this project's own coordinator tells of Kafka Streams, whose basics no other page has."""

    def add(self, title: str, names: dict[str, str], cells: Cells) -> None:
        old_names, old_cells = self.sections.get(title, ({}, {}))
        self.sections[title] = old_names | names, old_cells | cells


def main() -> int:
    chosen = arguments(
        "play the cases of the audit on a Kafka behind a node that watches", _add_options, clients=ALL_CLIENTS
    )
    page = _read_page()
    has_failed = False
    for version in chosen.versions:
        with tempfile.TemporaryDirectory() as scratch:
            started = drivers_of([each for each in chosen.clients if each in CLIENTS], Path(scratch))
            player = Player(watched(version), Path(scratch), players=chosen.players, with_stories=chosen.stories)
            for table in _tables_of(version):
                drivers = {client: start for client, start in started.items() if client in table.clients}
                cases = [table.cases[name] for name in chosen.only or table.cases if name in table.cases]
                if drivers and cases:
                    played, names = player.play(table, cases, drivers)
                    page.add(_title(table, version), names, played)
                    _write_page(page)
            has_failed |= player.has_failed
    if VERSION in chosen.versions and not chosen.only:
        has_failed |= _play_streams(page, [each for each in chosen.clients if each in STREAMS_TABLE.clients])
    return int(has_failed)


def _play_streams(page: Page, clients: list[str]) -> bool:
    """Return whether a case failed."""
    has_failed = False
    for client in clients:
        for name, basic in BASICS.items():
            try:
                own, node = (played_basic(name, client, home) for home in (OWN, watched(VERSION)))
            except ProgramsMissing as missing:
                print(f"without {client}: {missing}", file=sys.stderr)
                return has_failed
            page.own_streams[basic.title, client] = own
            page.add(STREAMS_TITLE, {client: NAMES[client]}, {(basic.title, client): node})
            has_failed |= "FAILED" in own + node
            _write_page(page)
    return has_failed


def _tables_of(version: str) -> tuple[Table, ...]:
    return tuple(table for table in TABLES if table.protocol == CLASSIC or not version.startswith(CLASSIC_ONLY))


def _title(table: Table, version: str) -> str:
    return f"{table.title}, Apache Kafka {version}"


def _read_page() -> Page:
    page = Page()
    for title, lines in sections(PAGE).items():
        names, marks = read_table(lines)
        page.add(title, names, {where: text for where, (_, text) in marks.items()})
        if title == STREAMS_TITLE:
            page.own_streams = {where: text for where, (text, _) in marks.items()}
    return page


def _write_page(page: Page) -> None:
    _, own = own_page()
    shown: list[tuple[str, ShownTable, Cells]] = []
    for version in VERSIONS:
        shown += [(_title(table, version), table, own) for table in _tables_of(version)]
        if version == VERSION:
            shown.append((STREAMS_TITLE, STREAMS_TABLE, page.own_streams))
    found = [HEAD]
    for title, table, at_home in shown:
        names, cells = page.sections.get(title, ({}, {}))
        if names:
            found.append("\n".join(lines_of(table, title, names, at_home, cells)))
    PAGE.write_text("\n".join(found), encoding="utf-8")


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--versions", type=lambda text: tuple(text.split(",")), default=VERSIONS)
    parser.add_argument("--players", type=int, default=PLAYERS)


if __name__ == "__main__":
    sys.exit(main())
