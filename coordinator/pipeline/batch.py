"""What one micro-batch of bronze adds to the other tables."""

from collections.abc import Callable

import pyarrow as pa

from coordinator.pipeline.fold import Fold, FoldState, Position
from coordinator.pipeline.folder import Rows, TableFolder
from coordinator.pipeline.names import OPEN_GENERATIONS
from coordinator.pipeline.state import StateFolder


class Batches:
    """Writes batches, one after the other, to all tables but bronze."""

    def __init__(self, tables: TableFolder, make_fold: Callable[[FoldState], Fold] = Fold) -> None:
        tables.create()
        self._tables = tables
        self._make_fold = make_fold
        self._states = StateFolder(tables.state_files())
        self._state = FoldState()
        self._next_batch_id: int | None = None
        self._open: set[str] = set()

    def take_in(self, records: pa.Table, batch_id: int) -> None:
        """Add records of bronze (value, partition, offset, timestamp_ms). Repeating a batch changes nothing.

        Raises:
            StateMissing: the state of the batch before is not in the folder.
        """
        if batch_id != self._next_batch_id:
            self._state = self._states.before(batch_id)
            self._open = {name for name, group in self._state.groups.items() if group.open is not None}
        self._next_batch_id = None  # until all is written
        # Files are read in any order; those of a partition must be in the order of the topic.
        records = records.sort_by([("partition", "ascending"), ("offset", "ascending")])
        columns = (records.column(name).to_pylist() for name in ("partition", "offset", "timestamp_ms"))
        fold = self._make_fold(self._state)
        fold.take_in(records.column("value").to_pylist(), map(Position, *columns))
        self._tables.commit(fold.finish(), self._open_generations(fold.touched), batch_id)
        self._states.after(batch_id, self._state, fold.touched, fold.heard)
        self._next_batch_id = batch_id + 1

    def _open_generations(self, touched: set[str]) -> Rows:
        """The new contents of the table, if they changed."""
        before = len(self._open)
        self._open -= touched
        now = {name for name in touched if self._state.groups[name].open is not None}
        if before == len(self._open) and not now:
            return {}
        self._open |= now
        open_rows = (self._state.groups[name].open for name in sorted(self._open))
        return {OPEN_GENERATIONS: [row for row in open_rows if row is not None]}
