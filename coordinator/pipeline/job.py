"""The query of the pipeline, from the topic to all tables.

    topic ─ batch ─► bronze ─ fold ─► silver, rejects, gaps, voids, generations, memberships, ownership, ...

It may be stopped at any time, even by kill: the next start runs the batch again that was not noted as done, with the
same number and the same records. The log of each table names the last batch that it has, so it takes none twice, and
the state that the batch starts from is still there.

Where the tables lie and how they are written is the business of a `TableFolder` and a `BronzeWriter`. The driver makes
the rows, or the executors do (`executor_batches.py`).
"""

import re
import threading
from collections.abc import Callable
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from coordinator.pipeline.batch import Batches
from coordinator.pipeline.bronze import TASKS_PER_BATCH, AuditSource
from coordinator.pipeline.bronze_writers import bronze_writer
from coordinator.pipeline.executor_batches import ExecutorBatches
from coordinator.pipeline.folder import TableFolder, table_to_compact
from coordinator.pipeline.names import TABLES_QUERY
from coordinator.pipeline.state_broadcasts import StateBroadcasts

_STOP_POLL_SECONDS: Final = 0.2


WriteBatch = Callable[[DataFrame, int], None]


def tables_query(
    spark: SparkSession, source: AuditSource, tables: TableFolder, *, folds_on_executors: bool = False
) -> DataStreamWriter:
    """The query from the topic to all tables. Repeating a batch after a crash changes nothing.

    Raises:
        StateMissing: another version of this program wrote the tables.
    """
    write_batch = (_folded_on_executors if folds_on_executors else _folded_by_driver)(spark, source, tables)

    def write(raw: DataFrame, batch_id: int) -> None:
        write_batch(raw, batch_id)
        if (table := table_to_compact(batch_id)) is not None:
            tables.compact(table)

    # One task per partition of the topic would cost more than it reads, and write as many files.
    records = source.records(spark)
    return (
        (records if folds_on_executors else records.coalesce(TASKS_PER_BATCH))
        .writeStream.foreachBatch(write)
        .queryName(TABLES_QUERY)
        .option("checkpointLocation", tables.checkpoint(TABLES_QUERY))
    )


def _folded_by_driver(spark: SparkSession, source: AuditSource, tables: TableFolder) -> WriteBatch:
    reading = source.reading()
    batches, bronze = Batches(tables, reading.make_fold), bronze_writer(tables, reading)

    def write(raw: DataFrame, batch_id: int) -> None:
        batches.add_records(bronze.write(raw, batch_id, batches.read_before(batch_id)), batch_id)

    return write


def _folded_on_executors(spark: SparkSession, source: AuditSource, tables: TableFolder) -> WriteBatch:
    reading = source.reading()
    return ExecutorBatches(tables, reading, Batches(tables, reading.make_fold), StateBroadcasts(spark)).write


def run_available(
    spark: SparkSession,
    source: AuditSource,
    tables: TableFolder,
    stop: threading.Event | None = None,
    *,
    folds_on_executors: bool = False,
) -> bool:
    """Read the records that are in the topic now into the tables; return false if `stop` was set before the end.

    Raises:
        StateMissing: another version of this program wrote the tables.
        StreamingQueryException: the query failed. The tables contain whole batches, and the next run continues.
    """
    query = tables_query(spark, source, tables, folds_on_executors=folds_on_executors)
    started = query.trigger(availableNow=True).start()
    if _ended(started, stop or threading.Event()):
        return True
    started.stop()
    return False


def _ended(query: StreamingQuery, stop: threading.Event) -> bool:
    while not stop.is_set():
        if query.awaitTermination(_STOP_POLL_SECONDS):  # type: ignore[arg-type]
            return True
    return False


def run_continuously(
    spark: SparkSession,
    source: AuditSource,
    tables: TableFolder,
    interval_ms: int,
    stop: threading.Event,
    *,
    folds_on_executors: bool = False,
) -> None:
    """Run the query, with a micro-batch every `interval_ms`, until `stop` is set or it fails.

    Raises:
        StateMissing: another version of this program wrote the tables.
        StreamingQueryException: the query failed.
    """
    query = tables_query(spark, source, tables, folds_on_executors=folds_on_executors)
    started = query.trigger(processingTime=f"{interval_ms} milliseconds").start()
    try:
        _ended(started, stop)
    finally:
        started.stop()


_CAUSE: Final = re.compile(r"^\s*Caused by: (?:[\w.$]+(?:Exception|Error): )?(.*\S)", re.MULTILINE)
_RAISED: Final = re.compile(r"^((?:\w+\.)*[A-Z]\w+): (.*\S)", re.MULTILINE)
"""The last line of a traceback: the class of the exception, and its message."""

_OF_JAVA: Final = "py4j.protocol.Py4JJavaError"


def last_line(error: PySparkException) -> str:
    """Return what an error comes from in one line, without the stack traces that a StreamingQueryException has."""
    text = str(error).partition("=== Streaming Query ===")[0]
    _, is_python, traceback = text.partition("Traceback (most recent call last):")
    raised = _RAISED.findall(traceback) if is_python else []
    if raised and raised[-1][0] != _OF_JAVA:
        name, message = raised[-1]
        return message if name.startswith("coordinator.") else f"{name}: {message}"
    cause = _first_cause(text)
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    first = cause if is_python and cause else lines[0] if lines else type(error).__name__
    return f"{first}: {cause}" if cause not in first else first


def _first_cause(text: str) -> str:
    """What began it, by the exception that says most of it; empty if that is not told."""
    found = ""
    for cause in reversed(_CAUSE.findall(text)):
        if found not in cause:
            break
        found = cause
    return found
