"""The queries of the pipeline, in the order in which data goes through them.

    topic ─ bronze ─► bronze ─ events ─► silver, rejects, gaps, voids, generations, memberships, ownership, ...

Each query has its own checkpoint, and only the first query reads Kafka. Each may be stopped at any time, even by kill:

- between the planning and the commit of a batch: the next start plans the same batch again. Delta ignores an append
  with a batch number that it has seen, and the state that the batch starts from is still there.
- between the two: the next start reads the records that are missing in the other tables from bronze, also if the topic
  has no new records.

Where bronze lies and how the other tables are written is the business of a `TableFolder`.
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
from coordinator.pipeline.bronze import AuditSource, bronze_query
from coordinator.pipeline.compaction import Compaction
from coordinator.pipeline.folder import BRONZE_KEPT_HOURS, TableFolder
from coordinator.pipeline.names import BRONZE, EVENTS_QUERY
from coordinator.pipeline.reading import AUDIT_READING, Reading

_STOP_POLL_SECONDS: Final = 0.2

BATCH_BYTES: Final = "4m"
"""Of compressed files of bronze in one batch: about 100,000 events."""

BATCH_FILES: Final = 4
"""Of bronze in one batch, so at most 200,000 events, which go through the memory of the JVM and of Python."""


def events_query(spark: SparkSession, tables: TableFolder, reading: Reading = AUDIT_READING) -> DataStreamWriter:
    """The query from bronze, which must exist, to all other tables. Repeating a batch after a crash changes nothing."""
    batches, compact_in_turn = Batches(tables, reading.make_fold), Compaction(spark, tables).after_batch

    def write(raw: DataFrame, batch_id: int) -> None:
        batches.take_in(reading.select(raw).toArrow(), batch_id)
        compact_in_turn(batch_id)

    return (
        spark.readStream.format("delta")
        .option("maxBytesPerTrigger", BATCH_BYTES)
        .option("maxFilesPerTrigger", BATCH_FILES)
        .load(tables.path(BRONZE))
        .writeStream.foreachBatch(write)
        .queryName(EVENTS_QUERY)
        .option("checkpointLocation", tables.checkpoint(EVENTS_QUERY))
    )


def catch_up(spark: SparkSession, tables: TableFolder, reading: Reading, stop: threading.Event) -> bool:
    """Read what bronze holds into the other tables, if bronze is so old that its next commits could delete commits that
    the second query has not read; return false if `stop` was set before the end.

    That is only so after a stop between the two queries that lasted for hours.

    Raises:
        StreamingQueryException: the query failed.
    """
    hours = tables.hours_since_commit(BRONZE)
    if hours is None or hours < BRONZE_KEPT_HOURS / 4:
        return True
    return _run_to_end(lambda: events_query(spark, tables, reading), stop)


def _run_to_end(make: Callable[[], DataStreamWriter], stop: threading.Event) -> bool:
    query = make().trigger(availableNow=True).start()
    if _ended(query, stop):
        return True
    query.stop()
    return False


def run_available(
    spark: SparkSession, source: AuditSource, tables: TableFolder, stop: threading.Event | None = None
) -> bool:
    """Read the records that are in the topic now into the tables; return false if `stop` was set before the end.

    Raises:
        StreamingQueryException: a query failed. The tables contain whole batches, and the next run continues.
    """
    stop = stop or threading.Event()
    reading = source.reading()
    return (
        catch_up(spark, tables, reading, stop)
        and _run_to_end(lambda: bronze_query(spark, source, tables), stop)
        and _run_to_end(lambda: events_query(spark, tables, reading), stop)
    )


def _ended(query: StreamingQuery, stop: threading.Event) -> bool:
    while not stop.is_set():
        if query.awaitTermination(_STOP_POLL_SECONDS):  # type: ignore[arg-type]
            return True
    return False


def run_continuously(
    spark: SparkSession, source: AuditSource, tables: TableFolder, interval_ms: int, stop: threading.Event
) -> None:
    """Run all queries, with a micro-batch every `interval_ms`, until `stop` is set or one of them fails.

    If a query fails, the others are stopped too, because a supervisor would see a job with one running query as
    healthy.

    Raises:
        StreamingQueryException: a query failed.
    """
    reading = source.reading()
    if not catch_up(spark, tables, reading, stop):
        return
    every = f"{interval_ms} milliseconds"
    queries = [bronze_query(spark, source, tables).trigger(processingTime=every).start()]
    queries.append(events_query(spark, tables, reading).trigger(processingTime=every).start())
    try:
        while not stop.is_set() and not spark.streams.awaitAnyTermination(_STOP_POLL_SECONDS):  # type: ignore[arg-type]
            pass
    finally:
        for query in queries:
            query.stop()


_CAUSE: Final = re.compile(r"^\s*Caused by: (?:[\w.$]+(?:Exception|Error): )?(.*\S)", re.MULTILINE)


def last_line(error: PySparkException) -> str:
    """Return what an error comes from in one line, without the Java stack trace that a StreamingQueryException has."""
    text = str(error)
    causes = _CAUSE.findall(text)
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    first = lines[0] if lines else type(error).__name__
    return f"{first}: {causes[-1]}" if causes and causes[-1] not in first else first
