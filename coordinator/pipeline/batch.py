"""What one micro-batch of bronze adds to the other tables."""

import contextlib
import gc
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import pyarrow as pa

from coordinator.pipeline.fold import Fold, FoldState, Position, ReadRange
from coordinator.pipeline.folder import Rows, TableFolder
from coordinator.pipeline.names import OPEN_GENERATIONS
from coordinator.pipeline.state import StateFolder

SLICE_RECORDS: Final = 1_000
"""So many values exist at a time: those of a whole batch would be in memory that the system clears first."""


class Batches:
    """Writes batches, one after the other, to all tables but bronze."""

    def __init__(self, tables: TableFolder, make_fold: Callable[[FoldState], Fold] = Fold) -> None:
        """Create the tables that do not exist.

        Raises:
            StateMissing: another version of this program wrote the tables.
        """
        tables.create()
        self._tables = tables
        self._make_fold = make_fold
        self._states = StateFolder(tables.state_files())
        self._states.require_version()
        self._state = FoldState()
        self._next_batch_id: int | None = None
        self._open: set[str] = set()

    def read_before(self, batch_id: int) -> Mapping[int, ReadRange]:
        """Partition → what of it was read before this batch.

        Raises:
            StateMissing: the state of the batch before is not in the folder.
        """
        self._prepare(batch_id)
        return self._state.read

    def take_in(self, records: pa.Table, batch_id: int) -> None:
        """Add records of bronze (value, partition, offset, timestamp_ms). Repeating a batch changes nothing.

        Raises:
            StateMissing: the state of the batch before is not in the folder.
        """
        self._prepare(batch_id)
        self._next_batch_id = None  # until all is written
        with _without_collector():
            self._take_in(records, batch_id)
        self._next_batch_id = batch_id + 1

    def _prepare(self, batch_id: int) -> None:
        if batch_id != self._next_batch_id:
            self._state = self._states.before(batch_id)
            self._open = {name for name, group in self._state.groups.items() if group.open is not None}
            self._next_batch_id = batch_id

    def _take_in(self, records: pa.Table, batch_id: int) -> None:
        # Files are read in any order; those of a partition must be in the order of the topic.
        records = records.sort_by([("partition", "ascending"), ("offset", "ascending")])
        fold = self._make_fold(self._state)
        for first in range(0, records.num_rows, SLICE_RECORDS):
            part = records.slice(first, SLICE_RECORDS)
            columns = (part.column(name).to_pylist() for name in ("partition", "offset", "timestamp_ms"))
            fold.take_in(part.column("value").to_pylist(), map(Position, *columns))
        self._tables.commit(fold.finish(), self._open_generations(fold.touched), batch_id)
        self._states.after(batch_id, self._state, fold.touched, fold.heard)

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


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """A batch makes millions of objects and no cycles: looking for cycles among them costs a quarter of its time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
