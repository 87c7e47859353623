"""The folder of the Delta tables and checkpoints on any file system of Hadoop; all of it is written by Spark.

A commit by Spark takes most of a second, half of it waiting for one thing after the other. So the tables of a batch are
written side by side.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from delta import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from coordinator.pipeline.columns import TableRows, arrow_table
from coordinator.pipeline.folder import PROPERTIES, SCHEMAS, Files, Rows
from coordinator.pipeline.hadoop import HadoopFiles
from coordinator.pipeline.hadoop_lock import HadoopLock
from coordinator.pipeline.spark_compaction import compact_by_spark, session_with

WRITERS: Final = 4
"""Tables that are written at the same time."""

_SMALL_WRITES: Final = {
    # Compiling the plan of a write costs more than a few hundred rows gain by it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Compaction collects the statistics of the files that last.
    "spark.databricks.delta.stats.collect": "false",
}
"""Settings of the session that appends: together they halve the CPU time of a batch."""


class SparkTables:
    """A `TableFolder` on any file system of Hadoop."""

    def __init__(self, spark: SparkSession, root: str, lock: HadoopLock | None = None) -> None:
        """`root` is a URI. With a `lock`, it is checked that the lock is held before anything is written."""
        self.root = root
        self._spark, self._writer = spark, session_with(spark, _SMALL_WRITES)
        self._lock = lock

    def path(self, table: str) -> str:
        return f"{self.root}/{table}"

    def checkpoint(self, query: str) -> str:
        return f"{self.root}/_checkpoints/{query}"

    def state_files(self) -> Files:
        return HadoopFiles(self._spark, self.checkpoint("state"))

    def create(self) -> None:
        self._side_by_side([partial(self._create, table) for table in SCHEMAS])

    def commit(self, appended: Rows, replaced: Rows, batch_id: int) -> None:
        if self._lock is not None:
            self._lock.require()
        self._side_by_side(
            [
                *(partial(self._append, table, rows, batch_id) for table, rows in appended.items()),
                *(partial(self._replace, table, rows) for table, rows in replaced.items()),
            ]
        )

    def compact(self, table: str) -> None:
        compact_by_spark(self._spark, self.path(table))

    def _create(self, table: str) -> None:
        path = self.path(table)
        if not DeltaTable.isDeltaTable(self._writer, path):
            columns = from_arrow_schema(SCHEMAS[table])
            made = DeltaTable.createIfNotExists(self._writer).location(path).addColumns(columns)
            for name, value in PROPERTIES.items():
                made = made.property(name, value)
            made.execute()

    def _append(self, table: str, rows: TableRows, batch_id: int) -> None:
        """Delta leaves the append out if its log names this batch, or a later one, for this writer."""
        append_by_spark(self._frame(table, rows), self.path(table), table, batch_id)

    def _replace(self, table: str, rows: TableRows) -> None:
        frame = self._frame(table, rows)
        frame.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(self.path(table))

    def _frame(self, table: str, rows: TableRows) -> DataFrame:
        return self._writer.createDataFrame(arrow_table(table, rows)).coalesce(1)

    @staticmethod
    def _side_by_side(writes: Sequence[Callable[[], None]]) -> None:
        """Run all of them; raise what the first that failed raised, when none is running any more."""
        with ThreadPoolExecutor(WRITERS) as threads:
            ended = [threads.submit(write) for write in writes]
        for one in ended:
            one.result()


def append_by_spark(frame: DataFrame, path: str, table: str, batch_id: int) -> None:
    """Delta leaves the append out if its log names this batch, or a later one, for this writer."""
    (
        frame.write.format("delta")
        .mode("append")
        .option("mergeSchema", "true")
        .option("txnAppId", f"coordinator-{table}")
        .option("txnVersion", batch_id)
        .save(path)
    )
