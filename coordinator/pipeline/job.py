"""The queries of the pipeline, in the order in which data goes through them.

    topic ─ bronze ─► bronze table ─ generations ─► generations table

Each query has its own checkpoint, and only the first query reads Kafka. Each may be stopped at any time, even by kill:

- between the planning and the commit of a batch: the next start plans the same batch again. Delta ignores an append
  with a batch number that it has seen, and a repeated merge into generations gives the same rows.
- between bronze and generations: the next start reads the records that are missing in generations from bronze, also if
  the topic has no new records.
"""

import threading
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from coordinator.pipeline.bronze import AuditSource, bronze_query
from coordinator.pipeline.generations import generations_query
from coordinator.pipeline.tables import Tables

_STOP_POLL_SECONDS: Final = 1


def run_available(spark: SparkSession, source: AuditSource, tables: Tables) -> None:
    """Read the records that are in the topic now into the tables, one table after the other, and return.

    Raises:
        StreamingQueryException: a query failed. The tables contain whole batches, and the next run continues.
    """
    bronze_query(spark, source, tables).trigger(availableNow=True).start().awaitTermination()
    generations_query(spark, tables).trigger(availableNow=True).start().awaitTermination()


def run_continuously(
    spark: SparkSession, source: AuditSource, tables: Tables, interval_ms: int, stop: threading.Event
) -> None:
    """Run all queries, with a micro-batch every `interval_ms`, until `stop` is set or one of them fails.

    Each table is at most one interval behind the previous one. If a query fails, the others are stopped too, because a
    supervisor would see a job with one running query as healthy.

    Raises:
        StreamingQueryException: a query failed.
    """
    every = f"{interval_ms} milliseconds"
    queries = [bronze_query(spark, source, tables).trigger(processingTime=every).start()]
    queries.append(generations_query(spark, tables).trigger(processingTime=every).start())
    try:
        while not stop.is_set() and not spark.streams.awaitAnyTermination(_STOP_POLL_SECONDS):
            pass
    finally:
        for query in queries:
            query.stop()


def last_line(error: PySparkException) -> str:
    """Return the message of an error without the Java stack trace that a StreamingQueryException contains."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    return lines[0] if lines else type(error).__name__
