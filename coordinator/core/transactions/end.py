"""The end of a transaction: EndTxn, the transaction timeout, and the completion once all markers are written.

Counterpart in Kafka: `TransactionCoordinator.endTransaction`, `TransactionMetadata.prepareAbortOrCommit`,
`prepareComplete`.
"""

from typing import Final, NamedTuple

import msgspec

from _wire.errors import NONE, ErrorCode
from _wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from coordinator.config.transaction_keys import TRANSACTIONAL_ID_EXPIRATION_MS
from coordinator.core.decision import NOTHING, Decision, OperationContext
from coordinator.core.operation import Answer
from coordinator.core.producer_ids import ProducerIdAssigned, ProducerIdMissing
from coordinator.core.transactions.decisions import NoProducerId, changed, decided, error_of_version, next_producer_id
from coordinator.core.transactions.events import TransactionalIdRemoved, TransactionChanged
from coordinator.core.transactions.states import (
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    IDLE,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    PREPARED,
    TransactionState,
)
from coordinator.core.transactions.transaction import (
    EPOCH_BUMP_VERSION,
    EPOCH_MAX,
    LAST_EPOCH,
    NO_PRODUCER_ID,
    Transaction,
)

API: Final = "EndTxn"
BUMPS_EPOCH_VERSION: Final = 5
"""The first version of EndTxn whose response brings the epoch of the next transaction (KIP-890)."""


class Completed(NamedTuple):
    """All markers of a transaction are written. The epoch is that of the markers."""

    producer_id: int
    producer_epoch: int


def prepare_end(request: EndTxnRequest, context: OperationContext) -> EndTxnRequest | Answer:
    """What can be answered without the transactional id."""
    if request.transactional_id:
        return request
    return Answer(error_response(request, ErrorCode.INVALID_REQUEST, context.api_version))


def end(transaction: Transaction | None, request: EndTxnRequest, context: OperationContext) -> Decision:
    """Commit or abort: the outcome is stored and answered, then the markers are written."""
    if transaction is None:
        return decided(context, error_response(request, ErrorCode.INVALID_PRODUCER_ID_MAPPING, context.api_version))
    bumps_epoch = context.api_version >= BUMPS_EPOCH_VERSION
    is_retry = bumps_epoch and _is_retry(transaction, request)
    error = _check(transaction, request, bumps_epoch=bumps_epoch, is_retry=is_retry)
    if error is not None:
        if error is not NONE:
            return decided(context, error_response(request, error, context.api_version))
        return decided(context, _response(transaction))
    state = PREPARE_COMMIT if request.committed else PREPARE_ABORT
    client_version = EPOCH_BUMP_VERSION if bumps_epoch else 0
    next_id = NO_PRODUCER_ID
    if bumps_epoch and transaction.is_epoch_exhausted:
        try:
            next_id = next_producer_id(context)
        except NoProducerId as problem:
            response = error_response(request, problem.error, context.api_version)
            return decided(context, response, effects=(ProducerIdMissing(),))
    after = _prepared(transaction, state, client_version, next_id, context.now_ms)
    response = _response(_completed(after, context.now_ms))
    effects = () if next_id == NO_PRODUCER_ID else (ProducerIdAssigned(next_id),)
    return decided(context, response, changed(transaction, after), effects=effects)


def _is_retry(transaction: Transaction, request: EndTxnRequest) -> bool:
    """Whether the request was handled before: the epoch was raised since, or the producer id changed."""
    is_bumped = transaction.epoch == request.producer_epoch + 1
    is_rotated = (
        transaction.previous_producer_id == request.producer_id
        and request.producer_epoch == LAST_EPOCH
        and transaction.epoch == 0
    )
    return is_bumped or is_rotated


def _check(transaction: Transaction, request: EndTxnRequest, *, bumps_epoch: bool, is_retry: bool) -> ErrorCode | None:
    """The error of the request; NONE: it was handled before; None: the transaction is to be ended.

    As on Kafka, a client that ends transactions by version 5 waits first for the end of the transaction before: it has
    the epoch, and perhaps the producer id, of the next one already.
    """
    is_prepared = transaction.state in PREPARED
    if bumps_epoch and is_prepared:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    is_rotated = is_retry and transaction.epoch != request.producer_epoch + 1
    if transaction.producer_id != request.producer_id and not is_rotated:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    state, is_current = transaction.state, request.producer_epoch == transaction.epoch
    is_complete = state in (COMPLETE_COMMIT, COMPLETE_ABORT)
    if bumps_epoch and is_complete:
        is_current = is_current or is_retry
    if not is_current or request.producer_epoch >= EPOCH_MAX:
        return ErrorCode.PRODUCER_FENCED
    if state is ONGOING:
        return None
    if is_prepared:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    is_repeated = is_complete and (is_retry or not bumps_epoch)
    if is_repeated and request.committed == (state is COMPLETE_COMMIT):
        return NONE
    if bumps_epoch and not request.committed and not is_retry:
        return None  # an abort without partitions gives the producer a new epoch
    return ErrorCode.INVALID_TXN_STATE


def _prepared(
    transaction: Transaction, state: TransactionState, client_version: int, next_id: int, now_ms: int
) -> Transaction:
    """The outcome is decided. From transaction version 2 on, the markers have the next epoch."""
    # A transaction of the last epoch, which an earlier version of this server may have stored, has no later one.
    bumps_epoch = client_version >= EPOCH_BUMP_VERSION and transaction.epoch < EPOCH_MAX
    return msgspec.structs.replace(
        transaction,
        state=state,
        epoch=transaction.epoch + 1 if bumps_epoch else transaction.epoch,
        last_epoch=transaction.epoch if bumps_epoch else transaction.last_epoch,
        previous_producer_id=transaction.producer_id,
        next_producer_id=next_id,
        updated_ms=now_ms,
        # Without partitions no transaction has begun.
        started_ms=transaction.started_ms if transaction.state is ONGOING else now_ms,
        partitions=transaction.partitions if transaction.state is ONGOING else frozenset(),
        client_version=client_version if bumps_epoch else 0,
    )


def abort_of_coordinator(transaction: Transaction, now_ms: int) -> Transaction:
    """The open transaction aborted by the coordinator, which fences the epoch of its producer.

    As on Kafka, the producer may go on: InitProducerId with the fenced epoch gets the one after it.
    """
    return _prepared(transaction, PREPARE_ABORT, EPOCH_BUMP_VERSION, NO_PRODUCER_ID, now_ms)


def abort_timed_out(transaction: Transaction | None, request: None, context: OperationContext) -> Decision:
    """Abort the transaction if it has been open for longer than its timeout (`transaction.timeout.ms`)."""
    if transaction is None or transaction.state is not ONGOING:
        return NOTHING
    if transaction.started_ms > context.now_ms:
        # The clock was ahead when it began. It has its whole timeout from now on.
        return decided(
            context, None, changed(transaction, msgspec.structs.replace(transaction, started_ms=context.now_ms))
        )
    if transaction.started_ms + transaction.timeout_ms >= context.now_ms:
        return NOTHING
    aborted = abort_of_coordinator(transaction, context.now_ms)
    return decided(context, None, TransactionChanged(transaction, aborted, is_timed_out=True))


def complete(transaction: Transaction | None, completed: Completed, context: OperationContext) -> Decision:
    """All markers are written: the next transaction may begin."""
    if transaction is None or transaction.state not in PREPARED:
        return NOTHING
    if (transaction.producer_id, transaction.epoch) != completed:
        return NOTHING
    return decided(context, None, changed(transaction, _completed(transaction, context.now_ms)))


def _completed(transaction: Transaction, now_ms: int) -> Transaction:
    """A producer whose epochs are used up gets the next id."""
    is_rotated = transaction.next_producer_id != NO_PRODUCER_ID
    return msgspec.structs.replace(
        transaction,
        state=COMPLETE_COMMIT if transaction.state is PREPARE_COMMIT else COMPLETE_ABORT,
        producer_id=transaction.next_producer_id if is_rotated else transaction.producer_id,
        epoch=0 if is_rotated else transaction.epoch,
        previous_producer_id=transaction.producer_id,
        next_producer_id=NO_PRODUCER_ID,
        partitions=frozenset(),
        updated_ms=now_ms,
    )


def expire(transaction: Transaction | None, request: None, context: OperationContext) -> Decision:
    """Forget a transactional id that was not used for `transactional.id.expiration.ms`."""
    if transaction is None or transaction.state not in IDLE:
        return NOTHING
    if transaction.updated_ms > context.now_ms - context.config[TRANSACTIONAL_ID_EXPIRATION_MS]:
        return NOTHING
    return decided(context, None, TransactionalIdRemoved(transaction.transactional_id))


def _response(transaction: Transaction) -> EndTxnResponse:
    return EndTxnResponse(producer_id=transaction.producer_id, producer_epoch=transaction.epoch)


def error_response(request: EndTxnRequest, error: ErrorCode, api_version: int) -> EndTxnResponse:
    return EndTxnResponse(error_code=error_of_version(API, error, api_version), producer_id=-1, producer_epoch=-1)
