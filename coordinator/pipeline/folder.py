"""What a batch needs of the folder of the tables, whatever file system it is on, and how long its files are kept.

`tables.py` implements it for a local folder, `spark_tables.py` for all others.
"""

from collections.abc import Mapping
from typing import Final, Protocol

from coordinator.pipeline.columns import BRONZE_COLUMNS, TABLES, TableRows
from coordinator.pipeline.names import BRONZE

Rows = Mapping[str, TableRows]
"""Table → rows."""

COMPACT_EVERY_BATCHES: Final = 100
"""One table is compacted per batch from each multiple of this number on, so that no batch waits for all of them."""

COMPACTED_BYTES: Final = 64 * 1024 * 1024
"""Files are joined up to this size. Larger ones are never rewritten, which bounds the time of a compaction."""

KEPT_HOURS: Final = 2
"""How long files of older versions are kept. A reader that opened a table has so much time to read it."""

CHECKPOINT_EVERY_COMMITS: Final = 50
"""A reader reads the last checkpoint of the log and at most as many commits. Log files before it are deleted by age."""


PROPERTIES: Final = {
    "delta.logRetentionDuration": f"interval {KEPT_HOURS} hours",
    "delta.deletedFileRetentionDuration": f"interval {KEPT_HOURS} hours",
    "delta.checkpointInterval": str(CHECKPOINT_EVERY_COMMITS),
}
"""The Delta properties with which each table is created."""

SCHEMAS: Final = {**TABLES, BRONZE: BRONZE_COLUMNS}
"""Table → its columns, of all tables."""


def table_to_compact(batch_id: int) -> str | None:
    """The table whose turn it is after this batch, if there is one."""
    names = list(SCHEMAS)
    place = batch_id % COMPACT_EVERY_BATCHES
    return names[place] if batch_id >= COMPACT_EVERY_BATCHES and place < len(names) else None


class Files(Protocol):
    """The files of one folder."""

    def names(self) -> list[str]: ...

    def read(self, name: str) -> bytes:
        """Raises FileNotFoundError."""

    def write(self, name: str, content: bytes) -> None:
        """Write or replace the file. After a crash it is the old one or the new one, whole."""

    def delete(self, name: str) -> None:
        """Nothing happens if it is not there."""


class TableFolder(Protocol):
    """The folder of all tables and checkpoints. A table and its query's checkpoint are only valid together, so both are
    in one folder, which can be copied or deleted as a whole."""

    def path(self, table: str) -> str:
        """Return the full path or URI of a table."""

    def checkpoint(self, query: str) -> str: ...

    def state_files(self) -> Files: ...

    def create(self) -> None:
        """Create the tables that do not exist, so that they can be read before the first event."""

    def commit(self, appended: Rows, replaced: Rows, batch_id: int) -> None:
        """Append rows to tables, unless a table has those of this batch: its log names the last one. And give tables
        new contents. Interrupted anywhere, it can be repeated."""

    def compact(self, table: str) -> None:
        """Join the small files, and delete those that have been no part of the table for as long as they are kept."""
