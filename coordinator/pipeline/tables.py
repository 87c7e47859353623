"""The folder of the Delta tables and checkpoints on a local file system.

They are written by delta-rs (the package `deltalake`): it commits an append in 20 ms, where Spark plans, schedules and
commits for half a second, for each of ten tables. Only bronze of `__consumer_offsets` is written by Spark.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from coordinator.pipeline.columns import TableRows, arrow_table
from coordinator.pipeline.folder import COMPACTED_BYTES, PROPERTIES, SCHEMAS, Files, Rows


class LocalFiles:
    """The files of a local folder, which is created."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def __str__(self) -> str:
        return str(self._folder)

    def names(self) -> list[str]:
        return os.listdir(self._folder)

    def read(self, name: str) -> bytes:
        return Path(self._folder, name).read_bytes()

    def write(self, name: str, content: bytes) -> None:
        new = Path(self._folder, f"{name}.new")
        with new.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        new.rename(self._folder / name)

    def delete(self, name: str) -> None:
        Path(self._folder, name).unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Tables:
    """A `TableFolder` on a local file system."""

    root: Path
    _open: dict[str, DeltaTable] = field(default_factory=dict, repr=False, compare=False)

    def path(self, table: str) -> str:
        """Return the absolute path of a table. Spark would resolve a relative path against another directory."""
        return str(self.root.absolute() / table)

    def checkpoint(self, query: str) -> str:
        return str(self.root.absolute() / "_checkpoints" / query)

    def state_files(self) -> Files:
        return LocalFiles(Path(self.checkpoint("state")))

    def create(self) -> None:
        for name, schema in SCHEMAS.items():
            if not DeltaTable.is_deltatable(self.path(name)):
                DeltaTable.create(self.path(name), schema, configuration=PROPERTIES)

    def commit(self, appended: Rows, replaced: Rows, batch_id: int) -> None:
        for table, rows in appended.items():
            self._append(table, rows, batch_id)
        for table, rows in replaced.items():
            write_deltalake(self._delta(table), arrow_table(table, rows), mode="overwrite", schema_mode="overwrite")

    def has_batch(self, table: str, batch_id: int) -> bool:
        """Whether the log of the table names this batch, or a later one."""
        last = self._delta(table).transaction_version(_writer(table))
        return last is not None and last >= batch_id

    def append(self, table: str, data: pa.Table, batch_id: int) -> None:
        """Append the rows of a batch, and its number to the log."""
        once = CommitProperties(app_transactions=[Transaction(_writer(table), batch_id)])
        write_deltalake(self._delta(table), data, mode="append", schema_mode="merge", commit_properties=once)

    def _append(self, table: str, rows: TableRows, batch_id: int) -> None:
        if not self.has_batch(table, batch_id):
            self.append(table, arrow_table(table, rows), batch_id)

    def compact(self, table: str) -> None:
        delta = DeltaTable(self.path(table))
        delta.optimize.compact(target_size=COMPACTED_BYTES)
        # A checkpoint forgets the files that were removed longer ago than they are kept, so unknown files count too.
        delta.vacuum(dry_run=False, full=True)
        self._open.pop(table, None)

    def _delta(self, table: str) -> DeltaTable:
        if table not in self._open:
            self._open[table] = DeltaTable(self.path(table))
        return self._open[table]


def _writer(table: str) -> str:
    """The name under which the log of a table keeps the number of the last batch."""
    return f"coordinator-{table}"
