"""Prints the generations table."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Final

from pyspark.sql import SparkSession
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from coordinator.pipeline.generations import KEY
from coordinator.pipeline.tables import GENERATIONS, Tables

GenerationRow = dict[str, Any]
"""A row of the generations table: its column names and their values."""

_OUTCOME_STYLES: Final = {"stable": "green", "superseded": "yellow", "emptied": "dim", "in_progress": "cyan"}
_WIDTH: Final = 120


def read_generations(spark: SparkSession, tables: Tables, group_id: str | None = None) -> list[GenerationRow]:
    """Return the rows of one group, or of all groups, in order.

    Raises:
        AnalysisException: the table does not exist.
    """
    rows = spark.read.format("delta").load(tables.path(GENERATIONS))
    if group_id is not None:
        rows = rows.where(rows.group_id == group_id)
    return [row.asDict() for row in rows.sort(*KEY).collect()]


def print_generations(console: Console, rows: Sequence[GenerationRow]) -> None:
    """Print one table per group; if the output is not a terminal, with a fixed width."""
    if not console.is_terminal:
        console = Console(file=console.file, width=_WIDTH)
    by_group = groupby(rows, key=lambda row: str(row["group_id"]))
    for group_id, of_group in by_group:
        console.print(generations_table(group_id, list(of_group)))


def generations_table(group_id: str, rows: Sequence[GenerationRow]) -> Table:
    """Return a table with one line per generation. "unowned ms" sums the times in which each partition had no owner."""
    table = Table(
        title=f"Generations of group {escape(group_id)}", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False
    )
    table.add_column("gen", justify="right")
    table.add_column("outcome", no_wrap=True)
    table.add_column("cause", no_wrap=True)
    table.add_column("caused by", overflow="fold")
    for name in ("members", "join ms", "sync ms", "total ms", "partitions moved", "unowned ms"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            str(row["generation_id"]),
            Text(row["outcome"], style=_OUTCOME_STYLES.get(row["outcome"], "")),
            row["cause"] or "",
            Text(caused_by(row)),
            *(_number(row[name]) for name in ("members", "join_ms", "sync_ms", "rebalance_ms")),
            "" if row["partitions"] is None else f"{row['partitions_moved']:,} of {row['partitions']:,}",
            _number(row["unowned_partition_ms"]),
        )
    return table


def caused_by(row: GenerationRow) -> str:
    """Return the member that caused a generation: its instance id, else its client id, else its member id."""
    return row["cause_group_instance_id"] or row["cause_client_id"] or row["cause_member_id"] or ""


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
