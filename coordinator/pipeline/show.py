"""Prints the generations, findings and storms that the tables tell."""

import textwrap
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, Final

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from coordinator.explain.sentences.storms import cause_counts, headline
from coordinator.explain.storms import Storm
from coordinator.pipeline.reader import GenerationRow

_OUTCOME_STYLES: Final = {
    "stable": "green",
    "superseded": "yellow",
    "emptied": "dim",
    "in_progress": "cyan",
    "cut_short": "red",
    "unknown": "red",
}
_WIDTH: Final = 200
_UNBOUNDED: Final = 100_000
_LEAST_IMPORTANT: Final = ("reason", "join_ms", "sync_ms", "unowned_partition_ms", "members", "moved")
"""The columns that a terminal leaves out if it is too narrow, in this order. The sentences of a group have them."""
_DAY: Final = slice(len("2026-"), len("2026-01-01 00:00:00"))
INFERRED: Final = " (inferred)"
"""After a cause that the records of `__consumer_offsets` do not tell but lead to."""


def print_generations(console: Console, rows: Sequence[GenerationRow], *, explains: bool = False) -> None:
    """Print one table per group, on a terminal with as many columns as it has room for.

    `explains`: and after each table what `coordinator groups why` says of its generations.
    """
    if not console.is_terminal:
        console = Console(file=console.file, width=_WIDTH)
    by_group = groupby(rows, key=lambda row: str(row["group_id"]))
    for group_id, of_group in by_group:
        of_one = list(of_group)
        console.print(_table_for(console, group_id, of_one))
        for sentence in (row["sentence"] for row in of_one if explains and row.get("sentence")):
            _say(console, safe(sentence), rest="  ")


def _table_for(console: Console, group_id: str, rows: Sequence[GenerationRow]) -> Table:
    """The table with all columns, or with those that the terminal has room for."""
    if not console.is_terminal:
        return generations_table(group_id, rows)
    for left_out in range(len(_LEAST_IMPORTANT) + 1):
        table = generations_table(group_id, rows, frozenset(_LEAST_IMPORTANT[:left_out]))
        if _width_of(console, table) <= console.width:
            return table
    return narrow_table(group_id, rows)


def _width_of(console: Console, table: Table) -> int:
    return Measurement.get(console, console.options.update(width=_UNBOUNDED), table).maximum


def _say(console: Console, text: str, *, first: str = "", rest: str = "", style: str = "") -> None:
    """One line in a pipe; on a terminal as many lines as it takes, those after the first with `rest` before them."""
    if not console.is_terminal:
        console.print(Text(first + text, style=style), soft_wrap=True)
        return
    lines = textwrap.wrap(
        text, console.width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False, drop_whitespace=True
    )
    for line in lines:
        console.print(Text(line, style=style), soft_wrap=True)


def generations_table(group_id: str, rows: Sequence[GenerationRow], without: frozenset[str] = frozenset()) -> Table:
    """Return a table with one line per generation, `without` some of `_LEAST_IMPORTANT`. "unowned, partition ms" is
    the sum of the times in which each partition had no owner, where sentences tell the longest of them."""
    table = _empty_table(group_id)
    table.add_column("gen", justify="right")
    table.add_column("began (UTC)", no_wrap=True)
    table.add_column("outcome", no_wrap=True)
    table.add_column("cause", no_wrap=True)
    table.add_column("caused by", no_wrap=True, overflow="ignore")
    cells: dict[str, tuple[str, Callable[[GenerationRow], str]]] = {
        "members": ("members", lambda row: _number(row["members"])),
        "join_ms": ("join ms", lambda row: _number(row["join_ms"])),
        "sync_ms": ("sync ms", lambda row: _number(row["sync_ms"])),
        "rebalance_ms": ("total ms", lambda row: _number(row["rebalance_ms"])),
        "moved": ("partitions moved", _moved),
        "unowned_partition_ms": ("unowned, partition ms", lambda row: _number(row["unowned_partition_ms"])),
    }
    shown = {name: cell for name, cell in cells.items() if name not in without}
    for head, _ in shown.values():
        table.add_column(head, justify="right")
    has_reason = "reason" not in without
    if has_reason:
        table.add_column("reason", overflow="fold")
    for row in rows:
        table.add_row(
            str(row["generation_id"]),
            _began(row),
            _outcome(row),
            Text(safe(_cause(row))),
            Text(safe(caused_by(row))),
            *(cell(row) for _, cell in shown.values()),
            *([Text(safe(row["reason"] or ""))] if has_reason else []),
        )
    return table


def narrow_table(group_id: str, rows: Sequence[GenerationRow]) -> Table:
    """Return what fits 80 columns: when, how and why each generation came, and how long its rebalance took."""
    table = _empty_table(group_id)
    table.add_column("gen", justify="right", no_wrap=True)
    table.add_column("began (UTC)", no_wrap=True)
    for name in ("outcome", "cause", "caused by"):
        table.add_column(name, overflow="fold")
    table.add_column("total ms", justify="right", no_wrap=True)
    for row in rows:
        whom = Text(safe(caused_by(row)))
        table.add_row(
            str(row["generation_id"]),
            _began(row)[_DAY],
            _outcome(row),
            Text(safe(_cause(row))),
            whom,
            _number(row["rebalance_ms"]),
        )
    return table


def _empty_table(group_id: str) -> Table:
    table = Table(title=Text(f"Generations of group {safe(group_id)}"), title_justify="left", box=box.SIMPLE_HEAD)
    table.pad_edge = False
    return table


def _began(row: GenerationRow) -> str:
    return _time(row["rebalance_started_at"] or row["generation_started_at"] or row["rebalance_ended_at"])


def _outcome(row: GenerationRow) -> Text:
    outcome = row["outcome"] + (", void" if row["is_void"] else "")
    return Text(outcome, style=_OUTCOME_STYLES.get(row["outcome"], ""))


def _cause(row: GenerationRow) -> str:
    return (row["cause"] or "") + (INFERRED if row.get("cause_is_inferred") and row["cause"] else "")


def print_findings(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    """Print each finding with its evidence and advice, as `coordinator groups why` does."""
    for row in rows:
        about = "" if row["first_generation_id"] is None else f", {_generations(row)}"
        _say(console, safe(f"group {row['group_id']}{about}: {row['headline']}"), rest="  ", style="bold")
        for sentence in row["evidence"]:
            _say(console, safe(sentence), first="  - ", rest="    ")
        _say(console, safe(f"try: {row['advice']}"), first="  ", rest="       ")


def _generations(row: dict[str, Any]) -> str:
    first, last = row["first_generation_id"], row["last_generation_id"]
    return f"generation {first}" if first == last else f"generations {first} to {last}"


def print_storms(console: Console, storms: Sequence[Storm]) -> None:
    """Print each storm with its causes, and that of the cluster with its groups too."""
    for storm in storms:
        whose = "all groups" if storm.group_id is None else f"group {storm.group_id}"
        _say(console, safe(f"{whose}: {headline(storm, _storm_clock)}"), rest="  ", style="bold")
        text_lines = [*cause_counts(storm.causes)]
        if storm.group_id is None:
            text_lines += [f"group {name}: {count}" for name, count in storm.groups]
        for line in text_lines:
            _say(console, safe(line), first="  - ", rest="    ")


def _storm_clock(time_ms: int) -> str:
    return f"{datetime.fromtimestamp(time_ms / 1_000, UTC):%Y-%m-%d %H:%M} UTC"


def safe(text: str) -> str:
    """`text` without characters that a terminal acts on: a client may choose its names to be escape sequences."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )


def _time(at: datetime | None) -> str:
    return "" if at is None else at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def caused_by(row: GenerationRow) -> str:
    """Return the member that caused a generation: its instance id, else its client id, else its member id."""
    return row["cause_group_instance_id"] or row["cause_client_id"] or row["cause_member_id"] or ""


def _moved(row: GenerationRow) -> str:
    if row["partitions"] is None:
        return ""
    moved = row["partitions_moved"]
    return f"{'?' if moved is None else f'{moved:,}'} of {row['partitions']:,}"


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
