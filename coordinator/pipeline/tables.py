"""The paths of the tables and of their queries' checkpoints, and the creation of tables."""

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
    """The directory of all tables and checkpoints. A table and its query's checkpoint are only valid together, so both
    are in one directory, which can be copied or deleted as a whole."""

    root: Path

    def path(self, table: str) -> str:
        """Return the absolute path of a table. Spark would resolve a relative path against another directory."""
        return str(self.root.absolute() / table)

    def checkpoint(self, table: str) -> str:
        return str(self.root.absolute() / "_checkpoints" / table)

    def create(self, spark: SparkSession, table: str, columns: StructType) -> DeltaTable:
        """Return the table; create it empty if it does not exist, so that it can be read before the first event."""
        path = self.path(table)
        if DeltaTable.isDeltaTable(spark, path):
            return DeltaTable.forPath(spark, path)
        return DeltaTable.createIfNotExists(spark).location(path).addColumns(columns).execute()
