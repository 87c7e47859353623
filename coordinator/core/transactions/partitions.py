"""AddPartitionsToTxn and AddOffsetsToTxn: make partitions part of a transaction, or ask whether they are (KIP-890).

Counterpart in Kafka: `TransactionCoordinator.handleAddPartitionsToTransaction`, `handleVerifyPartitionsInTransaction`.
"""

from collections.abc import Iterable

import msgspec

from _wire.errors import NONE, ErrorCode
from coordinator.core.decision import Decision, OperationContext
from coordinator.core.topic_partition import TopicPartition
from coordinator.core.transactions.decisions import changed, decided
from coordinator.core.transactions.states import IDLE, ONGOING, PREPARED
from coordinator.core.transactions.transaction import EPOCH_MAX, Transaction


class PartitionsRequest(msgspec.Struct, frozen=True):
    """What a client, or the leader of a partition, wants to know of a transaction, or to add to it.

    With `only_verify` nothing is added.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: tuple[TopicPartition, ...]
    client_version: int
    only_verify: bool = False


PartitionErrors = dict[TopicPartition, ErrorCode]
"""The reply: partition → error."""


def add(transaction: Transaction | None, request: PartitionsRequest, context: OperationContext) -> Decision:
    """Add the partitions, and open a transaction if there is none; or only look for them."""
    error = _check(transaction, request)
    if error is not NONE or transaction is None:
        return decided(context, error_response(request, error, 0))
    if request.only_verify:
        return decided(context, dict(_verify(transaction, request.partitions)))
    response = error_response(request, NONE, 0)
    added = transaction.partitions.union(request.partitions)
    if transaction.state is ONGOING and len(added) == len(transaction.partitions):
        return decided(context, response)
    started_ms = context.now_ms if transaction.state in IDLE else transaction.started_ms
    after = msgspec.structs.replace(
        transaction,
        previous_producer_id=transaction.producer_id,
        state=ONGOING,
        partitions=added,
        updated_ms=context.now_ms,
        started_ms=started_ms,
        client_version=request.client_version,
    )
    return decided(context, response, changed(transaction, after))


def _check(transaction: Transaction | None, request: PartitionsRequest) -> ErrorCode:
    if not request.transactional_id:
        return ErrorCode.INVALID_REQUEST
    # Before the producer is looked at: it may know the epoch already that it has once the transaction has ended.
    if transaction is not None and transaction.state in PREPARED and not request.only_verify:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if transaction is None or transaction.producer_id != request.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if transaction.epoch != request.producer_epoch or request.producer_epoch >= EPOCH_MAX:
        return ErrorCode.PRODUCER_FENCED
    if transaction.state in PREPARED:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    return NONE


def _verify(
    transaction: Transaction, partitions: Iterable[TopicPartition]
) -> Iterable[tuple[TopicPartition, ErrorCode]]:
    for tp in partitions:
        is_added = transaction.state is ONGOING and tp in transaction.partitions
        yield tp, NONE if is_added else ErrorCode.TRANSACTION_ABORTABLE


def error_response(request: PartitionsRequest, error: ErrorCode, api_version: int) -> PartitionErrors:
    return dict.fromkeys(request.partitions, error)
