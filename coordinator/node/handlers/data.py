"""Produce, Fetch, ListOffsets, OffsetForLeaderEpoch: the data plane."""

from collections.abc import Callable
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse
from _wire.messages.list_offsets import (
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from _wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from _wire.messages.produce import (
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from coordinator.broker.data.fetch import TOPIC_ID_VERSION, DelayedFetch, FetchService, failed_partition
from coordinator.broker.data.leader_epochs import NO_EPOCH, epoch_error
from coordinator.broker.data.list_offsets import list_offsets
from coordinator.broker.data.list_offsets import rejected_partition as rejected_list_offsets
from coordinator.broker.data.produce import NOTHING_VERIFIED
from coordinator.broker.data.produce import rejected_partition as rejected_produce
from coordinator.broker.data.recompression import Recompression
from coordinator.broker.data.recompression_threads import RecompressionThreads
from coordinator.broker.log_flusher import LogFlusher
from coordinator.core.error_responses import ErrorForEachPartition
from coordinator.front.dispatch import DEFERRED, NO_RESPONSE, DispatchTable, without_response
from coordinator.front.request_context import RequestContext
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.metadata.image import MetadataImage
from coordinator.node.handlers.partition_steps import answer_partitions
from coordinator.node.handlers.partition_verification import PartitionVerification
from coordinator.node.node_context import NodeContext
from coordinator.runtime.slices import Slices, Steps, awaited

FIRST_PRODUCE_WITH_BATCHES: Final = 3
"""Produce v0 to v2 carry the old message sets, which 4.x no longer takes (KIP-896)."""
FIRST_PRODUCE_OFFERED: Final = 0
"""Kafka also offers the versions that it does not take: without them librdkafka (2.6 for one) sends everything
uncompressed (KAFKA-18659)."""
ISOLATION_LEVELS: Final = (0, 1)
"""READ_UNCOMMITTED and READ_COMMITTED. Kafka answers UNKNOWN_SERVER_ERROR for any other."""
FIRST_FETCH_WITH_BATCHES: Final = 4
"""Fetch v0 to v3 would need batches turned into the old message sets."""


class DataHandlers:
    """Handlers of the data plane."""

    def __init__(
        self,
        node: NodeContext,
        *,
        image: MetadataImage,
        flusher: LogFlusher,
        fetch_service: FetchService,
        recompression_threads: RecompressionThreads,
        slices: Slices,
        wall_ms: Callable[[], int],
    ) -> None:
        self._node = node
        self._image = image
        self._flusher = flusher
        self._fetch_service = fetch_service
        self._recompression_threads = recompression_threads
        self._slices = slices
        self._wall_ms = wall_ms
        self._verification = PartitionVerification(node)

    def add_to(self, table: DispatchTable) -> None:
        table.add(
            "Produce",
            self.produce,
            _produce_error,
            versions=(FIRST_PRODUCE_WITH_BATCHES, 13),
            offered_from=FIRST_PRODUCE_OFFERED,
        )
        table.add("Fetch", self.fetch, _fetch_error, versions=(FIRST_FETCH_WITH_BATCHES, 18))
        table.add("ListOffsets", self.list_offsets, LIST_OFFSETS_ERROR, versions=(0, 11))
        table.add("OffsetForLeaderEpoch", self.offset_for_leader_epoch, EPOCH_ERROR, versions=(0, 4))

    def produce(self, request: ProduceRequest, call: RequestContext) -> Any:
        if self._slices.has_time():
            service, now_ms = self._node.produce_service, self._wall_ms()
            response = service.produce_at_once(request, call.api_version, now_ms, call.client_host)
            if response is not None:
                return self._answered(request, call, response)
        return self._produce_in_steps(request, call)

    def _produce_in_steps(self, request: ProduceRequest, call: RequestContext) -> Steps[Any]:
        """The partitions are verified first, if they are not known to be in the transaction; then what can is appended.

        A batch that is to be compressed again is awaited.
        """
        service, verified = self._node.produce_service, NOTHING_VERIFIED
        if request.transactional_id is not None:
            to_verify = yield from service.to_verify(request, call.api_version, self._wall_ms())
            if to_verify:
                verified = yield from self._verification.verify(request, call.api_version, to_verify)
        steps = service.produce(request, call.api_version, self._wall_ms(), verified, call.client_host)
        resumed_ms = None
        while True:
            try:
                recompression = steps.send(resumed_ms)
            except StopIteration as end:
                return self._answered(request, call, end.value)
            resumed_ms = None
            if recompression is None:
                yield
            else:
                yield from self._recompress(recompression, call.client_host)
                resumed_ms = self._wall_ms()

    def _recompress(self, recompression: Recompression, client_host: str) -> Steps[None]:
        """Have the batch compressed again in a thread, unless the client disconnects before."""
        is_needed = True

        def run(done: Callable[[None], None]) -> None:
            self._recompression_threads.run(recompression, client_host, lambda: is_needed, lambda: done(None))

        try:
            yield from awaited(run)
        finally:
            is_needed = False

    def _answered(self, request: ProduceRequest, call: RequestContext, response: ProduceResponse) -> Any:
        if request.acks != 0:
            if not self._flusher.is_durable_only:
                return response
            self._flusher.when_durable(lambda _: self._produced(response, call))
            return DEFERRED
        rejected = next(
            filter(
                None,
                (
                    partition_response.error_code
                    for topic in response.responses
                    for partition_response in topic.partition_responses
                ),
            ),
            0,
        )
        if rejected:
            call.connection.reject(without_response(call, ErrorCode(rejected)))
        return NO_RESPONSE

    def _produced(self, response: ProduceResponse, call: RequestContext) -> None:
        """The appends are durable, but for those in a log directory that has failed meanwhile."""
        if self._node.partitions.some_are_offline:
            for topic in response.responses:
                self._refuse_offline(topic)
        call.connection.send_response(response)

    def _refuse_offline(self, topic: TopicProduceResponse) -> None:
        image, partitions = self._image, self._node.partitions
        existing = image.topics.get(topic.name) or image.topics_by_id.get(topic.topic_id)
        if existing is not None:
            topic.partition_responses = [
                partition_response
                if partition_response.error_code != ErrorCode.NONE
                or partitions.leads(existing.name, partition_response.index)
                else rejected_produce(partition_response.index, ErrorCode.KAFKA_STORAGE_ERROR)
                for partition_response in topic.partition_responses
            ]

    def fetch(self, request: FetchRequest, call: RequestContext) -> Steps[Any]:
        if request.isolation_level not in ISOLATION_LEVELS:
            return _fetch_error(request, ErrorCode.UNKNOWN_SERVER_ERROR, call.api_version)
        connection, fetch_service = call.connection, self._fetch_service
        fetched = yield from fetch_service.fetch(
            request, call.api_version, self._node.now_ms(), connection.send_response, call.client_host
        )
        if isinstance(fetched, DelayedFetch):
            connection.on_close = lambda: fetch_service.cancel(fetched)
            return DEFERRED
        return fetched

    def list_offsets(self, request: ListOffsetsRequest, call: RequestContext) -> Any:
        if request.isolation_level not in ISOLATION_LEVELS:
            return LIST_OFFSETS_ERROR(request, ErrorCode.UNKNOWN_SERVER_ERROR, call.api_version)
        return list_offsets(request, call.api_version, self._node.partitions, self._node.load_producers)

    def offset_for_leader_epoch(
        self, request: OffsetForLeaderEpochRequest, call: RequestContext
    ) -> Steps[OffsetForLeaderEpochResponse]:
        """Nothing was ever truncated at a change of epochs: each ends where the log does, or before."""
        current = self._image.leader_epoch

        def answer(topic: str, requested: OffsetForLeaderPartition) -> EpochEndOffset:
            return _epoch_end(self._node.partitions.locate(topic, requested.partition), requested, current)

        topics = yield from answer_partitions(
            ((topic.topic, topic.partitions) for topic in request.topics),
            answer,
            lambda topic, partitions: OffsetForLeaderTopicResult(topic=topic, partitions=partitions),
        )
        return OffsetForLeaderEpochResponse(topics=topics)


PRODUCE_ERROR: Final = ErrorForEachPartition(
    ProduceResponse,
    TopicProduceResponse,
    rejected_produce,
    topics="responses",
    partitions="partition_responses",
    asked_topics="topic_data",
    asked_partitions="partition_data",
    asked_index="index",
)


def _produce_error(request: ProduceRequest, error: ErrorCode, api_version: int) -> ProduceResponse | None:
    """None with acks=0 (ProduceRequest.getErrorResponse)."""
    return None if request.acks == 0 else PRODUCE_ERROR(request, error, api_version)


FETCH_ERROR: Final = ErrorForEachPartition(
    FetchResponse,
    FetchableTopicResponse,
    failed_partition,
    topics="responses",
    asked_index="partition",
)


def _fetch_error(request: FetchRequest, error: ErrorCode, api_version: int) -> FetchResponse:
    """From v13 on, clients look at the error of the response only (`FetchRequest.getErrorResponse`)."""
    response: FetchResponse = FETCH_ERROR(request, error, api_version)
    if api_version >= TOPIC_ID_VERSION:
        response.responses = []
    return response


LIST_OFFSETS_ERROR: Final = ErrorForEachPartition(ListOffsetsResponse, ListOffsetsTopicResponse, rejected_list_offsets)


def _epoch_end(log: PartitionLog | ErrorCode, requested: OffsetForLeaderPartition, current: int) -> EpochEndOffset:
    """Where an epoch ended in a log, with `current` as the newest one."""
    error = log if isinstance(log, ErrorCode) else epoch_error(requested.current_leader_epoch, current)
    if isinstance(log, ErrorCode) or error is not ErrorCode.NONE:
        return _unknown_end(requested.partition, error)
    if requested.leader_epoch == NO_EPOCH or requested.leader_epoch > current:
        return EpochEndOffset(partition=requested.partition)
    # An epoch before the first one ended where that began (LeaderEpochFileCache.endOffsetFor).
    end_offset = log.log_end_offset if requested.leader_epoch >= 0 else log.log_start_offset
    return EpochEndOffset(partition=requested.partition, leader_epoch=requested.leader_epoch, end_offset=end_offset)


def _unknown_end(partition: int, error: ErrorCode) -> EpochEndOffset:
    return EpochEndOffset(partition=partition, error_code=error)


EPOCH_ERROR: Final = ErrorForEachPartition(
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
    _unknown_end,
    asked_index="partition",
)
