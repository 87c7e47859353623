"""The decoded records of `__consumer_offsets` of a batch, folded into rows like the events of the audit."""

from collections.abc import Iterable
from typing import Final

import msgspec

from coordinator.observe.classic import classic_events
from coordinator.observe.consumer import TopicNames, consumer_events
from coordinator.observe.group_so_far import Event, EventEmitter, GroupSoFar
from coordinator.observe.records.stored import ClassicGroup, Commits, GroupRecord, Rejected, Skipped, decode
from coordinator.observe.typed import typed
from coordinator.pipeline.fold import Fold, Position, where
from coordinator.pipeline.inferred_columns import columns_of, for_silver
from coordinator.pipeline.names import COMMITS, SKIPPED
from coordinator.pipeline.partition_state import PartitionState
from coordinator.pipeline.rows import NewRows
from coordinator.pipeline.stored_batches import COMMITS_WINDOW_MS

_encode: Final = msgspec.json.Encoder().encode


class StoredFold(Fold):
    """Takes what `stored_batches` makes of records, in the order of each partition."""

    def __init__(self, before: PartitionState, rows: NewRows, name_of: TopicNames) -> None:
        """As of `Fold`. `name_of` is asked for topics of consumer groups."""
        super().__init__(before, rows)
        self._name_of = name_of

    def add_records(self, values: Iterable[bytes], positions: Iterable[Position]) -> None:
        for value, position in zip(values, positions, strict=True):
            match decode(value):
                case Rejected(why=why, value=damaged):
                    self.reject(why, damaged, position)
                case Skipped() as skipped:
                    self._note_skipped(skipped, position)
                case Commits() as commits:
                    self._note_commits(commits)
                case record:
                    self.add_record(record, position)

    def add_record(self, record: GroupRecord, position: Position) -> None:
        """Take in a decoded record of a group."""
        group = self._existing(record.group_id)
        so_far = group.stored if group is not None else None
        emitter = EventEmitter(record.group_id, so_far or GroupSoFar(), position.timestamp_ms)
        if isinstance(record, ClassicGroup):
            classic_events(emitter, record)
        else:
            consumer_events(emitter, record, self._name_of)
        for event in emitter.events:
            self._add_inferred(event, position)
        if group is None:
            group = self._existing(record.group_id)
        if group is not None:
            group.stored = emitter.so_far
            self._touched.add(record.group_id)

    def _add_inferred(self, inferred: Event, position: Position) -> None:
        """Take in an event that a record stands for; silver has it as it was inferred."""
        event = typed(inferred)
        if self._is_new(event, position):
            self._keep_other(for_silver(inferred), _encode(inferred), position)
            group = self._opened(event.group_id, self._groups[event.group_id])
            self._apply(group, event, inferred.get("cause"))
            group.state.inferred = columns_of(inferred, group.state.inferred)

    def _note_skipped(self, skipped: Skipped, position: Position) -> None:
        numbers = {"records": skipped.records, "last_offset": skipped.last_offset}
        self.rows[SKIPPED].append({**where(position), "record_type": skipped.record_type, **numbers})

    def _note_commits(self, commits: Commits) -> None:
        """The rows of a minute are to be summed: batches do not end with a minute."""
        self.rows[COMMITS].append(
            {
                "group_id": commits.group_id,
                "time_ms": commits.window_ms,
                "interval_ms": COMMITS_WINDOW_MS,
                "commits": commits.commits,
                "partitions": len(commits.partitions),
                "first_log_offset": commits.first_offset,
                "last_log_offset": commits.last_offset,
            }
        )
