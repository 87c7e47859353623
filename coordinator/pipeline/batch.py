"""What one micro-batch of bronze adds to the other tables."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from coordinator.pipeline.fold import Fold, GroupState, Position
from coordinator.pipeline.names import OPEN_GENERATIONS
from coordinator.pipeline.state import StateFolder
from coordinator.pipeline.tables import Tables


class Batches:
    """Writes batches, one after the other, to all tables but bronze."""

    def __init__(self, tables: Tables, make_fold: Callable[[dict[str, GroupState]], Fold] = Fold) -> None:
        tables.create()
        self._tables = tables
        self._make_fold = make_fold
        self._state = StateFolder(tables.state_folder())
        self._groups: dict[str, GroupState] = {}
        self._next_batch_id: int | None = None
        self._open: set[str] = set()

    def take_in(self, records: pa.Table, batch_id: int) -> None:
        """Add records of bronze (value, partition, offset, timestamp_ms). Repeating a batch changes nothing.

        Raises:
            StateMissing: the state of the batch before is not in the folder.
        """
        if batch_id != self._next_batch_id:
            self._groups = self._state.before(batch_id)
            self._open = {name for name, group in self._groups.items() if group.open is not None}
        self._next_batch_id = None  # until all is written
        # Files are read in any order; those of a partition must be in the order of the topic.
        records = records.sort_by([("partition", "ascending"), ("offset", "ascending")])
        columns = (records.column(name).to_pylist() for name in ("partition", "offset", "timestamp_ms"))
        fold = self._make_fold(self._groups)
        fold.take_in(records.column("value").to_pylist(), map(Position, *columns))
        for table, rows in fold.finish().items():
            self._tables.append(table, rows, batch_id)
        self._show_open(fold.touched)
        self._state.after(batch_id, self._groups, fold.touched)
        self._next_batch_id = batch_id + 1
        self._tables.compact_one(batch_id)

    def _show_open(self, touched: set[str]) -> None:
        before = len(self._open)
        self._open -= touched
        now = {name for name in touched if self._groups[name].open is not None}
        if before != len(self._open) or now:
            self._open |= now
            rows: list[dict[str, Any]] = [
                group.open for name in sorted(self._open) if (group := self._groups[name]).open is not None
            ]
            self._tables.replace(OPEN_GENERATIONS, rows)
