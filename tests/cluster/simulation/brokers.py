"""The brokers of the cluster: they answer requests over connections, one after the other, and sometimes refuse."""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from _wire.apis import APIS
from _wire.batches import batch_headers
from _wire.errors import ErrorCode
from _wire.frames import FrameSplitter
from _wire.headers import decode_request_header, encode_response
from _wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from _wire.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from _wire.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from _wire.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from _wire.messages.init_producer_id import InitProducerIdResponse
from _wire.messages.list_groups import ListedGroup, ListGroupsResponse
from _wire.messages.list_offsets import ListOffsetsPartitionResponse, ListOffsetsResponse, ListOffsetsTopicResponse
from _wire.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from _wire.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from _wire.messages.streams_group_describe import DescribedGroup as DescribedStreamsGroup
from _wire.messages.streams_group_describe import StreamsGroupDescribeResponse
from coordinator.cluster.log.access import Refused
from coordinator.core.kinds import operations
from coordinator.core.offsets import commit as offset_commit
from coordinator.core.operation import Operation
from coordinator.internal_topics import AUDIT_TOPIC, MEMBERSHIP_TOPIC
from tests.cluster.simulation.cluster import BROKERS, PARTITIONS, TOPIC, TOPIC_PARTITIONS, Cluster, Waiting
from tests.cluster.simulation.network import Address, End, Listening, Network

if TYPE_CHECKING:
    from tests.cluster.simulation.reports import Reports

PORT: Final = 9092
ALL_OPERATIONS: Final = (1 << 20) - 1
HANDLED_WITHIN_MS: Final = 3
COUNTS: Final = {MEMBERSHIP_TOPIC: PARTITIONS, AUDIT_TOPIC: PARTITIONS, TOPIC: TOPIC_PARTITIONS}
GROUP_OPERATIONS: Final[dict[str, Operation]] = {
    "JoinGroup": operations.JOIN_GROUP,
    "SyncGroup": operations.SYNC_GROUP,
    "Heartbeat": operations.HEARTBEAT,
    "LeaveGroup": operations.LEAVE_GROUP,
    "OffsetCommit": operations.OFFSET_COMMIT,
}
LOG_REFUSALS: Final = (
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REQUEST_TIMED_OUT,
)
APPENDED_ALL_THE_SAME: Final = (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.REQUEST_TIMED_OUT)
GROUP_REFUSALS: Final = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)

Answered = Callable[[Any], None]


def address_of(broker_id: int) -> Address:
    return Address(f"broker-{broker_id}", PORT)


class Session:
    """A connection as a broker has it."""

    def __init__(self, broker: "ModelBroker") -> None:
        self._broker = broker
        self._splitter = FrameSplitter(1 << 30)
        self._frames: deque[bytes] = deque()
        self._is_busy = False
        self._end: End | None = None

    def connection_made(self, end: End) -> None:
        self._end = end

    def data_received(self, data: bytes) -> None:
        self._frames.extend(self._splitter.feed(data))
        self._next()

    def connection_lost(self, problem: Exception | None) -> None:
        self._frames.clear()

    def _next(self) -> None:
        if self._is_busy or not self._frames:
            return
        self._is_busy = True
        frame = self._frames.popleft()
        header, body_start = decode_request_header(frame)
        version = header.api_version
        request = APIS[header.api_key].request.decode(frame, version, body_start, False)

        def answered(response: Any) -> None:
            if self._end is not None:
                self._end.write(encode_response(header.correlation_id, response, version))
            self._is_busy = False
            self._next()

        self._broker.handle(header.api_key, request, version, header.client_id or "", answered)


class ModelBroker:
    """One broker."""

    def __init__(self, broker_id: int, cluster: Cluster, network: Network, reports: "Reports") -> None:
        self.broker_id = broker_id
        self._cluster = cluster
        self._network = network
        self._reports = reports
        self._handlers: dict[str, Callable[[Any, int], Any]] = {
            "ApiVersions": self._api_versions,
            "Metadata": self._metadata,
            "DescribeConfigs": self._describe_configs,
            "FindCoordinator": self._find_coordinator,
            "Produce": self._produce,
            "Fetch": self._fetch,
            "ListOffsets": self._list_offsets,
            "InitProducerId": self._init_producer_id,
            "DescribeGroups": partial(self._describe, operations.DESCRIBE_GROUPS),
            "ConsumerGroupDescribe": partial(self._describe, operations.CONSUMER_GROUP_DESCRIBE),
            "ShareGroupDescribe": partial(self._describe, operations.SHARE_GROUP_DESCRIBE),
            "StreamsGroupDescribe": self._describe_streams,
            "ListGroups": self._list_groups,
        }
        network.listening[address_of(broker_id)] = Listening(None, lambda: Session(self), lambda: None)

    def handle(self, api_key: int, request: Any, version: int, client_id: str, answered: Answered) -> None:
        """Answer after a moment."""

        def run() -> None:
            name = APIS[api_key].name
            if name in GROUP_OPERATIONS:
                self._group_request(name, request, version, client_id, answered)
            else:
                answered(self._handlers[name](request, version))

        self._network.events.after(self._network.random.randrange(HANDLED_WITHIN_MS), run)

    # ---- what the cluster is

    def _api_versions(self, request: Any, version: int) -> ApiVersionsResponse:
        offered = [
            ApiVersion(api_key=key, min_version=APIS[key].min_version, max_version=APIS[key].max_version)
            for key in APIS
        ]
        return ApiVersionsResponse(api_keys=offered)

    def _metadata(self, request: Any, version: int) -> MetadataResponse:
        names = list(COUNTS) if request.topics is None else [topic.name for topic in request.topics]
        brokers = [
            MetadataResponseBroker(node_id=each, host=address_of(each).host, port=PORT) for each in range(BROKERS)
        ]
        return MetadataResponse(brokers=brokers, controller_id=0, topics=[self._topic(name) for name in names])

    def _topic(self, name: str) -> MetadataResponseTopic:
        if name not in COUNTS:
            return MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name=name)
        partitions = [
            MetadataResponsePartition(partition_index=index, leader_id=self._cluster.leaders.get((name, index), 0))
            for index in range(COUNTS[name])
        ]
        topic_id = name.encode()[:16].ljust(16, b"\1")
        return MetadataResponseTopic(
            name=name, topic_id=topic_id, partitions=partitions, topic_authorized_operations=ALL_OPERATIONS
        )

    def _describe_configs(self, request: Any, version: int) -> DescribeConfigsResponse:
        return DescribeConfigsResponse(
            results=[self._configs(resource.resource_name) for resource in request.resources]
        )

    def _configs(self, name: str) -> DescribeConfigsResult:
        values = {
            "cleanup.policy": "compact" if name == MEMBERSHIP_TOPIC else "delete",
            "unclean.leader.election.enable": "false",
            "segment.bytes": str(1 << 26),
            "max.message.bytes": str(1 << 20),
            "retention.ms": "604800000",
        }
        configs = [DescribeConfigsResourceResult(name=key, value=value) for key, value in values.items()]
        return DescribeConfigsResult(resource_name=name, configs=configs)

    def _find_coordinator(self, request: Any, version: int) -> FindCoordinatorResponse:
        broker_id = self._cluster.coordinator_id
        host, port = address_of(broker_id)
        if version < 4:
            return FindCoordinatorResponse(node_id=broker_id, host=host, port=port)
        return FindCoordinatorResponse(
            coordinators=[
                Coordinator(key=key, node_id=broker_id, host=host, port=port) for key in request.coordinator_keys
            ]
        )

    # ---- logs

    def _produce(self, request: Any, version: int) -> ProduceResponse:
        return ProduceResponse(
            responses=[
                TopicProduceResponse(
                    name=topic.name,
                    partition_responses=[
                        self._appended(topic.name, each.index, bytes(each.records)) for each in topic.partition_data
                    ],
                )
                for topic in request.topic_data
            ]
        )

    def _appended(self, topic: str, index: int, batch: bytes) -> PartitionProduceResponse:
        refusal = None
        if self._cluster.leaders[topic, index] != self.broker_id:
            refusal = ErrorCode.NOT_LEADER_OR_FOLLOWER
        elif self._cluster.refuses("log"):
            refusal = self._cluster.random.choice(LOG_REFUSALS)
        if refusal is not None and refusal not in APPENDED_ALL_THE_SAME:
            return PartitionProduceResponse(index=index, error_code=refusal, base_offset=-1)
        result = self._cluster.append(topic, index, batch)
        if isinstance(result, Refused):
            return PartitionProduceResponse(index=index, error_code=result.error, base_offset=-1)
        if refusal is not None:
            return PartitionProduceResponse(index=index, error_code=refusal, base_offset=-1)
        return PartitionProduceResponse(index=index, base_offset=result.base_offset)

    def _fetch(self, request: Any, version: int) -> FetchResponse:
        return FetchResponse(
            responses=[
                FetchableTopicResponse(
                    topic=topic.topic,
                    partitions=[
                        self._fetched(
                            topic.topic, partition.partition, partition.fetch_offset, partition.partition_max_bytes
                        )
                        for partition in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    def _fetched(self, topic: str, index: int, offset: int, bytes_max: int) -> PartitionData:
        if self._cluster.leaders[topic, index] != self.broker_id:
            return PartitionData(partition_index=index, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER, records=b"")
        high_watermark = self._cluster.high_watermark(topic, index)
        if offset > high_watermark:
            return PartitionData(partition_index=index, error_code=ErrorCode.OFFSET_NOT_AVAILABLE, records=b"")
        data = self._cluster.log.partition(topic, index).read(offset, bytes_max).data
        visible = [header for header in batch_headers(data) if header.next_offset <= high_watermark]
        end = visible[-1].position + visible[-1].size_in_bytes if visible else 0
        return PartitionData(
            partition_index=index, high_watermark=high_watermark, log_start_offset=0, records=data[:end]
        )

    def _list_offsets(self, request: Any, version: int) -> ListOffsetsResponse:
        return ListOffsetsResponse(
            topics=[
                ListOffsetsTopicResponse(
                    name=topic.name,
                    partitions=[
                        ListOffsetsPartitionResponse(
                            partition_index=partition.partition_index,
                            offset=0,
                            error_code=0
                            if self._cluster.leaders[topic.name, partition.partition_index] == self.broker_id
                            else ErrorCode.NOT_LEADER_OR_FOLLOWER,
                        )
                        for partition in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    def _init_producer_id(self, request: Any, version: int) -> InitProducerIdResponse:
        error = self._refusal("transactions")
        if error is not None:
            return InitProducerIdResponse(error_code=error, producer_id=-1, producer_epoch=-1)
        identity = self._cluster.log.init_producer_id(request.transactional_id)
        return InitProducerIdResponse(producer_id=identity.producer_id, producer_epoch=identity.producer_epoch)

    # ---- groups

    def _refusal(self, what: str) -> ErrorCode | None:
        if self._cluster.coordinator_id != self.broker_id:
            return ErrorCode.NOT_COORDINATOR
        return self._cluster.random.choice(GROUP_REFUSALS) if self._cluster.refuses(what) else None

    def _group_request(self, name: str, request: Any, version: int, client_id: str, answered: Answered) -> None:
        operation = GROUP_OPERATIONS[name]
        error_response: Any = offset_commit.request_error if name == "OffsetCommit" else operation.error_response
        refused = self._refusal("groups") or (self._refusal("commits") if name == "OffsetCommit" else None)
        if refused is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and name == "Heartbeat":
            # Answered as a success, which is true only of a coordinator that begins new sessions when it has loaded.
            refused = ErrorCode.COORDINATOR_NOT_AVAILABLE
        if refused is not None:
            answered(error_response(request, refused, version))
            return

        def done(response: Any) -> None:
            if name == "OffsetCommit":
                self._reports.stored(request, response)
            answered(response)

        waiting = Waiting(done, lambda error: error_response(request, error, version))
        self._cluster.groups.submit(operation, request.group_id, request, waiting, client_id, version)

    def _describe(self, operation: Operation, request: Any, version: int) -> Any:
        """Describe the one group that a request names."""
        (group_id,) = request.groups if operation is operations.DESCRIBE_GROUPS else request.group_ids
        answers: list[Any] = []
        waiting = Waiting(answers.append, lambda error: None)
        self._cluster.groups.submit(operation, group_id, request, waiting, "", version)
        return answers[0]

    def _describe_streams(self, request: Any, version: int) -> StreamsGroupDescribeResponse:
        """There are none."""
        error = ErrorCode.GROUP_ID_NOT_FOUND
        groups = [DescribedStreamsGroup(group_id=group_id, error_code=error) for group_id in request.group_ids]
        return StreamsGroupDescribeResponse(groups=groups)

    def _list_groups(self, request: Any, version: int) -> ListGroupsResponse:
        if self._cluster.coordinator_id != self.broker_id:
            return ListGroupsResponse()
        return ListGroupsResponse(
            groups=[
                ListedGroup(group_id=group_id, group_state=state)
                for group_id, state in self._cluster.states().items()
                if not request.states_filter or state in request.states_filter
            ]
        )
