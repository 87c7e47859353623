"""What all decisions about transactions share."""

from typing import Final

from _wire.errors import ErrorCode
from coordinator.core.decision import Decision, Effect, OperationContext, Reply
from coordinator.core.transactions.events import TransactionChanged, TransactionEvent
from coordinator.core.transactions.transaction import Transaction

FENCED_BEFORE: Final = {"InitProducerId": 4, "AddPartitionsToTxn": 2, "AddOffsetsToTxn": 2, "EndTxn": 2}
"""API → the first version whose clients know PRODUCER_FENCED; before, it is INVALID_PRODUCER_EPOCH (KIP-588)."""


def decided(
    context: OperationContext, response: object, *events: TransactionEvent, effects: tuple[Effect, ...] = ()
) -> Decision:
    """A decision with these events; the request, if somebody waits for it, gets the response."""
    replies = () if context.request_id is None else (Reply(context.request_id, response),)
    return Decision(events, replies, effects, no_step_follows=True)


def changed(before: Transaction | None, after: Transaction) -> TransactionChanged:
    return TransactionChanged(before, after)


class NoProducerId(Exception):
    """No producer id is reserved now. `error` is the protocol's error code."""

    def __init__(self, error: ErrorCode) -> None:
        super().__init__(error.name)
        self.error = error


def next_producer_id(context: OperationContext) -> int:
    """A producer id that was never used. A decision that assigns it has the effect ProducerIdAssigned.

    Raises:
        NoProducerId: COORDINATOR_LOAD_IN_PROGRESS while the next block of ids is being reserved, as on Kafka
            (RPCProducerIdManager); COORDINATOR_NOT_AVAILABLE if the metadata log cannot be written.
    """
    producer_ids = context.environment.producer_ids
    producer_id = producer_ids.next_id
    if producer_id is None:
        has_failed = producer_ids.has_failed
        raise NoProducerId(
            ErrorCode.COORDINATOR_NOT_AVAILABLE if has_failed else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        )
    return producer_id


def error_of_version(api: str, error: ErrorCode, api_version: int) -> ErrorCode:
    """The error as clients of this version of the API know it."""
    if error is ErrorCode.PRODUCER_FENCED and api_version < FENCED_BEFORE[api]:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error
