"""Prints the generations table."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Final

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from coordinator.pipeline.reader import GenerationRow

_OUTCOME_STYLES: Final = {
    "stable": "green",
    "superseded": "yellow",
    "emptied": "dim",
    "in_progress": "cyan",
    "cut_short": "red",
}
_WIDTH: Final = 200


def print_generations(console: Console, rows: Sequence[GenerationRow]) -> None:
    """Print one table per group; if the output is not a terminal, with a fixed width."""
    if not console.is_terminal:
        console = Console(file=console.file, width=_WIDTH)
    by_group = groupby(rows, key=lambda row: str(row["group_id"]))
    for group_id, of_group in by_group:
        console.print(generations_table(group_id, list(of_group)))


def generations_table(group_id: str, rows: Sequence[GenerationRow]) -> Table:
    """Return a table with one line per generation. "unowned ms" sums the times in which each partition had no owner."""
    table = Table(title=Text(f"Generations of group {safe(group_id)}"), title_justify="left", box=box.SIMPLE_HEAD)
    table.pad_edge = False
    table.add_column("gen", justify="right")
    table.add_column("began (UTC)", no_wrap=True)
    table.add_column("outcome", no_wrap=True)
    table.add_column("cause", no_wrap=True)
    table.add_column("caused by", no_wrap=True, overflow="ignore")
    for name in ("members", "join ms", "sync ms", "total ms", "partitions moved", "unowned ms"):
        table.add_column(name, justify="right")
    table.add_column("reason", overflow="fold")
    for row in rows:
        outcome = row["outcome"] + (", void" if row["is_void"] else "")
        table.add_row(
            str(row["generation_id"]),
            _time(row["rebalance_started_at"] or row["generation_started_at"]),
            Text(outcome, style=_OUTCOME_STYLES.get(row["outcome"], "")),
            Text(safe(row["cause"] or "")),
            Text(safe(caused_by(row))),
            *(_number(row[name]) for name in ("members", "join_ms", "sync_ms", "rebalance_ms")),
            "" if row["partitions"] is None else f"{row['partitions_moved'] or 0:,} of {row['partitions']:,}",
            _number(row["unowned_partition_ms"]),
            Text(safe(row["reason"] or "")),
        )
    return table


def safe(text: str) -> str:
    """`text` without characters that a terminal acts on: a client may choose its names to be escape sequences."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def _time(at: datetime | None) -> str:
    return "" if at is None else at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def caused_by(row: GenerationRow) -> str:
    """Return the member that caused a generation: its instance id, else its client id, else its member id."""
    return row["cause_group_instance_id"] or row["cause_client_id"] or row["cause_member_id"] or ""


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
