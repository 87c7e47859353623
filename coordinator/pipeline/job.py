"""The queries of the pipeline, in the order in which data goes through them.

    topic ─ bronze ─► bronze table ─ generations ─► generations table

One checkpoint per query, and only the first query reads Kafka. Each may be stopped at any instant, kill -9 included:

- between a query's planning and its commit: the next start plans the same batch again. Delta knows the batch number of
  an append and ignores the repetition; the merge into generations gives the same rows twice.
- between bronze and generations: what bronze holds and generations lacks is read at the next start, with or without
  new records in the topic.
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
    """Take in what the topic holds now, table by table, and return.

    Raises StreamingQueryException when a query fails; the tables then hold whole batches, and a later run goes on.
    """
    bronze_query(spark, source, tables).trigger(availableNow=True).start().awaitTermination()
    generations_query(spark, tables).trigger(availableNow=True).start().awaitTermination()


def run_continuously(
    spark: SparkSession, source: AuditSource, tables: Tables, interval_ms: int, stop: threading.Event
) -> None:
    """All queries at once, a micro-batch every `interval_ms`, until `stop` is set or one of them fails.

    A table is then at most one interval behind the one before it. When one query fails the others are stopped (a job
    that is half alive looks healthy to a supervisor) and its StreamingQueryException is raised.
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
    """What went wrong, without the Java stack that a StreamingQueryException carries."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    return lines[0] if lines else type(error).__name__
