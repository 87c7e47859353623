"""Compaction of a table by Spark."""

from collections.abc import Mapping
from typing import Final

from delta import DeltaTable
from pyspark.sql import SparkSession

from coordinator.pipeline.folder import COMPACTED_BYTES

_SETTINGS: Final = {
    "spark.databricks.delta.optimize.maxFileSize": str(COMPACTED_BYTES),
    "spark.databricks.delta.optimize.minFileSize": str(COMPACTED_BYTES),
    # Vacuum lists the folder in as many tasks, by default 10,000, which take half a minute.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
}


def session_with(spark: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """Return another session of the same application, with settings of its own."""
    session = spark.newSession()
    for name, value in settings.items():
        session.conf.set(name, value)
    return session


def compact_by_spark(spark: SparkSession, path: str) -> None:
    """Join the small files of a table; delete those that have been no part of it for as long as its property says."""
    delta = DeltaTable.forPath(session_with(spark, _SETTINGS), path)
    delta.optimize().executeCompaction()
    delta.vacuum()
