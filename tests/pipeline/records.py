"""Records of bronze as Arrow tables, and what the tables of a folder hold, for comparisons."""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa

from coordinator.pipeline.columns import TABLES, TIME
from coordinator.pipeline.names import FINDINGS, REBALANCE_RATES
from coordinator.pipeline.reader import query, read_findings
from coordinator.pipeline.row_columns import RowColumns
from coordinator.pipeline.spark_tables import SparkTables
from coordinator.pipeline.tables import Tables

WHERE = {"partition", "offset", "timestamp_at"}
TOLD_WHEN = {"seq", "time_at", "generation_id", "until_at", "first_generation_id", "last_generation_id"}


def records(values: Sequence[bytes], first_offset: int = 0, partition: int = 0) -> pa.Table:
    count = len(values)
    return pa.table(
        {
            "value": pa.array(values, pa.binary()),
            "partition": pa.array([partition] * count, pa.int32()),
            "offset": pa.array(range(first_offset, first_offset + count), pa.int64()),
            "timestamp_ms": pa.array([1_700_000_000_000] * count, pa.int64()),
        }
    )


NamedRows = dict[str, list[dict[str, Any]]]
"""Table → rows, by the names of the columns."""


def named(rows: Mapping[str, Any]) -> NamedRows:
    """Rows of a fold as dicts by the names of the columns, with times as `_ms`.."""
    found: NamedRows = defaultdict(list)
    for table, of_table in rows.items():
        found[table] = _as_dicts(of_table) if isinstance(of_table, RowColumns) else of_table
    return found


def _as_dicts(rows: RowColumns) -> list[dict[str, Any]]:
    table = rows.table()
    for place, field in enumerate(table.schema):
        if field.type == TIME:
            milliseconds = table.column(place).cast(pa.timestamp("ms", "UTC")).cast(pa.int64())
            table = table.set_column(place, field.name.removesuffix("_at") + "_ms", milliseconds)
    found: list[dict[str, Any]] = table.to_pylist()
    return found


def contents(tables: Tables | SparkTables) -> dict[str, list[str]]:
    """Table → its rows as text, sorted, without their places in the topic.

    The rates are summed up, and of the findings only those that hold are there, as they are told: when a finding was
    told depends on the batches.
    """
    found: dict[str, list[str]] = {}
    for table in TABLES:
        sql = f"SELECT * FROM {table}"
        if table == REBALANCE_RATES:
            sql = f"SELECT group_id, window_start_at, cause, sum(rebalances) AS n FROM {table} GROUP BY 1, 2, 3"
        rows = read_findings(tables.root) if table == FINDINGS else query(tables.root, (table,), sql)
        found[table] = sorted(_text(row, TOLD_WHEN if table == FINDINGS else WHERE) for row in rows)
    return found


def _text(row: dict[str, Any], left_out: Collection[str]) -> str:
    return json.dumps({name: str(value) for name, value in row.items() if name not in left_out}, sort_keys=True)
