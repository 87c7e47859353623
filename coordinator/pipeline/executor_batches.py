"""Batches that the executors fold: the driver sends them the state, and writes what they return."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from pyspark.errors import PythonException
from pyspark.sql import DataFrame

from coordinator.pipeline.batch import Batches
from coordinator.pipeline.bronze_writers import ArrowBronze
from coordinator.pipeline.columns import BRONZE_COLUMNS
from coordinator.pipeline.executor_fold import RESULT_SCHEMA, ExecutorFold, Folded, FoldFailed, combine
from coordinator.pipeline.folder import TableFolder
from coordinator.pipeline.names import BRONZE
from coordinator.pipeline.reading import Reading, map_in_arrow, prepare_workers
from coordinator.pipeline.spark_tables import append_by_spark
from coordinator.pipeline.state_broadcasts import StateBroadcasts, StateChain
from coordinator.pipeline.tables import Tables

_ARROW: Final = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
}
"""A task gets its records in parts of as many.

By default Spark limits the bytes of a part too, for which it measures the records so far after each one. With arrays or
nulls that takes longer the more there are: it was two thirds of the CPU time of a task.
"""

_MISSING: Final = re.compile(r"^ModuleNotFoundError: (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ExecutorBatches:
    """Takes batches as `foreachBatch` gives them, one after the other."""

    tables: TableFolder
    reading: Reading
    batches: Batches
    states: StateBroadcasts

    def write(self, raw: DataFrame, batch_id: int) -> None:
        """Add a batch to all tables. Repeating a batch changes nothing.

        Raises:
            StateMissing: the state of the batch before is not in the folder.
            FoldFailed: what the executors returned cannot be used.
        """
        raw = raw.coalesce(raw.sparkSession.sparkContext.defaultParallelism)
        if isinstance(self.tables, Tables) and self.reading.reads_all:
            self._write_locally(self.tables, raw, batch_id)
        else:
            with _persisted(raw):
                append_by_spark(raw, self.tables.path(BRONZE), BRONZE, batch_id)
                self._commit(self._fold(raw, batch_id, returns_bronze=False), batch_id)

    def _write_locally(self, tables: Tables, raw: DataFrame, batch_id: int) -> None:
        """Bronze has a batch before all other tables, so one that was interrupted is read from there.

        What is left of it is for the driver: executors may not reach the folder.
        """
        bronze = ArrowBronze(tables)
        unread = bronze.unread(batch_id, self.batches.read_before(batch_id))
        if unread is not None:
            self.batches.add_records(self.reading.in_arrow(unread), batch_id)
            return
        found = self._fold(raw, batch_id, returns_bronze=True)
        tables.append(BRONZE, found.bronze, batch_id)
        self._commit(found, batch_id)

    def _fold(self, raw: DataFrame, batch_id: int, *, returns_bronze: bool) -> Folded:
        prepare_workers(raw.sparkSession)
        for name, value in _ARROW.items():
            raw.sparkSession.conf.set(name, value)
        columns = BRONZE_COLUMNS.names if returns_bronze else self.reading.columns
        results = map_in_arrow(raw.select(*columns), self._task(batch_id, returns_bronze), RESULT_SCHEMA)
        try:
            return combine(results.toArrow())
        except PythonException as failed:
            missing = _MISSING.search(str(failed))
            if missing is None:
                raise
            raise FoldFailed(
                f"{missing[1]} in the Python of an executor; the fold needs this package there (spark.pyspark.python)"
            ) from failed

    def _task(self, batch_id: int, returns_bronze: bool) -> ExecutorFold:
        chain: StateChain = self.states.chain(batch_id, self.batches.before(batch_id))
        return ExecutorFold(self.reading.in_arrow, self.reading.make_fold, chain, returns_bronze)

    def _commit(self, found: Folded, batch_id: int) -> None:
        self.batches.commit(found.rows, found.changes, batch_id)
        self.states.add(batch_id, found.changes)


@contextmanager
def _persisted(raw: DataFrame) -> Iterator[None]:
    """Otherwise Kafka would be read a second time."""
    raw.persist()
    try:
        yield
    finally:
        raw.unpersist()
