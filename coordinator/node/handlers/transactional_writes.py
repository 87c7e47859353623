"""TxnOffsetCommit, WriteTxnMarkers, DescribeProducers: transactions at the partitions, beside Produce."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from _wire.errors import NONE, ErrorCode
from _wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
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
from coordinator.broker.data.producers import Marker, ProducerStates
from coordinator.config.network_keys import SOCKET_REQUEST_MAX_BYTES
from coordinator.config.transaction_keys import WRITE_TXN_MARKERS_ENABLE
from coordinator.core.decision import OperationContext
from coordinator.core.groups.rejections import RejectedRequest
from coordinator.core.kinds import operations as group_operations
from coordinator.core.offsets.transactional import error_response as offsets_error
from coordinator.core.stored import Producer, TransactionMarker
from coordinator.core.topic_partition import TopicPartition
from coordinator.core.transactions.partitions import PartitionsRequest
from coordinator.core.transactions.transaction import EPOCH_BUMP_VERSION
from coordinator.front.dispatch import NO_RESPONSE, DispatchTable
from coordinator.front.request_context import RequestContext
from coordinator.internal_topics import OFFSETS_TOPIC
from coordinator.log.errors import InvalidTopicName
from coordinator.log.names import check_legal_name
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.node.node_context import NodeContext
from coordinator.node.offsets_completion import complete_offsets
from coordinator.runtime.reply_to import ReplyTo
from coordinator.runtime.slices import Steps, at_once, awaited, awaited_all

COMMIT_ADDS: Final = 5
COMMIT_KNOWS_ABORTABLE: Final = 4
"""The first versions of TxnOffsetCommit that add their partition, and that know TRANSACTION_ABORTABLE."""

PRODUCER_BYTES: Final = 33
"""Of one producer in the response to DescribeProducers, at least."""
MARKERS_QUEUED_MAX: Final = 200
"""Markers of one request that wait in shards before the next ones are queued: others have their turn between."""


MarkerResults = dict[int, dict[TopicPartition, ErrorCode]]
"""Position of the marker in its request → errors of its partitions."""


class TransactionalWriteHandlers:
    """Handlers of what transactions write to partitions, beside Produce."""

    def __init__(self, node: NodeContext) -> None:
        self._node = node

    def add_to(self, table: DispatchTable) -> None:
        table.add("TxnOffsetCommit", self.commit_offsets, offsets_error)
        table.add("WriteTxnMarkers", self.write_markers, _markers_error)
        table.add("DescribeProducers", self.describe_producers, _producers_error)

    # --------------------------------------------------------------------------------------------------------- offsets

    def commit_offsets(self, request: TxnOffsetCommitRequest, call: RequestContext) -> Steps[Any]:
        """Reject offsets of topics that do not exist; for the rest the transaction's coordinator is asked first."""
        existing, rejected = yield from self._split_existing(request)
        if not existing:
            return TxnOffsetCommitResponse(topics=rejected)
        request.topics = existing
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
        # Urgent: the marker of the transaction must not reach the group before its offsets.
        errors = yield from awaited(partial(self._node.transactions.add_partitions, asked), is_urgent=True)
        error = _commit_error(errors[tp], call.api_version)
        if error is not NONE:
            self._report_fenced(request, error, call)
            return _with_rejected(offsets_error(request, error, call.api_version), rejected)
        return _with_rejected((yield from awaited(partial(self._commit, request, call))), rejected)

    def _commit(
        self, request: TxnOffsetCommitRequest, call: RequestContext, reply: Callable[[TxnOffsetCommitResponse], None]
    ) -> None:
        failed = partial(_failed_commit, request, call.api_version)
        context = _context(call, self._node.pending.register(ReplyTo(reply, failed)))
        self._node.coordinator.enqueue(group_operations.TXN_OFFSET_COMMIT, request.group_id, request, context)

    def _report_fenced(self, request: TxnOffsetCommitRequest, error: ErrorCode, call: RequestContext) -> None:
        """Record in the audit of the group that a newer producer has the transactional id."""
        if error is ErrorCode.INVALID_PRODUCER_EPOCH:
            rejected = RejectedRequest("TxnOffsetCommit", request, error)
            context = _context(call, None)
            self._node.coordinator.enqueue(group_operations.REPORT_REJECTION, request.group_id, rejected, context)

    def _split_existing(
        self, request: TxnOffsetCommitRequest
    ) -> Steps[tuple[list[TxnOffsetCommitRequestTopic], list[TxnOffsetCommitResponseTopic]]]:
        """The topics with the partitions that exist, and the responses for the others."""
        existing_topics: list[TxnOffsetCommitRequestTopic] = []
        rejected: list[TxnOffsetCommitResponseTopic] = []
        for topic in request.topics:
            count = self._node.partitions.partition_count(topic.name)
            existing = [partition for partition in topic.partitions if 0 <= partition.partition_index < count]
            missing = [
                TxnOffsetCommitResponsePartition(
                    partition_index=partition.partition_index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                )
                for partition in topic.partitions
                if not 0 <= partition.partition_index < count
            ]
            if existing:
                existing_topics.append(TxnOffsetCommitRequestTopic(name=topic.name, partitions=existing))
            if missing or not count:
                rejected.append(TxnOffsetCommitResponseTopic(name=topic.name, partitions=missing))
            yield
        return existing_topics, rejected

    # --------------------------------------------------------------------------------------------------------- markers

    def write_markers(self, request: WriteTxnMarkersRequest, call: RequestContext) -> Steps[Any]:
        """What the transaction coordinator of another node would send: end transactions in these partitions."""
        if not self._node.config[WRITE_TXN_MARKERS_ENABLE]:
            return (yield from _all_markers(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
        requested: list[tuple[int, TopicPartition]] = []
        for position, marker in enumerate(request.markers):
            for topic in marker.topics:
                for index in topic.partition_indexes:
                    requested.append((position, TopicPartition(topic.name, index)))
                    yield
        results: MarkerResults = defaultdict(dict)
        for first in range(0, len(requested), MARKERS_QUEUED_MAX):
            yield from self._write_portion(request, requested[first : first + MARKERS_QUEUED_MAX], results)
        return (yield from _markers_response(request, lambda position, tp: results[position][tp]))

    def _write_portion(
        self,
        request: WriteTxnMarkersRequest,
        requested: Sequence[tuple[int, TopicPartition]],
        results: MarkerResults,
    ) -> Steps[None]:
        """Write some of the markers; those of groups are queued in their shards together, and awaited at the end."""
        of_groups: list[tuple[int, TopicPartition]] = []
        asks: list[Callable[[Callable[[ErrorCode], None]], None]] = []
        for position, tp in requested:
            marker = _marker_of(request.markers[position])
            if tp.topic == OFFSETS_TOPIC and marker.is_of_producer:
                producer = Producer(marker.producer_id, marker.producer_epoch)
                of_group = TransactionMarker(producer, marker.committed, marker.coordinator_epoch)
                of_groups.append((position, tp))
                asks.append(partial(complete_offsets, self._node, tp.partition, of_group))
            else:
                results[position][tp] = yield from self._node.marker_writer.write(tp.topic, tp.partition, marker)
            yield
        errors = yield from awaited_all(asks)
        for (position, tp), error in zip(of_groups, errors, strict=True):
            results[position][tp] = error

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


def _marker_of(sent: WritableTxnMarker) -> Marker:
    return Marker(
        sent.producer_id, sent.producer_epoch, sent.transaction_result, sent.coordinator_epoch, sent.transaction_version
    )


def _context(call: RequestContext, request_id: int | None) -> OperationContext:
    """The same client and version, with another address for the reply."""
    return msgspec.structs.replace(call, request_id=request_id)


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
        existing = topics.setdefault(topic.name, topic)
        if existing is not topic:
            existing.partitions.extend(topic.partitions)
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
