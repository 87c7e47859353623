"""Where the tables and the checkpoints of their queries lie, and how a table comes to be."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from delta import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

BRONZE: Final = "bronze"
GENERATIONS: Final = "generations"


@dataclass(frozen=True, slots=True)
class Tables:
    """The folder of all tables. A checkpoint lies in there too: a table and the progress of its query are only of use
    together, and whoever deletes or copies the folder takes both."""

    root: Path

    def path(self, table: str) -> str:
        """Absolute, as Spark resolves a relative path against another directory than the caller might mean."""
        return str(self.root.absolute() / table)

    def checkpoint(self, table: str) -> str:
        return str(self.root.absolute() / "_checkpoints" / table)

    def create(self, spark: SparkSession, table: str, columns: StructType) -> DeltaTable:
        """The table, made empty if it is not there: a reader may come before the first event."""
        path = self.path(table)
        if DeltaTable.isDeltaTable(spark, path):
            return DeltaTable.forPath(spark, path)
        return DeltaTable.createIfNotExists(spark).location(path).addColumns(columns).execute()
