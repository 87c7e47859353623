"""How the records of bronze become rows: what Spark makes of them, and the fold that takes that in.

One folder of tables holds one source, because the tables of two would tell each thing twice.
"""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType

from coordinator.pipeline.cluster import TopicNames
from coordinator.pipeline.fold import Fold, FoldState
from coordinator.pipeline.stored_batches import SPARK_SCHEMA, decode_batches
from coordinator.pipeline.stored_fold import StoredFold


@dataclass(frozen=True, slots=True)
class Reading:
    """`select` gives records of bronze the columns value, partition, offset and timestamp_ms; the fold takes those."""

    takes_all: bool
    """Whether the fold needs all records, whole, so that Spark has nothing to do with them."""

    select: Callable[[DataFrame], DataFrame]
    make_fold: Callable[[FoldState], Fold]


def _timed(raw: DataFrame, *columns: str) -> DataFrame:
    return raw.select(*columns, "partition", "offset", F.unix_millis("timestamp").alias("timestamp_ms"))


AUDIT_READING: Final = Reading(True, lambda raw: _timed(raw, "value"), Fold)


def consumer_offsets_reading(bootstrap: str) -> Reading:
    """Of `__consumer_offsets`. `bootstrap` is asked for the names of topics."""
    names = TopicNames(bootstrap)

    def select(raw: DataFrame) -> DataFrame:
        _prepare_workers(raw)
        return _map_in_arrow(_timed(raw, "key", "value"))

    return Reading(False, select, lambda state: StoredFold(state, names))


def _map_in_arrow(raw: DataFrame) -> DataFrame:
    """As `raw.mapInArrow(decode_batches, ...)`, which in Spark 4.0 asks for pandas and then does not use it."""
    decode = UserDefinedFunction(decode_batches, SPARK_SCHEMA, evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
    column: Any = decode(*(raw[name] for name in raw.columns))
    plan: Any = raw._jdf
    return DataFrame(plan.mapInArrow(column._jc, False, None), raw.sparkSession)


def _prepare_workers(raw: DataFrame) -> None:
    """Spark's Python workers are processes of their own: on this machine, they use this Python and this code."""
    context = raw.sparkSession.sparkContext
    if "PYSPARK_PYTHON" not in os.environ and str(context.master).startswith("local"):
        context.pythonExec = sys.executable
    code = str(Path(__file__).resolve().parents[2])
    known = context.environment.get("PYTHONPATH", "")
    if code not in known.split(os.pathsep):
        context.environment["PYTHONPATH"] = os.pathsep.join(filter(None, (code, known)))
