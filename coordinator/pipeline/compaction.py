"""Which table is compacted after which batch, and by whom.

Bronze is compacted by Spark, also on a local file system. There Spark's check that a commit does not exist and its
rename are two steps, so of two programs that commit at the same time Spark may overwrite the commit of the other. A
compaction by delta-rs would merely be lost; but delta-rs makes a checkpoint of it every so often, and that would hide
the rows which Spark wrote in its place.
"""

from pyspark.sql import SparkSession

from coordinator.pipeline.folder import TableFolder, table_to_compact
from coordinator.pipeline.names import BRONZE
from coordinator.pipeline.spark_compaction import compact_by_spark


class Compaction:
    """Keeps the files of the tables few while batches are written."""

    def __init__(self, spark: SparkSession, tables: TableFolder) -> None:
        self._spark = spark
        self._tables = tables

    def after_batch(self, batch_id: int) -> None:
        """Compact the table whose turn it is. To do it twice changes nothing."""
        match table_to_compact(batch_id):
            case None:
                return
            case name if name == BRONZE:
                compact_by_spark(self._spark, self._tables.path(BRONZE))
            case name:
                self._tables.compact(name)
