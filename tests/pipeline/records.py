"""Records of bronze as Arrow tables, and what the tables of a folder hold, for comparisons."""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa

from coordinator.pipeline.columns import TABLES
from coordinator.pipeline.names import FINDINGS, REBALANCE_RATES
from coordinator.pipeline.reader import query, read_findings
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


def named(rows: Mapping[str, Sequence[Any]]) -> dict[str, list[dict[str, Any]]]:
    """Rows of a fold as dicts by the names of the columns, with times as `_ms`.."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for table, of_table in rows.items():
        names = [name.removesuffix("_at") + "_ms" * name.endswith("_at") for name in TABLES[table].names]
        found[table] = [dict(zip(names, row, strict=True)) if isinstance(row, tuple) else row for row in of_table]
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
