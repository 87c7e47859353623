"""What becomes of an operation that failed; nothing changes."""

from collections.abc import Sequence

from _wire.errors import ErrorCode
from coordinator.core.decision import Decision, Reply
from coordinator.core.stored_batch import StoredBatch
from coordinator.logger import logger
from coordinator.runtime.batch import Batch, QueuedOperation, RecordsTooLarge
from coordinator.runtime.state_machine import StateMachine

Decided = tuple[Decision, Sequence[StoredBatch]]
"""A decision and its records."""


def failed(machine: StateMachine, queued: QueuedOperation, batch: Batch, problem: Exception) -> Decided | None:
    """What is decided instead, by events without records; None if the operation failed alone.

    What a group waits for (`Operation.failed`) fails alone only if that decides so.
    """
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
    if queued.context.request_id is not None:
        error = queued.error_response(ErrorCode.UNKNOWN_SERVER_ERROR)
        batch.replies.append(Reply(queued.context.request_id, error))
    return None
