"""Decisions about the states of share partitions. Counterpart in Kafka: `ShareCoordinatorShard`.

The checks come in Kafka's order. Beyond them, a batch that ends before it begins is refused, with which Kafka's merging
never ends, and so are more batches than can be in flight.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from _wire.errors import ErrorCode
from coordinator.config.share_coordinator_keys import (
    SHARE_COORDINATOR_COLD_PARTITION_SNAPSHOT_INTERVAL_MS,
    SHARE_COORDINATOR_SNAPSHOT_UPDATE_RECORDS_PER_SNAPSHOT,
)
from coordinator.core.decision import NOTHING, Decision, OperationContext, Reply
from coordinator.core.share_state.batches import count_of, merged, packed
from coordinator.core.share_state.events import SnapshotTaken, StateEvent, StateForgotten, StateUpdated
from coordinator.core.share_state.requests import DONE, Initialize, Named, Outcome, Read, Write, refused
from coordinator.core.share_state.state import NO_EPOCH, SharePartition, ShareState, with_snapshot
from coordinator.core.share_state.stored import updated
from coordinator.core.share_states import BY_STRATEGY, UNKNOWN_COUNT, StateBatch

BATCHES_MAX: Final = 20_000
"""Batches of a share partition: twice as many as records that may be in flight, each with a state of its own
(`group.share.partition.max.record.locks` is 10,000 at most)."""
BATCHES_PER_OPERATION: Final = 200
"""To store so many batches takes as long as a usual operation."""
NO_LEADER_YET: Final = 0
"""The leader epoch of a state that no leader has read."""

NEGATIVE_PARTITION: Final = "The partition id cannot be a negative number."
READ_UNINITIALIZED: Final = "Read operation on uninitialized share partition not allowed."
WRITE_UNINITIALIZED: Final = "Write operation on uninitialized share partition not allowed."


def initialize(state: ShareState | None, request: Initialize, context: OperationContext) -> Decision:
    """Begin the state with a snapshot. What leaders were seen stays known, so that older ones are fenced."""
    if request.of.partition < 0:
        return _decided(context, _negative_partition())
    if _is_fenced(request.state_epoch, None if state is None else state.highest_state_epoch):
        return _decided(context, refused(ErrorCode.FENCED_STATE_EPOCH))
    if not _exists(request.of, context):
        return _decided(context, refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    snapshot = ShareState(
        request.of,
        0 if state is None else state.snapshot_epoch + 1,
        request.state_epoch,
        NO_LEADER_YET,
        request.start_offset,
        UNKNOWN_COUNT if request.start_offset == BY_STRATEGY else 0,
        created_ms=context.wall_ms,
        written_ms=context.wall_ms,
    )
    return _decided(context, DONE, SnapshotTaken(with_snapshot(state, snapshot, _updates_per_snapshot(context))))


def write(state: ShareState | None, request: Write, context: OperationContext) -> Decision:
    """Store what has changed. The epochs of the request are checked, and not taken over."""
    if request.of.partition < 0:
        return _decided(context, _negative_partition())
    if state is None:
        return _decided(context, refused(ErrorCode.INVALID_REQUEST, WRITE_UNINITIALIZED))
    if _is_fenced(request.leader_epoch, state.highest_leader_epoch):
        return _decided(context, refused(ErrorCode.FENCED_LEADER_EPOCH))
    if _is_fenced(request.state_epoch, state.highest_state_epoch):
        return _decided(context, refused(ErrorCode.FENCED_STATE_EPOCH))
    if not _exists(request.of, context):
        return _decided(context, refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    problem = _problem_of(request.batches)
    if problem is not None:
        return _decided(context, refused(ErrorCode.INVALID_REQUEST, problem))
    event = _written(state, request, state.leader_epoch, context)
    count = count_of(event.after.batches)
    if count > BATCHES_MAX:
        return _decided(context, refused(ErrorCode.INVALID_REQUEST, _too_many()))
    stored = count if isinstance(event, SnapshotTaken) else len(request.batches)
    return _decided(context, DONE, event, weight=stored // BATCHES_PER_OPERATION)


def read(state: ShareState | None, request: Read, context: OperationContext) -> Decision:
    """Read the state; the epoch of a leader that was not seen before is stored, so that older ones are fenced."""
    if request.of.partition < 0:
        return _decided(context, _negative_partition())
    if state is None:
        return _decided(context, refused(ErrorCode.INVALID_REQUEST, READ_UNINITIALIZED))
    if _is_fenced(request.leader_epoch, state.highest_leader_epoch):
        return _decided(context, refused(ErrorCode.FENCED_LEADER_EPOCH))
    if not _exists(request.of, context):
        return _decided(context, refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    outcome = Outcome(state=state)
    if request.leader_epoch in (NO_EPOCH, state.highest_leader_epoch):
        return _decided(context, outcome)
    same = Write(
        request.of, NO_EPOCH, request.leader_epoch, state.start_offset, state.delivery_complete_count, batches=()
    )
    return _decided(context, outcome, _written(state, same, request.leader_epoch, context))


def summarize(state: ShareState | None, request: Named, context: OperationContext) -> Decision:
    """Read where the partition starts; nothing is known of a state that is not there."""
    if request.of.partition < 0:
        return _decided(context, _negative_partition())
    if not _exists(request.of, context):
        return _decided(context, refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    return _decided(context, Outcome(state=state))


def delete(state: ShareState | None, request: Named, context: OperationContext) -> Decision:
    """Forget the state; one that is not there is forgotten already."""
    if request.of.partition < 0:
        return _decided(context, _negative_partition())
    if not _exists(request.of, context):
        return _decided(context, refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    return _decided(context, DONE) if state is None else _decided(context, DONE, StateForgotten(state.of))


def forget(state: ShareState | None, request: None, context: OperationContext) -> Decision:
    """The topic was deleted."""
    return NOTHING if state is None else Decision((StateForgotten(state.of),), no_step_follows=True)


def copy_if_cold(state: ShareState | None, request: None, context: OperationContext) -> Decision:
    """Store the snapshot once more if it is old, so that the log before it can be deleted."""
    interval_ms = context.config[SHARE_COORDINATOR_COLD_PARTITION_SNAPSHOT_INTERVAL_MS]
    if state is None or context.wall_ms - state.written_ms < interval_ms:
        return NOTHING
    copy = msgspec.structs.replace(state, snapshot_epoch=state.snapshot_epoch + 1, written_ms=context.wall_ms)
    event = SnapshotTaken(with_snapshot(state, copy, _updates_per_snapshot(context)))
    return Decision((event,), no_step_follows=True, weight=count_of(state.batches) // BATCHES_PER_OPERATION)


def _decided(context: OperationContext, outcome: Outcome, *events: StateEvent, weight: int = 0) -> Decision:
    replies = () if context.request_id is None else (Reply(context.request_id, outcome),)
    return Decision(events, replies, no_step_follows=True, weight=weight)


def _negative_partition() -> Outcome:
    return refused(ErrorCode.INVALID_REQUEST, NEGATIVE_PARTITION)


def _is_fenced(epoch: int, highest: int | None) -> bool:
    return epoch != NO_EPOCH and highest is not None and epoch < highest


def _exists(of: SharePartition, context: OperationContext) -> bool:
    topics = context.topics
    name = topics.topic_name(of.topic_id)
    return name is not None and of.partition < topics.partition_count(name)


def _problem_of(batches: Sequence[StateBatch]) -> str | None:
    if len(batches) > BATCHES_MAX:
        return _too_many()
    for batch in batches:
        if batch.last_offset < batch.first_offset:
            return f"A batch ends at offset {batch.last_offset}, before it begins at {batch.first_offset}."
    return None


def _too_many() -> str:
    return f"The state would have too many batches: at most {BATCHES_MAX} are possible."


def _updates_per_snapshot(context: OperationContext) -> int:
    return context.config[SHARE_COORDINATOR_SNAPSHOT_UPDATE_RECORDS_PER_SNAPSHOT]


def _written(
    state: ShareState, request: Write, leader_epoch: int, context: OperationContext
) -> SnapshotTaken | StateUpdated:
    """An update with what is new, or a snapshot of all when there were enough updates."""
    updates_per_snapshot = _updates_per_snapshot(context)
    if state.updates < updates_per_snapshot:
        batches = merged(b"", packed(request.batches), request.start_offset)
        after = updated(state, leader_epoch, request.start_offset, request.delivery_complete_count, batches)
        return StateUpdated(after, request.start_offset, batches)
    start_offset = state.start_offset if request.start_offset == BY_STRATEGY else request.start_offset
    snapshot = ShareState(
        state.of,
        state.snapshot_epoch + 1,
        state.state_epoch,
        leader_epoch,
        start_offset,
        request.delivery_complete_count,
        merged(state.batches, packed(request.batches), start_offset),
        created_ms=context.wall_ms,
        written_ms=context.wall_ms,
    )
    return SnapshotTaken(with_snapshot(state, snapshot, updates_per_snapshot))
