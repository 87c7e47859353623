"""The APIs of transactions: requests go to the transaction coordinator, and from there to groups and logs.

This module has no rules about transactions; `coordinator/core/transactions/operations.py` is the table of them.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from _wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
)
from _wire.messages.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse
from _wire.messages.end_txn import EndTxnRequest
from _wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from _wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from coordinator.core.decision import OperationContext
from coordinator.core.operation import Answer, Operation
from coordinator.core.topic_partition import TopicPartition
from coordinator.core.transactions import initialization, operations
from coordinator.core.transactions.admin import describe_error, list_error, parse_filter
from coordinator.core.transactions.decisions import error_of_version
from coordinator.core.transactions.partitions import PartitionErrors, PartitionsRequest
from coordinator.core.transactions.transaction import EPOCH_BUMP_VERSION
from coordinator.front.dispatch import DEFERRED, DispatchTable
from coordinator.front.handlers.portions import Asked, Portions
from coordinator.front.request_context import RequestContext
from coordinator.internal_topics import OFFSETS_TOPIC
from coordinator.log.errors import LogAppendError
from coordinator.node.handlers.deferred import committed
from coordinator.node.node_context import NodeContext
from coordinator.patterns import InvalidPattern
from coordinator.runtime.slices import Steps, at_once, awaited, awaited_all

MANY_TRANSACTIONS_VERSION: Final = 4
"""From this version on AddPartitionsToTxn is sent by brokers, about many transactions (KIP-890)."""
EPOCH_BUMP_ADD_PARTITIONS: Final = 5
EPOCH_BUMP_ADD_OFFSETS: Final = 4
"""The first versions that only clients send whose transactions have epochs of their own."""
TRANSACTIONS_AT_ONCE: Final = 200
"""Transactions of one AddPartitionsToTxn that are asked about before other requests have their turn."""


class TransactionHandlers:
    """Handlers of the APIs that the transaction coordinator answers."""

    def __init__(self, node: NodeContext) -> None:
        self._node = node
        self._described = Asked("DescribeTransactions", self._enqueue_description, _merge_described)

    def add_to(self, table: DispatchTable) -> None:
        table.add(
            "InitProducerId",
            self.init_producer_id,
            operations.INIT_PRODUCER_ID.error_response,
        )
        table.add("AddPartitionsToTxn", self.add_partitions, _add_partitions_error)
        table.add("AddOffsetsToTxn", self.add_offsets)
        table.add("EndTxn", self.end, operations.END_TXN.error_response)
        table.add("DescribeTransactions", self.describe, _describe_all_error)
        table.add("ListTransactions", self.list_transactions, list_error)

    def init_producer_id(self, request: InitProducerIdRequest, call: RequestContext) -> Any:
        if request.transactional_id is None:
            if not initialization.names_whole_producer(request):
                return initialization.error_response(request, ErrorCode.INVALID_REQUEST, call.api_version)
            return self._assign_producer_id()
        if self._are_producer_ids_missing():
            return self._initialize_later(request.transactional_id, request, call)
        return self._enqueue(operations.INIT_PRODUCER_ID, request.transactional_id, request, call)

    def _assign_producer_id(self) -> Steps[InitProducerIdResponse]:
        """To a producer without transactions, when one is reserved."""
        while (producer_id := self._node.producer_ids.allocate(self._node.now_ms())) is None:
            yield from committed(self._node.metadata)
        return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)

    def _initialize_later(
        self, transactional_id: str, request: InitProducerIdRequest, call: RequestContext
    ) -> Steps[Any]:
        while self._are_producer_ids_missing():
            yield from committed(self._node.metadata)
        return self._enqueue(operations.INIT_PRODUCER_ID, transactional_id, request, call)

    def _are_producer_ids_missing(self) -> bool:
        """Whether the coordinator of a transactional id would get no producer id now, but in a moment."""
        try:
            return not self._node.producer_ids.is_any_left(self._node.now_ms())
        except LogAppendError:
            return False  # perhaps it needs none

    def end(self, request: EndTxnRequest, call: RequestContext) -> Any:
        return self._enqueue(operations.END_TXN, request.transactional_id, request, call)

    def _enqueue(self, operation: Operation, transactional_id: str, request: Any, call: RequestContext) -> Any:
        assert operation.prepare is not None and operation.error_response is not None, operation.name
        prepared = operation.prepare(request, call)
        if isinstance(prepared, Answer):
            return prepared.response
        if not self._node.transactions.shards:
            return operation.error_response(request, ErrorCode.NOT_COORDINATOR, call.api_version)
        call.request_id = self._node.pending.register(call.connection)
        self._node.transactions.enqueue(operation, transactional_id, prepared, call)
        return DEFERRED

    # ------------------------------------------------------------------------------------------------------ partitions

    def add_partitions(self, request: AddPartitionsToTxnRequest, call: RequestContext) -> Steps[Any]:
        version = call.api_version
        client_version = EPOCH_BUMP_VERSION if version >= EPOCH_BUMP_ADD_PARTITIONS else 0
        if version >= MANY_TRANSACTIONS_VERSION:
            return (yield from self._add_many(request, call, client_version))
        topics = request.v3_and_below_topics
        errors, requested = yield from self._split_existing(topics)
        if errors:
            return (yield from _added(topics, errors, version))
        asked = PartitionsRequest(
            request.v3_and_below_transactional_id,
            request.v3_and_below_producer_id,
            request.v3_and_below_producer_epoch,
            requested,
            client_version,
        )
        errors = yield from awaited(partial(self._node.transactions.add_partitions, asked))
        return (yield from _added(topics, errors, version))

    def _add_many(self, request: AddPartitionsToTxnRequest, call: RequestContext, client_version: int) -> Steps[Any]:
        """Many transactions: Kafka never answers a request without any, here it is answered without results."""
        results: list[PartitionErrors | None] = [None] * len(request.transactions)
        asked: list[tuple[int, PartitionsRequest]] = []
        not_tried: set[int] = set()
        for position, transaction in enumerate(request.transactions):
            errors, requested = yield from self._split_existing(transaction.topics)
            if errors:
                results[position] = errors
                not_tried.add(position)
                continue
            one = PartitionsRequest(
                transaction.transactional_id,
                transaction.producer_id,
                transaction.producer_epoch,
                requested,
                client_version,
                transaction.verify_only,
            )
            asked.append((position, one))
        add = self._node.transactions.add_partitions
        for first in range(0, len(asked), TRANSACTIONS_AT_ONCE):
            portion = asked[first : first + TRANSACTIONS_AT_ONCE]
            added = yield from awaited_all([partial(add, one) for _, one in portion])
            for (position, _), errors in zip(portion, added, strict=True):
                results[position] = errors
        return (yield from _added_to_all(request, results, not_tried, call.api_version))

    def _split_existing(
        self, topics: Iterable[AddPartitionsToTxnTopic]
    ) -> Steps[tuple[PartitionErrors, tuple[TopicPartition, ...]]]:
        """The partitions that are asked for; if one of them does not exist, the errors of all."""
        requested: dict[TopicPartition, None] = {}
        missing: set[TopicPartition] = set()
        for topic in topics:
            count = self._node.partitions.partition_count(topic.name)
            for index in topic.partitions:
                tp = TopicPartition(topic.name, index)
                requested[tp] = None
                if not 0 <= index < count:
                    missing.add(tp)
                yield
        if not missing:
            return {}, tuple(requested)
        unknown, untried = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.OPERATION_NOT_ATTEMPTED
        return {tp: unknown if tp in missing else untried for tp in requested}, tuple(requested)

    def add_offsets(self, request: AddOffsetsToTxnRequest, call: RequestContext) -> Steps[AddOffsetsToTxnResponse]:
        tp = TopicPartition(OFFSETS_TOPIC, self._node.coordinator.partition_of(request.group_id))
        asked = PartitionsRequest(
            request.transactional_id,
            request.producer_id,
            request.producer_epoch,
            (tp,),
            EPOCH_BUMP_VERSION if call.api_version >= EPOCH_BUMP_ADD_OFFSETS else 0,
        )
        errors = yield from awaited(partial(self._node.transactions.add_partitions, asked))
        return AddOffsetsToTxnResponse(error_code=error_of_version("AddOffsetsToTxn", errors[tp], call.api_version))

    # ----------------------------------------------------------------------------------------------------------- admin

    def describe(self, request: DescribeTransactionsRequest, call: RequestContext) -> Any:
        ids = request.transactional_ids
        if not ids:
            return DescribeTransactionsResponse()
        call.request_id = self._node.pending.register(call.connection)
        Portions(self._node, self._described, call, ((id_, id_) for id_ in ids)).begin()
        return DEFERRED

    def _enqueue_description(self, transactional_id: str, part: str, context: OperationContext) -> None:
        error = ErrorCode.INVALID_REQUEST
        if transactional_id:
            error = ErrorCode.NOT_COORDINATOR
            operation = operations.DESCRIBE_TRANSACTIONS
            if self._node.transactions.enqueue(operation, transactional_id, transactional_id, context):
                return
        assert context.request_id is not None
        self._node.pending.reply(context.request_id, describe_error(transactional_id, error, 0))

    def list_transactions(self, request: ListTransactionsRequest, call: RequestContext) -> Steps[Any]:
        try:
            requested, unknown = parse_filter(request)
            if requested is None:
                return ListTransactionsResponse(unknown_state_filters=unknown)
            found = yield from self._node.transactions.list_transactions(requested, self._node.now_ms())
        except InvalidPattern:
            return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
        if isinstance(found, ErrorCode):
            return ListTransactionsResponse(error_code=found)
        return ListTransactionsResponse(unknown_state_filters=unknown, transaction_states=found)


def _by_topic(
    topics: Iterable[AddPartitionsToTxnTopic], errors: PartitionErrors, api_version: int
) -> Steps[list[AddPartitionsToTxnTopicResult]]:
    """The errors in the order of the request, a topic as often as it is named."""
    results = []
    for topic in topics:
        by_partition = []
        for index in topic.partitions:
            error = error_of_version("AddPartitionsToTxn", errors[TopicPartition(topic.name, index)], api_version)
            by_partition.append(AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=error))
            yield
        results.append(AddPartitionsToTxnTopicResult(name=topic.name, results_by_partition=by_partition))
    return results


def _merged(
    topics: Iterable[AddPartitionsToTxnTopic], errors: PartitionErrors, api_version: int
) -> Steps[list[AddPartitionsToTxnTopicResult]]:
    """The errors by topic as Kafka merges them: each topic once, with each partition once, and none without any."""
    by_topic: dict[str, dict[int, None]] = {}
    for topic in topics:
        for index in topic.partitions:
            by_topic.setdefault(topic.name, {})[index] = None
            yield
    once = [AddPartitionsToTxnTopic(name=name, partitions=list(indexes)) for name, indexes in by_topic.items()]
    return (yield from _by_topic(once, errors, api_version))


def _added(
    topics: Iterable[AddPartitionsToTxnTopic], errors: PartitionErrors, api_version: int
) -> Steps[AddPartitionsToTxnResponse]:
    results = yield from _by_topic(topics, errors, api_version)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)


def _added_to_all(
    request: AddPartitionsToTxnRequest, results: list[PartitionErrors | None], not_tried: set[int], api_version: int
) -> Steps[AddPartitionsToTxnResponse]:
    """`not_tried` are the positions of transactions that name partitions which do not exist."""
    response = AddPartitionsToTxnResponse()
    for position, (transaction, errors) in enumerate(zip(request.transactions, results, strict=True)):
        by_topic = _merged if transaction.verify_only or position in not_tried else _by_topic
        topic_results = yield from by_topic(transaction.topics, errors or {}, api_version)
        response.results_by_transaction.append(
            AddPartitionsToTxnResult(transactional_id=transaction.transactional_id, topic_results=topic_results)
        )
    return response


def _add_partitions_error(request: AddPartitionsToTxnRequest, error: ErrorCode, api_version: int) -> Any:
    if api_version >= MANY_TRANSACTIONS_VERSION:
        return AddPartitionsToTxnResponse(error_code=error)
    topics = request.v3_and_below_topics
    errors = {TopicPartition(topic.name, index): error for topic in topics for index in topic.partitions}
    return at_once(_added(topics, errors, api_version))


def _merge_described(ids: list[str], parts: list[Any]) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=[
            describe_error(transactional_id, part, 0) if isinstance(part, ErrorCode) else part
            for transactional_id, part in zip(ids, parts, strict=True)
        ]
    )


def _describe_all_error(request: DescribeTransactionsRequest, error: ErrorCode, api_version: int) -> Any:
    return DescribeTransactionsResponse(
        transaction_states=[
            describe_error(transactional_id, error, 0) for transactional_id in request.transactional_ids
        ]
    )
