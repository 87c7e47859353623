"""InitProducerId: give a transactional id a producer, which fences the one before it (KIP-98, KIP-360, KIP-890).

Counterpart in Kafka: `TransactionCoordinator.handleInitProducerId`,
`TransactionMetadata.prepareIncrementProducerEpoch`.
"""

from typing import Final

import msgspec

from _wire.errors import ErrorCode
from _wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from coordinator.config.transaction_keys import TRANSACTION_MAX_TIMEOUT_MS
from coordinator.core.decision import Decision, OperationContext
from coordinator.core.operation import Answer
from coordinator.core.producer_ids import ProducerIdAssigned, ProducerIdMissing
from coordinator.core.transactions.decisions import NoProducerId, changed, decided, error_of_version, next_producer_id
from coordinator.core.transactions.end import abort_of_coordinator
from coordinator.core.transactions.events import TransactionChanged
from coordinator.core.transactions.states import EMPTY, ONGOING, PREPARED
from coordinator.core.transactions.transaction import LAST_EPOCH, NO_EPOCH, NO_PRODUCER_ID, NO_TIMESTAMP, Transaction

API: Final = "InitProducerId"
TRANSACTIONAL_ID_LENGTH_MAX: Final = 1_024
"""In characters. Kafka takes 32,767 bytes, but Kafka Streams and Flink need less than 200; it is kept for each id."""


def prepare(request: InitProducerIdRequest, context: OperationContext) -> InitProducerIdRequest | Answer:
    """What can be answered without the transactional id."""
    error = ErrorCode.NONE
    transactional_id = request.transactional_id or ""
    if not 0 < len(transactional_id) <= TRANSACTIONAL_ID_LENGTH_MAX or not names_whole_producer(request):
        error = ErrorCode.INVALID_REQUEST
    elif not 0 < request.transaction_timeout_ms <= context.config[TRANSACTION_MAX_TIMEOUT_MS]:
        error = ErrorCode.INVALID_TRANSACTION_TIMEOUT
    return request if error is ErrorCode.NONE else Answer(error_response(request, error, context.api_version))


def names_whole_producer(request: InitProducerIdRequest) -> bool:
    """Whether the request names a producer id and an epoch, or neither of them."""
    return (request.producer_id == NO_PRODUCER_ID) == (request.producer_epoch == NO_EPOCH)


def initialize(transaction: Transaction | None, request: InitProducerIdRequest, context: OperationContext) -> Decision:
    """Give the transactional id its next epoch; a transaction that is open is aborted first, and the client asks again.

    The request may name the producer id and epoch that the client has: then only this producer gets the next epoch.
    """
    if transaction is not None:
        error = ErrorCode.NONE
        if transaction.state in PREPARED:
            error = ErrorCode.CONCURRENT_TRANSACTIONS
        elif not _is_expected(transaction, request):
            error = ErrorCode.PRODUCER_FENCED
        elif transaction.state is ONGOING:
            response = error_response(request, ErrorCode.CONCURRENT_TRANSACTIONS, context.api_version)
            return decided(context, response, changed(transaction, abort_of_coordinator(transaction, context.now_ms)))
        if error is not ErrorCode.NONE:
            return decided(context, error_response(request, error, context.api_version))
    elif not context.environment.may_create_transactional_id(context.client_host):
        return decided(context, error_response(request, ErrorCode.POLICY_VIOLATION, context.api_version))
    try:
        after = _initialized(transaction, request, context)
    except NoProducerId as problem:
        response = error_response(request, problem.error, context.api_version)
        return decided(context, response, effects=(ProducerIdMissing(),))
    if after is None:
        return decided(context, error_response(request, ErrorCode.PRODUCER_FENCED, context.api_version))
    is_assigned = transaction is None or after.producer_id != transaction.producer_id
    return decided(
        context,
        InitProducerIdResponse(producer_id=after.producer_id, producer_epoch=after.epoch),
        TransactionChanged(transaction, after, client_host=context.client_host if transaction is None else None),
        effects=(ProducerIdAssigned(after.producer_id),) if is_assigned else (),
    )


def _is_expected(transaction: Transaction, request: InitProducerIdRequest) -> bool:
    """Whether the producer id that a request names may be that of the client."""
    return (
        request.producer_id in (NO_PRODUCER_ID, transaction.producer_id)
        # A repeated request, after which the producer id was changed because its epochs are used up.
        or (request.producer_id == transaction.previous_producer_id and request.producer_epoch >= LAST_EPOCH)
    )


def _initialized(
    transaction: Transaction | None, request: InitProducerIdRequest, context: OperationContext
) -> Transaction | None:
    """The transactional id after the request; None if the request names an epoch that is fenced."""
    now_ms, expected = context.now_ms, request.producer_epoch
    if transaction is None:
        producer_id = next_producer_id(context)
        return Transaction(
            request.transactional_id or "",
            producer_id,
            0,
            request.transaction_timeout_ms,
            EMPTY,
            updated_ms=now_ms,
            previous_producer_id=producer_id,
        )
    producer_id, epoch, last_epoch = transaction.producer_id, transaction.epoch, NO_EPOCH
    is_retry = expected == transaction.last_epoch != NO_EPOCH
    # After an abort by the coordinator there is no epoch left that a transaction could end with.
    is_used_up = transaction.epoch > LAST_EPOCH and is_retry
    if (transaction.is_epoch_exhausted and expected in (NO_EPOCH, transaction.epoch)) or is_used_up:
        producer_id = next_producer_id(context)
        last_epoch = NO_EPOCH if expected == NO_EPOCH else epoch
        epoch = 0
    elif expected in (NO_EPOCH, epoch):
        last_epoch = NO_EPOCH if expected == NO_EPOCH else epoch
        epoch += 1
    elif is_retry:
        last_epoch = transaction.last_epoch  # a repeated request
    else:
        return None
    return msgspec.structs.replace(
        transaction,
        producer_id=producer_id,
        epoch=epoch,
        last_epoch=last_epoch,
        previous_producer_id=transaction.producer_id,
        next_producer_id=NO_PRODUCER_ID,
        timeout_ms=request.transaction_timeout_ms,
        state=EMPTY,
        partitions=frozenset(),
        updated_ms=now_ms,
        started_ms=NO_TIMESTAMP,
    )


def error_response(request: InitProducerIdRequest, error: ErrorCode, api_version: int) -> InitProducerIdResponse:
    return InitProducerIdResponse(
        error_code=error_of_version(API, error, api_version), producer_id=-1, producer_epoch=-1
    )
