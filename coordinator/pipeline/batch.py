"""What one micro-batch of bronze adds to the other tables."""

from collections.abc import Mapping

import pyarrow as pa

from coordinator.garbage import no_collections
from coordinator.pipeline.fold import Fold
from coordinator.pipeline.folder import Rows, TableFolder
from coordinator.pipeline.generations import Row
from coordinator.pipeline.names import OPEN_GENERATIONS
from coordinator.pipeline.partition_folds import Changes, MakeFold, fold_records
from coordinator.pipeline.partition_state import PartitionState, ReadRange, open_row
from coordinator.pipeline.state import StateFolder, States


class Batches:
    """Writes batches, one after the other, to all tables but bronze."""

    def __init__(self, tables: TableFolder, make_fold: MakeFold = Fold) -> None:
        """Create the tables that do not exist.

        Raises:
            StateMissing: another version of this program wrote the tables.
        """
        tables.create()
        self._tables = tables
        self._make_fold = make_fold
        self._files = StateFolder(tables.state_files())
        self._files.require_version()
        self._states: States = {}
        self._next_batch_id: int | None = None
        self._open: dict[tuple[int, str], Row] = {}

    def before(self, batch_id: int) -> States:
        """Partition → its state before this batch.

        Raises:
            StateMissing: the state of the batch before is not in the folder.
        """
        if batch_id != self._next_batch_id:
            self._states = self._files.before(batch_id)
            self._open = {}
            for partition, state in self._states.items():
                self._note_open(partition, state)
            self._next_batch_id = batch_id
        return self._states

    def read_before(self, batch_id: int) -> Mapping[int, ReadRange]:
        """Partition → what of it was read before this batch.

        Raises:
            StateMissing: the state of the batch before is not in the folder.
        """
        return {partition: state.read for partition, state in self.before(batch_id).items()}

    def add_records(self, records: pa.Table, batch_id: int) -> None:
        """Add records of bronze (value, partition, offset, timestamp_ms). Repeating a batch changes nothing.

        Raises:
            StateMissing: the state of the batch before is not in the folder.
        """
        states, nothing = self.before(batch_id), PartitionState()
        with no_collections():
            rows, changes = fold_records(records, lambda group_id: states.get(group_id, nothing), self._make_fold)
            self.commit(rows, changes, batch_id)

    def commit(self, rows: Rows, changes: Changes, batch_id: int) -> None:
        """Add what the folds of a batch made, each from the state `before` it. Repeating a batch changes nothing.

        Raises:
            StateMissing: the state of the batch before is not in the folder.
        """
        states = self.before(batch_id)
        self._next_batch_id = None  # until all is written
        self._tables.commit(rows, self._open_generations(changes), batch_id)
        self._files.after(batch_id, states, changes)
        self._next_batch_id = batch_id + 1

    def _open_generations(self, changes: Changes) -> Rows:
        """The new contents of the table, if they changed."""
        has_changed = False
        for partition, changed in changes.items():
            has_changed |= self._note_open(partition, changed)
        return {OPEN_GENERATIONS: list(self._open.values())} if has_changed else {}

    def _note_open(self, partition: int, state: PartitionState) -> bool:
        """Note the open generations of these groups; return whether there are or were any."""
        has_changed = False
        for group_id, encoded in state.groups.items():
            row = open_row(encoded)
            if row is not None:
                self._open[partition, group_id] = row
                has_changed = True
            elif self._open.pop((partition, group_id), None) is not None:
                has_changed = True
        return has_changed
