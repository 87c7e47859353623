"""How the records of bronze become rows: what Spark makes of them, and the fold that takes that in.

One folder of tables holds one source, because the tables of two would tell each thing twice.
"""

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

from coordinator.client.bootstrap import Server
from coordinator.pipeline.cluster import TopicNames
from coordinator.pipeline.fold import Fold
from coordinator.pipeline.partition_folds import MakeFold, audit_records, timestamps_ms
from coordinator.pipeline.partition_state import PartitionState
from coordinator.pipeline.rows import NewRows
from coordinator.pipeline.stored_batches import SCHEMA, SPARK_SCHEMA, decode_batches
from coordinator.pipeline.stored_fold import StoredFold

DECODED_RECORDS: Final = 10_000
"""So many records of `__consumer_offsets` are decoded, and their committed offsets counted, at a time."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How records of bronze become value, partition, offset and timestamp_ms, which the fold takes in."""

    reads_all: bool
    """Whether the fold needs all records, whole, so that Spark has nothing to do with them."""

    columns: tuple[str, ...]
    """Those of bronze that it needs."""

    select: Callable[[DataFrame], DataFrame]
    in_arrow: Callable[[pa.Table], pa.Table]
    """As `select`, of records in Arrow."""

    make_fold: MakeFold


def _timed(raw: DataFrame, *columns: str) -> DataFrame:
    return raw.select(*columns, "partition", "offset", F.unix_millis("timestamp").alias("timestamp_ms"))


AUDIT_READING: Final = Reading(
    True, ("value", "partition", "offset", "timestamp"), lambda raw: _timed(raw, "value"), audit_records, Fold
)


def consumer_offsets_reading(bootstrap: Server) -> Reading:
    """Of `__consumer_offsets`. `bootstrap` is asked for the names of topics."""

    def select(raw: DataFrame) -> DataFrame:
        prepare_workers(raw.sparkSession)
        return map_in_arrow(_timed(raw, "key", "value"), decode_batches, SPARK_SCHEMA)

    columns = ("key", "value", "partition", "offset", "timestamp")
    return Reading(False, columns, select, _stored_records, partial(_stored_fold, bootstrap))


def _stored_records(bronze: pa.Table) -> pa.Table:
    timed = bronze.append_column("timestamp_ms", timestamps_ms(bronze)).combine_chunks()
    return pa.Table.from_batches(decode_batches(iter(timed.to_batches(DECODED_RECORDS))), SCHEMA)


def _stored_fold(bootstrap: Server, before: PartitionState, rows: NewRows) -> Fold:
    return StoredFold(before, rows, _names_of(bootstrap))


_names_of: Final = cache(TopicNames)
"""One per process: a worker of Spark folds one task after the other."""


def map_in_arrow(
    frame: DataFrame, function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], schema: str
) -> DataFrame:
    """As `frame.mapInArrow(function, schema)`, which in Spark 4.0 asks for pandas and then does not use it."""
    mapped = UserDefinedFunction(function, schema, evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
    column: Any = mapped(*(frame[name] for name in frame.columns))
    plan: Any = frame._jdf
    return DataFrame(plan.mapInArrow(column._jc, False, None), frame.sparkSession)


def prepare_workers(spark: SparkSession) -> None:
    """Spark's Python workers are processes of their own.

    On this machine they use this Python; of a cluster, that of spark.pyspark.python or PYSPARK_PYTHON. They look for
    this package where it is here, too: a cluster may have it under the same path.
    """
    context = spark.sparkContext
    chosen = context.getConf().get("spark.pyspark.python")
    if chosen is not None:
        context.pythonExec = chosen
    elif "PYSPARK_PYTHON" not in os.environ and str(context.master).startswith("local"):
        context.pythonExec = sys.executable
    code = str(Path(__file__).resolve().parents[2])
    existing = context.environment.get("PYTHONPATH", "")
    if code not in existing.split(os.pathsep):
        context.environment["PYTHONPATH"] = os.pathsep.join(filter(None, (code, existing)))
