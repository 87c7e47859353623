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
    """No producer id can be allocated now: the metadata log cannot be written."""


def new_producer_id(context: OperationContext) -> int:
    """Allocate a producer id.

    Raises:
        NoProducerId: that is not possible now.
    """
    try:
        return context.environment.new_producer_id(context.now_ms)
    except LogAppendError as problem:
        raise NoProducerId(str(problem)) from problem


def known_error(api: str, error: ErrorCode, api_version: int) -> ErrorCode:
    """The error as clients of this version of the API know it."""
    if error is ErrorCode.PRODUCER_FENCED and api_version < FENCED_BEFORE[api]:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error
