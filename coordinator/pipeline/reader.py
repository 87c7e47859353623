"""Reads the tables without Spark and Java, by the package `deltalake`."""

from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError

from coordinator.explain.storms import Rebalances, Storm, all_storms
from coordinator.pipeline.locations import Location
from coordinator.pipeline.names import (
    FINDINGS,
    GENERATIONS,
    OPEN_GENERATIONS,
    RATE_WINDOW_MS,
    REBALANCE_RATES,
    VOIDS,
)

GenerationRow = dict[str, Any]
"""A row of the generations table: its column names and their values, and `is_void`."""


class NoTables(RuntimeError):
    """The folder has no such tables, or they cannot be read. The message is one line."""


def query(tables: Location, names: tuple[str, ...], sql: str) -> list[dict[str, Any]]:
    """Return the rows of a query (DataFusion's SQL) about tables of the folder.

    Raises:
        NoTables: one of the tables is not there, or cannot be read.
    """
    builder = QueryBuilder()
    try:
        for name in names:
            path = str(tables.absolute() / name) if isinstance(tables, Path) else f"{tables}/{name}"
            if not DeltaTable.is_deltatable(path):
                raise NoTables(f"{tables} has no table {name}; `coordinator pipeline run` writes it")
            builder.register(name, DeltaTable(path))
        rows: list[dict[str, Any]] = pa.table(builder.execute(sql).read_all()).to_pylist()
        return rows
    except (DeltaError, OSError) as problem:
        raise NoTables(f"{tables} cannot be read: {str(problem).splitlines()[0]}") from problem


def text_literal(text: str) -> str:
    """`text` as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def read_generations(tables: Location, group_id: str | None = None) -> list[GenerationRow]:
    """Return the rows of one group, or of all groups, in order, also the generations in progress.

    `is_void` is true if some events of the generation did not take effect, because the coordinator crashed.
    """
    where = "" if group_id is None else f"WHERE group_id = {text_literal(group_id)}"
    rows = query(
        tables,
        (GENERATIONS, OPEN_GENERATIONS),
        f"SELECT * FROM (SELECT * FROM {GENERATIONS} UNION ALL BY NAME SELECT * FROM {OPEN_GENERATIONS}) {where} "
        "ORDER BY group_id, created_seq, first_seq",
    )
    voids = query(tables, (VOIDS,), f"SELECT group_id, first_seq, last_seq FROM {VOIDS} {where}")
    ranges: dict[str, list[tuple[int, int]]] = {}
    for void in voids:
        ranges.setdefault(void["group_id"], []).append((void["first_seq"], void["last_seq"]))
    for row in rows:
        of_group = ranges.get(row["group_id"], ())
        row["is_void"] = any(first <= row["last_seq"] <= last for first, last in of_group)
    return rows


def read_findings(tables: Location, group_id: str | None = None) -> list[dict[str, Any]]:
    """Return the findings of one group, or of all, that are not over, the newest of each group last.

    `evidence` is a list of sentences. Of tables made of `__consumer_offsets` there are none but storms.
    """
    where = "" if group_id is None else f"WHERE group_id = {text_literal(group_id)}"
    rows = query(
        tables,
        (FINDINGS,),
        "SELECT * FROM (SELECT *, row_number() OVER"
        # Members at the cluster are no event that the group counts, so rows about them may have the same `seq`.
        " (PARTITION BY group_id, kind, about ORDER BY seq DESC, time_at DESC) AS place"
        f" FROM {FINDINGS} {where}) WHERE place = 1 AND NOT is_over ORDER BY group_id, until_at, kind, about",
    )
    for row in rows:
        del row["place"]
        row["evidence"] = msgspec.json.decode(row["evidence"])
    return rows


def read_storms(tables: Location, group_id: str | None = None) -> list[Storm]:
    """Return the storms of one group, or of all and of the cluster, the newest first."""
    where = "" if group_id is None else f"WHERE group_id = {text_literal(group_id)}"
    rows = query(
        tables,
        (REBALANCE_RATES,),
        f"SELECT group_id, cause, window_start_at AS at, sum(rebalances) AS rebalances FROM {REBALANCE_RATES} {where}"
        " GROUP BY 1, 2, 3",
    )
    rates = (
        Rebalances(
            round(row["at"].timestamp() * 1_000), row["group_id"], row["cause"], row["rebalances"], RATE_WINDOW_MS
        )
        for row in rows
        if row["at"] is not None
    )
    return [storm for storm in all_storms(rates) if group_id is None or storm.group_id is not None]
