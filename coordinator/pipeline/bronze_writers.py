"""How the records of a batch get to bronze, and from there to the fold.

A record is read from Kafka once. Bronze has it before any other table, so a batch that runs again after a crash never
depends on what the topic still holds: see `ArrowBronze`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from pyspark.sql import DataFrame

from coordinator.pipeline.columns import BRONZE_COLUMNS
from coordinator.pipeline.folder import TableFolder
from coordinator.pipeline.names import BRONZE
from coordinator.pipeline.partition_folds import audit_records
from coordinator.pipeline.partition_state import ReadRange
from coordinator.pipeline.reading import Reading
from coordinator.pipeline.spark_tables import append_by_spark
from coordinator.pipeline.tables import Tables

Read = Mapping[int, ReadRange]
"""Partition → what of it the batches before have read."""


class BronzeWriter(Protocol):
    """Writes a batch to bronze, unless it is there."""

    def write(self, raw: DataFrame, batch_id: int, read: Read) -> pa.Table:
        """Return what the fold takes in of the batch: value, partition, offset and timestamp_ms."""


def bronze_writer(tables: TableFolder, reading: Reading) -> BronzeWriter:
    """The writer for a folder: if it is local and the driver needs all records, it writes what it gets of them."""
    if isinstance(tables, Tables) and reading.reads_all:
        return ArrowBronze(tables)
    return SparkBronze(tables, reading)


@dataclass(frozen=True, slots=True)
class ArrowBronze:
    """By the driver: Spark only reads Kafka. Half the CPU time of a table that Spark writes and reads again."""

    tables: Tables

    def write(self, raw: DataFrame, batch_id: int, read: Read) -> pa.Table:
        found = self.unread(batch_id, read)
        if found is None:
            found = raw.toArrow().cast(BRONZE_COLUMNS)
            self.tables.append(BRONZE, found, batch_id)
        return audit_records(found)

    def unread(self, batch_id: int, read: Read) -> pa.Table | None:
        """The batch, whatever the topic has deleted of it: what bronze has and the batches before did not read.

        None if bronze does not have the batch.
        """
        if not self.tables.has_batch(BRONZE, batch_id):
            return None
        conditions = [f"partition = {partition} AND offset >= {found.next_offset}" for partition, found in read.items()]
        if read:
            conditions.append(f"partition NOT IN ({', '.join(map(str, read))})")
        where = f"WHERE {' OR '.join(f'({condition})' for condition in conditions)}" if conditions else ""
        builder = QueryBuilder().register(BRONZE, DeltaTable(self.tables.path(BRONZE)))
        found = builder.execute(f"SELECT * FROM {BRONZE} {where}").read_all()
        return pa.table(found).select(BRONZE_COLUMNS.names).cast(BRONZE_COLUMNS)


@dataclass(frozen=True, slots=True)
class SparkBronze:
    """By the executors, to any file system. The driver gets what the reading selects."""

    tables: TableFolder
    reading: Reading

    def write(self, raw: DataFrame, batch_id: int, read: Read) -> pa.Table:
        raw.persist()  # otherwise Kafka would be read a second time
        try:
            append_by_spark(raw, self.tables.path(BRONZE), BRONZE, batch_id)
            return self.reading.select(raw).toArrow()
        finally:
            raw.unpersist()
