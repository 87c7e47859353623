"""Produce and TxnOffsetCommit in a transaction, WriteTxnMarkers, DescribeProducers: transactions at the partitions.

Before a partition takes the first records of a transaction, the coordinator of the transaction is asked whether the
partition is part of it, or to add it (KIP-890; `AddPartitionsToTxnManager`).
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from _wire.errors import NONE, ErrorCode
from _wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from _wire.messages.produce import ProduceRequest
from _wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from _wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from coordinator.broker.produce import ToVerify, Verified
from coordinator.broker.producers import Marker, ProducerStates
from coordinator.config.network_keys import SOCKET_REQUEST_MAX_BYTES
from coordinator.config.transaction_keys import WRITE_TXN_MARKERS_ENABLE
from coordinator.core.decision import OperationContext
from coordinator.core.groups import operations as group_operations
from coordinator.core.groups.rejections import RejectedRequest
from coordinator.core.offsets.transactional import error_response as offsets_error
from coordinator.core.stored import Producer, TransactionMarker
from coordinator.core.topic_partition import TopicPartition
from coordinator.core.transactions import operations
from coordinator.core.transactions.partitions import PartitionErrors, PartitionsRequest
from coordinator.core.transactions.transaction import EPOCH_BUMP_VERSION
from coordinator.internal_topics import OFFSETS_TOPIC
from coordinator.log.errors import InvalidTopicName
from coordinator.log.names import check_legal_name
from coordinator.log.partition_log import PartitionLog
from coordinator.runtime.slices import Steps, at_once
from coordinator.server.dispatch import DEFERRED, NO_RESPONSE, DispatchTable
from coordinator.server.node_context import GroupContext, NodeContext
from coordinator.server.request_context import RequestContext
from coordinator.transactions.coordinator import ReplyTo

PRODUCE_ADDS: Final = 12
PRODUCE_KNOWS_ABORTABLE: Final = 11
COMMIT_ADDS: Final = 5
COMMIT_KNOWS_ABORTABLE: Final = 4
"""The first versions of Produce and TxnOffsetCommit that add their partitions, and that know TRANSACTION_ABORTABLE."""

UNAVAILABLE: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)
"""The coordinator of the transaction cannot say it now. A producer does not look for another coordinator for these."""
PRODUCER_BYTES: Final = 33
"""Of one producer in the response to DescribeProducers, at least."""
MARKERS_QUEUED_MAX: Final = 200
"""Markers of one request that wait in shards before the next ones are queued: others have their turn between."""

Continue = Callable[[ProduceRequest, RequestContext, Mapping[tuple[str, int], Verified]], Steps[Any]]


class TransactionalProduce:
    """A Produce that waits for the answer about its partitions."""

    def __init__(
        self, node: NodeContext, request: ProduceRequest, call: RequestContext, to_verify: list[ToVerify]
    ) -> None:
        self._node = node
        self._request = request
        self._call = call
        self._to_verify = to_verify

    def ask(self, append: Continue) -> None:
        """Ask the coordinator; then `append` appends what may be appended and responds."""
        request, call = self._request, self._call
        call.request_id = self._node.pending.register(call.connection)
        adds = call.api_version >= PRODUCE_ADDS
        may_be_asked = [each for each in self._to_verify if each.error is NONE]
        if not may_be_asked:
            self._replied(append, {})
            return
        first = may_be_asked[0]
        asked = PartitionsRequest(
            request.transactional_id or "",
            first.producer_id,
            first.producer_epoch,
            tuple(TopicPartition(each.topic, each.partition) for each in may_be_asked),
            EPOCH_BUMP_VERSION if adds else 0,
            only_verify=not adds,
        )
        replied = partial(self._replied, append)
        if any(each.producer_id != first.producer_id for each in may_be_asked):
            replied(dict.fromkeys(asked.partitions, ErrorCode.INVALID_PRODUCER_ID_MAPPING))
        elif adds:
            self._node.partition_adder.add(asked, self._is_awaited, replied)
        else:
            self._node.transactions.ask(operations.ADD_PARTITIONS, asked.transactional_id, asked, replied)

    def _is_awaited(self) -> bool:
        return self._call.request_id in self._node.pending.unanswered

    def _replied(self, append: Continue, errors: PartitionErrors) -> None:
        verified: dict[tuple[str, int], Verified] = {}
        for each in self._to_verify:
            error = each.error or errors[TopicPartition(each.topic, each.partition)]
            self._node.produce_service.end_verification(each, is_verified=error is NONE)
            verified[each.topic, each.partition] = Verified(each.verification, self._known_error(error))
        self._node.deferral.go_on(self._call, lambda: append(self._request, self._call, verified))

    def _known_error(self, error: ErrorCode) -> ErrorCode:
        """The error as Produce reports it (`ReplicaManager.handleProduceAppend`)."""
        version = self._call.api_version
        if error is ErrorCode.PRODUCER_FENCED:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if error is ErrorCode.TRANSACTION_ABORTABLE and version < PRODUCE_KNOWS_ABORTABLE:
            return ErrorCode.INVALID_TXN_STATE
        if error in UNAVAILABLE or (error is ErrorCode.CONCURRENT_TRANSACTIONS and version < PRODUCE_ADDS):
            return ErrorCode.NOT_ENOUGH_REPLICAS
        return error


MarkerResults = dict[int, dict[TopicPartition, ErrorCode]]
"""Position of the marker in its request → errors of its partitions."""
"""For each marker of WriteTxnMarkers: partition → result."""


class TransactionalWriteHandlers:
    """Handlers of what transactions write to partitions, beside Produce."""

    def __init__(self, node: NodeContext) -> None:
        self._node = node

    def add_to(self, table: DispatchTable) -> None:
        table.add("TxnOffsetCommit", self.commit_offsets, offsets_error, versions=(0, 5))
        table.add("WriteTxnMarkers", self.write_markers, _markers_error, versions=(1, 2))
        table.add("DescribeProducers", self.describe_producers, _producers_error, versions=(0, 0))

    # --------------------------------------------------------------------------------------------------------- offsets

    def commit_offsets(self, request: TxnOffsetCommitRequest, call: RequestContext) -> Steps[Any]:
        """Reject offsets of topics that do not exist; for the rest the transaction's coordinator is asked first."""
        known, rejected = yield from self._split_known(request)
        if not known:
            return TxnOffsetCommitResponse(topics=rejected)
        request.topics = known
        if not request.group_id:
            return _with_rejected(offsets_error(request, ErrorCode.INVALID_GROUP_ID, call.api_version), rejected)
        tp = TopicPartition(OFFSETS_TOPIC, self._node.coordinator.partition_of(request.group_id))
        adds = call.api_version >= COMMIT_ADDS
        asked = PartitionsRequest(
            request.transactional_id,
            request.producer_id,
            request.producer_epoch,
            (tp,),
            EPOCH_BUMP_VERSION if adds else 0,
            only_verify=not adds,
        )
        request_id = call.request_id = self._node.pending.register(call.connection)

        def respond(response: TxnOffsetCommitResponse) -> None:
            self._node.pending.reply(request_id, _with_rejected(response, rejected))

        def verified(errors: PartitionErrors) -> None:
            error = _commit_error(errors[tp], call.api_version)
            if error is not NONE:
                respond(offsets_error(request, error, call.api_version))
                self._report_fenced(request, error, call)
                return
            # At once: the marker of the transaction must not reach the group before.
            failed = partial(_failed_commit, request, call.api_version)
            context = _context(call, self._node.pending.register(ReplyTo(respond, failed)))
            self._node.coordinator.enqueue(group_operations.TXN_OFFSET_COMMIT, request.group_id, request, context)

        self._node.transactions.ask(operations.ADD_PARTITIONS, request.transactional_id, asked, verified)
        return DEFERRED

    def _report_fenced(self, request: TxnOffsetCommitRequest, error: ErrorCode, call: RequestContext) -> None:
        """Record in the audit of the group that a newer producer has the transactional id."""
        if error is ErrorCode.INVALID_PRODUCER_EPOCH:
            rejected = RejectedRequest("TxnOffsetCommit", request, error)
            context = _context(call, None)
            self._node.coordinator.enqueue(group_operations.TELL_REJECTION, request.group_id, rejected, context)

    def _split_known(
        self, request: TxnOffsetCommitRequest
    ) -> Steps[tuple[list[TxnOffsetCommitRequestTopic], list[TxnOffsetCommitResponseTopic]]]:
        """The topics with the partitions that exist, and the responses for the others."""
        known: list[TxnOffsetCommitRequestTopic] = []
        rejected: list[TxnOffsetCommitResponseTopic] = []
        for topic in request.topics:
            count = self._node.partitions.partition_count(topic.name)
            existing = [each for each in topic.partitions if 0 <= each.partition_index < count]
            missing = [
                TxnOffsetCommitResponsePartition(
                    partition_index=each.partition_index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                )
                for each in topic.partitions
                if not 0 <= each.partition_index < count
            ]
            if existing:
                known.append(TxnOffsetCommitRequestTopic(name=topic.name, partitions=existing))
            if missing or not count:
                rejected.append(TxnOffsetCommitResponseTopic(name=topic.name, partitions=missing))
            yield
        return known, rejected

    # --------------------------------------------------------------------------------------------------------- markers

    def write_markers(self, request: WriteTxnMarkersRequest, call: RequestContext) -> Steps[Any]:
        """What the transaction coordinator of another node would send: end transactions in these partitions."""
        if not self._node.config[WRITE_TXN_MARKERS_ENABLE]:
            return (yield from _all_markers(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
        wanted: list[tuple[int, TopicPartition]] = []
        for position, each in enumerate(request.markers):
            for topic in each.topics:
                for index in topic.partition_indexes:
                    wanted.append((position, TopicPartition(topic.name, index)))
                    yield
        results: MarkerResults = defaultdict(dict)
        return (yield from self._write_portion(request, call, iter(wanted), results))

    def _write_portion(
        self,
        request: WriteTxnMarkersRequest,
        call: RequestContext,
        wanted: Iterator[tuple[int, TopicPartition]],
        results: MarkerResults,
    ) -> Steps[Any]:
        """Write markers, until enough of them are queued in shards; when these are written it goes on with the rest."""
        queued: list[tuple[int, TopicPartition, TransactionMarker]] = []
        for position, tp in wanted:
            marker = _marker_of(request.markers[position])
            if tp.topic == OFFSETS_TOPIC and marker.is_of_producer:
                producer = Producer(marker.producer_id, marker.producer_epoch)
                queued.append((position, tp, TransactionMarker(producer, marker.committed, marker.coordinator_epoch)))
                if len(queued) == MARKERS_QUEUED_MAX:
                    break
            else:
                results[position][tp] = yield from self._node.marker_writer.write(tp.topic, tp.partition, marker)
            yield
        if not queued:
            return (yield from _markers_response(request, lambda position, tp: results[position][tp]))
        call.request_id = self._node.pending.register(call.connection)
        missing = len(queued)

        def settle(position: int, tp: TopicPartition, error: ErrorCode) -> None:
            nonlocal missing
            results[position][tp] = error
            missing -= 1
            if missing == 0:
                self._node.deferral.go_on(call, lambda: self._write_portion(request, call, wanted, results))

        for position, tp, of_group in queued:
            complete_offsets(self._node, tp.partition, of_group, partial(settle, position, tp))
        return DEFERRED

    # ------------------------------------------------------------------------------------------------------- producers

    def describe_producers(self, request: DescribeProducersRequest, call: RequestContext) -> Steps[Any]:
        response = DescribeProducersResponse()
        producers_left = self._node.config[SOCKET_REQUEST_MAX_BYTES] // PRODUCER_BYTES
        for topic in request.topics:
            partitions = []
            for index in topic.partition_indexes:
                yield
                described = yield from self._describe_partition(topic.name, index)
                partitions.append(described)
                producers_left -= len(described.active_producers)
                if producers_left < 0:
                    call.connection.reject("the response to DescribeProducers is larger than socket.request.max.bytes")
                    return NO_RESPONSE
            response.topics.append(TopicResponse(name=topic.name, partitions=partitions))
            yield
        return response

    def _log_of_producers(self, topic: str, index: int) -> PartitionLog | ErrorCode:
        log = self._node.partitions.locate(topic, index)
        if log is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            try:
                check_legal_name(topic)
            except InvalidTopicName:
                return ErrorCode.INVALID_TOPIC_EXCEPTION
        return log

    def _describe_partition(self, topic: str, index: int) -> Steps[PartitionResponse]:
        log = self._log_of_producers(topic, index)
        if isinstance(log, ErrorCode):
            return _unknown_producers(index, log)
        try:
            states = yield from self._node.load_producers(log)
        except OSError as problem:
            self._node.partitions.cannot_read(log, problem)
            return _unknown_producers(index, ErrorCode.KAFKA_STORAGE_ERROR)
        return PartitionResponse(partition_index=index, active_producers=(yield from _described(states)))


def complete_offsets(
    node: GroupContext, partition: int, marker: TransactionMarker, reply: Callable[[ErrorCode], None]
) -> None:
    """End a transaction in the groups of a partition of `__consumer_offsets`; its pending offsets are committed."""
    if not 0 <= partition < len(node.coordinator.shards):
        reply(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return
    request_id = node.pending.register(ReplyTo(reply, lambda error: error))
    context = OperationContext(request_id, 0, "", "", node.coordinator.environment, 0, 0)
    node.coordinator.enqueue_for_shard(group_operations.COMPLETE_TRANSACTION, partition, marker, context)


def _marker_of(sent: WritableTxnMarker) -> Marker:
    return Marker(
        sent.producer_id, sent.producer_epoch, sent.transaction_result, sent.coordinator_epoch, sent.transaction_version
    )


def _context(call: RequestContext, request_id: int | None) -> OperationContext:
    """The same client and version, with another address for the reply."""
    return replace(call, request_id=request_id)


def _failed_commit(request: TxnOffsetCommitRequest, api_version: int, error: ErrorCode) -> TxnOffsetCommitResponse:
    response: TxnOffsetCommitResponse = offsets_error(request, error, api_version)
    return response


def _commit_error(error: ErrorCode, api_version: int) -> ErrorCode:
    """The error as TxnOffsetCommit reports it."""
    if error is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if error is ErrorCode.TRANSACTION_ABORTABLE and api_version < COMMIT_KNOWS_ABORTABLE:
        return ErrorCode.INVALID_TXN_STATE
    return error


def _with_rejected(
    response: TxnOffsetCommitResponse, rejected: list[TxnOffsetCommitResponseTopic]
) -> TxnOffsetCommitResponse:
    """A topic is in the response once; what was rejected before comes first."""
    if not rejected:
        return response
    topics: dict[str, TxnOffsetCommitResponseTopic] = {}
    for topic in (*rejected, *response.topics):
        known = topics.setdefault(topic.name, topic)
        if known is not topic:
            known.partitions.extend(topic.partitions)
    return TxnOffsetCommitResponse(topics=list(topics.values()))


def _described(states: ProducerStates) -> Steps[list[ProducerState]]:
    described = []
    for producer_id, state in states.snapshot():
        described.append(
            ProducerState(
                producer_id=producer_id,
                producer_epoch=state.epoch,
                last_sequence=state.batches[-1].last_sequence if state.batches else -1,
                last_timestamp=state.last_timestamp_ms,
                coordinator_epoch=state.coordinator_epoch,
                current_txn_start_offset=-1 if state.first_offset is None else state.first_offset,
            )
        )
        yield
    return described


def _unknown_producers(index: int, error: ErrorCode) -> PartitionResponse:
    return PartitionResponse(partition_index=index, error_code=error, error_message=error.description)


def _producers_error(
    request: DescribeProducersRequest, error: ErrorCode, api_version: int
) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name, partitions=[_unknown_producers(index, error) for index in topic.partition_indexes]
            )
            for topic in request.topics
        ]
    )


def _markers_response(
    request: WriteTxnMarkersRequest, error_of: Callable[[int, TopicPartition], ErrorCode]
) -> Steps[WriteTxnMarkersResponse]:
    """`error_of` gets the position of a marker in the request, and a partition."""
    response = WriteTxnMarkersResponse()
    for position, marker in enumerate(request.markers):
        of_marker = WritableTxnMarkerResult(producer_id=marker.producer_id)
        for topic in marker.topics:
            partitions = []
            for index in topic.partition_indexes:
                error = error_of(position, TopicPartition(topic.name, index))
                partitions.append(WritableTxnMarkerPartitionResult(partition_index=index, error_code=error))
                yield
            of_marker.topics.append(WritableTxnMarkerTopicResult(name=topic.name, partitions=partitions))
        response.markers.append(of_marker)
    return response


def _all_markers(request: WriteTxnMarkersRequest, error: ErrorCode) -> Steps[WriteTxnMarkersResponse]:
    """The same error for each partition of each marker."""
    return _markers_response(request, lambda position, tp: error)


def _markers_error(request: WriteTxnMarkersRequest, error: ErrorCode, api_version: int) -> WriteTxnMarkersResponse:
    return at_once(_all_markers(request, error))
