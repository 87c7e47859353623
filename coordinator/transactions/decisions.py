"""What all decisions about transactions share."""

from typing import Final, cast

from _wire.errors import ErrorCode
from coordinator.core.decision import Decision, OperationContext, Reply
from coordinator.core.events import Event
from coordinator.log.errors import LogAppendError
from coordinator.transactions.events import TransactionChanged, TransactionEvent
from coordinator.transactions.transaction import Transaction

FENCED_BEFORE: Final = {"InitProducerId": 4, "AddPartitionsToTxn": 2, "AddOffsetsToTxn": 2, "EndTxn": 2}
"""API → the first version whose clients know PRODUCER_FENCED; before, it is INVALID_PRODUCER_EPOCH (KIP-588)."""


def decided(context: OperationContext, response: object, *events: TransactionEvent) -> Decision:
    """A decision with these events; the request, if somebody waits for it, gets the response."""
    replies = () if context.request_id is None else (Reply(context.request_id, response),)
    return Decision(cast("tuple[Event, ...]", events), replies, keeps_membership=True)


def changed(before: Transaction | None, after: Transaction) -> TransactionChanged:
    return TransactionChanged(before, after)


class NoProducerId(Exception):
    """No producer id can be allocated now. `error` is the protocol's error code."""

    def __init__(self, error: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error = error


def new_producer_id(context: OperationContext) -> int:
    """Allocate a producer id.

    Raises:
        NoProducerId: COORDINATOR_LOAD_IN_PROGRESS while the next block of ids is being reserved, as on Kafka
            (RPCProducerIdManager); COORDINATOR_NOT_AVAILABLE if the metadata log cannot be written.
    """
    try:
        producer_id = context.environment.new_producer_id(context.now_ms)
    except LogAppendError as problem:
        raise NoProducerId(ErrorCode.COORDINATOR_NOT_AVAILABLE, str(problem)) from problem
    if producer_id is None:
        raise NoProducerId(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "the next block of producer ids is being reserved")
    return producer_id


def known_error(api: str, error: ErrorCode, api_version: int) -> ErrorCode:
    """The error as clients of this version of the API know it."""
    if error is ErrorCode.PRODUCER_FENCED and api_version < FENCED_BEFORE[api]:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error
