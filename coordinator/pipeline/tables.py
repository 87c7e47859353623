"""The folder of the Delta tables and checkpoints, and how a batch writes to the tables exactly once.

Bronze is written by Spark. The other tables are written by delta-rs (the package `deltalake`): it commits an append in
20 ms, where Spark plans, schedules and commits for half a second, for each of ten tables.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from coordinator.pipeline.columns import TABLES, arrow_table

COMPACT_EVERY_BATCHES: Final = 100
"""One table is compacted per batch from each multiple of this number on, so that no batch waits for all of them."""

KEPT_HOURS: Final = 168
"""Files that are no longer part of a table are kept for readers of older versions: Delta's default, a week."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The directory of all tables and checkpoints. A table and its query's checkpoint are only valid together, so both
    are in one directory, which can be copied or deleted as a whole."""

    root: Path
    _open: dict[str, DeltaTable] = field(default_factory=dict, repr=False, compare=False)

    def path(self, table: str) -> str:
        """Return the absolute path of a table. Spark would resolve a relative path against another directory."""
        return str(self.root.absolute() / table)

    def checkpoint(self, query: str) -> str:
        return str(self.root.absolute() / "_checkpoints" / query)

    def state_folder(self) -> Path:
        return self.root.absolute() / "_checkpoints" / "state"

    def create(self) -> None:
        """Create the tables that do not exist, so that they can be read before the first event."""
        for name, schema in TABLES.items():
            if not DeltaTable.is_deltatable(self.path(name)):
                DeltaTable.create(self.path(name), schema)

    def append(self, table: str, rows: Sequence[dict[str, Any]], batch_id: int) -> None:
        """Append the rows of a batch, unless the table has them: its log names the last batch."""
        delta, writer = self._delta(table), f"coordinator-{table}"
        last = delta.transaction_version(writer)
        if last is not None and last >= batch_id:
            return
        properties = CommitProperties(app_transactions=[Transaction(writer, batch_id)])
        data = arrow_table(table, rows)
        write_deltalake(delta, data, mode="append", schema_mode="merge", commit_properties=properties)

    def replace(self, table: str, rows: Sequence[dict[str, Any]]) -> None:
        """Replace all rows in one commit. To do it twice changes nothing."""
        write_deltalake(self._delta(table), arrow_table(table, rows), mode="overwrite", schema_mode="overwrite")

    def compact_one(self, batch_id: int) -> None:
        """Join the small files of the table whose turn it is, and delete those replaced more than KEPT_HOURS ago."""
        names = ["bronze", *TABLES]
        place = batch_id % COMPACT_EVERY_BATCHES
        if batch_id >= COMPACT_EVERY_BATCHES and place < len(names):
            self.compact(names[place])

    def compact(self, table: str) -> None:
        delta = DeltaTable(self.path(table))
        delta.optimize.compact()
        delta.vacuum(KEPT_HOURS, dry_run=False)
        self._open.pop(table, None)

    def _delta(self, table: str) -> DeltaTable:
        if table not in self._open:
            self._open[table] = DeltaTable(self.path(table))
        return self._open[table]
