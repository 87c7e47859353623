"""From a queued operation to its decision and the records of that; nothing changes."""

from collections.abc import Sequence

from _wire.errors import ErrorCode
from coordinator.core.decision import Decision, Reply
from coordinator.core.stored_batch import StoredBatch
from coordinator.logger import logger
from coordinator.runtime.batch import Batch, QueuedOperation, RecordsTooLarge
from coordinator.runtime.operation_under_way import WEIGHT_OF_STEPS
from coordinator.runtime.state_machine import StateMachine

Decided = tuple[Decision, Sequence[StoredBatch]]
"""A decision and its records."""


def decide(machine: StateMachine, queued: QueuedOperation, batch: Batch) -> Decided | None:
    """The decision with its records, measured; None when the operation failed, which changes nothing.

    Records of a decision over the whole shard are made later, key by key, those of one with much to apply in a step of
    their own. What a group waits for (`Operation.failed`) fails alone only if that decides so.
    """
    try:
        decision = machine.decide(queued)
    except Exception as problem:
        return _failed(machine, queued, batch, problem)
    if not decision.events or queued.key is None or decision.weight >= WEIGHT_OF_STEPS:
        return decision, ()
    return with_records(machine, queued, queued.key, decision, batch)


def with_records(
    machine: StateMachine, queued: QueuedOperation, key: str, decision: Decision, batch: Batch
) -> Decided | None:
    """As `decide`: the decision with its records, or another one if they are too large."""
    try:
        records = machine.records(key, decision)
        if queued.operation.is_divisible:
            records = batch.divided(records)
        batch.check(records)
        return decision, records
    except Exception as problem:
        return _failed(machine, queued, batch, problem)


def _failed(machine: StateMachine, queued: QueuedOperation, batch: Batch, problem: Exception) -> Decided | None:
    """What is decided instead. Its events have no records."""
    operation, key = queued.operation.name, queued.key
    try:
        if not isinstance(problem, RecordsTooLarge):
            logger.error("unhandled exception in operation", operation=operation, key=key, exc_info=problem)
        instead = machine.decide_failed(queued, problem)
        if isinstance(problem, RecordsTooLarge) and (instead is None or not instead.events or instead.replies):
            logger.warning("rejected: " + str(problem), operation=operation, key=key)
        if instead is not None:
            return instead, ()
    except Exception:
        logger.exception("unhandled exception in operation", operation=operation, key=key)
    _reply_failed(queued, batch)
    return None


def _reply_failed(queued: QueuedOperation, batch: Batch) -> None:
    """The operation failed alone."""
    if queued.context.request_id is not None:
        error = queued.error_response(ErrorCode.UNKNOWN_SERVER_ERROR)
        batch.replies.append(Reply(queued.context.request_id, error))
