"""ApiVersions, Metadata, DescribeCluster, FindCoordinator."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from _wire.errors import ErrorCode
from _wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from _wire.messages.describe_cluster import DescribeClusterBroker, DescribeClusterRequest, DescribeClusterResponse
from _wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from _wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from coordinator.broker.topics import Topics
from coordinator.config.server_keys import AUTO_CREATE_TOPICS_ENABLE, NODE_ID
from coordinator.config.settings import Config
from coordinator.core.groups.admin import NO_AUTHORIZED_OPERATIONS
from coordinator.core.partitioning import partition_for
from coordinator.core.share_state.state import parse_key
from coordinator.front.api_versions import SOFTWARE_NAME_VERSION, has_valid_software, listed, software_of
from coordinator.front.dispatch import DispatchTable, ServedApi
from coordinator.front.protocol_types import COORDINATOR_KEYS_VERSION, CoordinatorType
from coordinator.front.request_context import RequestContext
from coordinator.internal_topics import INTERNAL_TOPICS, OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC
from coordinator.log.errors import InvalidTopicName
from coordinator.log.names import check_legal_name
from coordinator.metadata.features import HIGHEST_LEVELS, LOWEST_LEVEL, levels
from coordinator.metadata.image import MetadataImage, Topic
from coordinator.metadata.leadership import NO_LEADER, Leadership, RemoteNode
from coordinator.metadata.store import MetadataStore
from coordinator.node.handlers.deferred import answer_when_committed, committed
from coordinator.runtime.slices import Steps
from coordinator.security.acls.model import SUPPORTED_OPERATIONS, ResourceType, as_bits

FEATURE_LEVEL_0_VERSION: Final = 4
"""The first version of ApiVersions whose clients accept 0 as the lowest level of a supported feature (KAFKA-17011)."""
SUPPORTED_FEATURES: Final = [
    SupportedFeatureKey(name=name, min_version=LOWEST_LEVEL, max_version=highest)
    for name, highest in HIGHEST_LEVELS.items()
]
SHARE_KEY_VERSION: Final = 6
"""The first version of FindCoordinator that knows the keys of share groups (KIP-932)."""

NO_ID: Final = bytes(16)
TOPICS_AT_ONCE: Final = 100
"""Topics that one request creates with one append, before other requests have their turn."""
NULL_MEANS_ALL_VERSION: Final = 1
"""Before it, an empty list of topics asks for all; from it on null does."""
IDS_VERSION: Final = 12
"""From this version on topics can be asked for by id; v10 and v11 have the field, but no use for it (KIP-516)."""
REPEATED_MAX: Final = 500
"""Topics, and partitions of all of them, of an answer that is kept for others who ask the same."""
NO_NODE: Final = -1
BROKER_ENDPOINTS: Final = 1
CONTROLLER_ENDPOINTS: Final = 2

CLUSTER_OPERATIONS: Final = as_bits(SUPPORTED_OPERATIONS[ResourceType.CLUSTER])
"""What anybody may do with the cluster where no authorizer forbids it (KIP-430)."""
TOPIC_OPERATIONS: Final = as_bits(SUPPORTED_OPERATIONS[ResourceType.TOPIC])
"""The same for a topic."""


K = TypeVar("K")


class ClusterHandlers:
    """Answers from metadata and the dispatch table itself."""

    def __init__(
        self,
        served: Mapping[int, ServedApi],
        *,
        cluster_id: str,
        config: Config,
        image: MetadataImage,
        leadership: Leadership,
        topics: Topics,
        start_transactions: Callable[[], None] | None,
        make_share_topic: Callable[[], Steps[None]],
        now_ms: Callable[[], int],
        metadata: MetadataStore,
    ) -> None:
        """`served` are all APIs. Without `start_transactions` no node coordinates transactions.

        `make_share_topic` makes sure that there is a topic with the states of share partitions.
        """
        self._served = served
        self._cluster_id = cluster_id
        self._config = config
        self._image = image
        self._leadership = leadership
        self._topics = topics
        self._start_transactions = start_transactions
        self._make_share_topic = make_share_topic
        self._now_ms = now_ms
        self._metadata = metadata
        self._node_id = config[NODE_ID]
        self._listed: list[ApiVersion] = []
        """All APIs, made for the first client that asks: every connection begins with this answer."""

    def add_to(self, table: DispatchTable) -> None:
        table.add("ApiVersions", self.api_versions, versions=(0, 4))
        table.add("Metadata", self.metadata, _metadata_error, versions=(0, 13))
        table.add("DescribeCluster", self.describe_cluster, versions=(0, 2))
        table.add("FindCoordinator", self.find_coordinator, _find_error, versions=(0, 6))

    def api_versions(self, request: ApiVersionsRequest, call: RequestContext) -> ApiVersionsResponse:
        if not has_valid_software(request, call.api_version):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        if call.api_version >= SOFTWARE_NAME_VERSION:
            call.connection.software = software_of(request)
        if not self._listed:
            self._listed = [listed(self._served[key]) for key in sorted(self._served)]
        call.is_repeatable = True
        return ApiVersionsResponse(
            api_keys=self._listed,
            supported_features=_supported_features(call.api_version),
            finalized_features_epoch=self._image.features_epoch,
            finalized_features=[
                FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
                for name, level in levels(self._image).items()
            ],
        )

    def metadata(self, request: MetadataRequest, call: RequestContext) -> Steps[Any]:
        requested_topics = request.topics
        has_created = False
        is_by_id = False
        for requested in requested_topics or ():
            is_by_id = is_by_id or _is_by_id(requested)
            yield
        if is_by_id and call.api_version < IDS_VERSION:
            return _metadata_error(request, ErrorCode.INVALID_REQUEST, call.api_version)
        if requested_topics is None or (call.api_version < NULL_MEANS_ALL_VERSION and not requested_topics):
            topics = yield from self._one_by_one(self._described, list(self._image.topics.values()))
        elif is_by_id and any(requested.topic_id != NO_ID for requested in requested_topics):
            # A single id is enough for Kafka to ignore all names.
            ids = dict.fromkeys(requested.topic_id for requested in requested_topics if requested.topic_id != NO_ID)
            topics = yield from self._one_by_one(self._find_by_id, ids)
        else:
            names: dict[str, None] = {}
            for requested in requested_topics:
                if requested.name is None:
                    # Neither a name nor an id: what Kafka answers, from a null pointer.
                    return _metadata_error(request, ErrorCode.UNKNOWN_SERVER_ERROR, call.api_version)
                names[requested.name] = None
                yield
            topics = yield from self._one_by_one(self._find_by_name, names)
            if request.allow_auto_topic_creation and self._config[AUTO_CREATE_TOPICS_ENABLE]:
                has_created = yield from self._create_unknown(topics)
        if request.include_topic_authorized_operations:
            for topic in topics:
                if topic.name is not None:
                    topic.topic_authorized_operations = TOPIC_OPERATIONS
                yield
        brokers = [
            MetadataResponseBroker(node_id=node.node_id, host=node.host, port=node.port) for node in self._nodes(call)
        ]
        response = MetadataResponse(
            brokers=brokers,
            cluster_id=self._cluster_id,
            controller_id=self._node_id,
            topics=topics,
            cluster_authorized_operations=_cluster_operations(request.include_cluster_authorized_operations),
        )
        if has_created:
            return (yield from answer_when_committed(self._metadata, response))
        call.is_repeatable = _is_repeatable(topics)
        return response

    def _nodes(self, call: RequestContext) -> list[RemoteNode]:
        """All nodes of the cluster, this one by the listener that the client came in by."""
        endpoint = call.endpoint
        return [RemoteNode(self._node_id, endpoint.host, endpoint.port), *self._leadership.other_nodes()]

    def _find_by_id(self, topic_id: bytes) -> MetadataResponseTopic:
        existing = self._image.topics_by_id.get(topic_id)
        if existing is not None:
            return self._described(existing)
        return MetadataResponseTopic(name=None, topic_id=topic_id, error_code=ErrorCode.UNKNOWN_TOPIC_ID)

    @staticmethod
    def _one_by_one(
        find: Callable[[K], MetadataResponseTopic], keys: Iterable[K]
    ) -> Steps[list[MetadataResponseTopic]]:
        found = []
        for key in keys:
            found.append(find(key))
            yield
        return found

    def _create_unknown(self, topics: list[MetadataResponseTopic]) -> Steps[bool]:
        """Create the topics that were not found: unknown in this response and described in the next, as on Kafka.

        Returns whether there are any.
        """
        unknown = [
            topic.name
            for topic in topics
            if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and topic.name is not None
        ]
        for first in range(0, len(unknown), TOPICS_AT_ONCE):
            self._topics.create_automatically(unknown[first : first + TOPICS_AT_ONCE], self._now_ms())
            yield
        return bool(unknown)

    def _find_by_name(self, name: str) -> MetadataResponseTopic:
        topic = self._image.topics.get(name)
        if topic is not None:
            return self._described(topic)
        unknown = MetadataResponseTopic(
            name=name,
            error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            is_internal=name in INTERNAL_TOPICS,
        )
        try:
            check_legal_name(name)
        except InvalidTopicName:
            unknown.error_code = ErrorCode.INVALID_TOPIC_EXCEPTION
        return unknown

    def _described(self, topic: Topic) -> MetadataResponseTopic:
        leaders = [self._leadership.leader_of(topic.name, index) for index in range(topic.partitions)]
        return MetadataResponseTopic(
            name=topic.name,
            topic_id=topic.topic_id,
            is_internal=topic.is_internal,
            partitions=[self._described_partition(index, leader) for index, leader in enumerate(leaders)],
        )

    def _described_partition(self, index: int, leader: int) -> MetadataResponsePartition:
        if leader == NO_LEADER:
            return MetadataResponsePartition(
                error_code=ErrorCode.LEADER_NOT_AVAILABLE,
                partition_index=index,
                leader_id=NO_LEADER,
                leader_epoch=self._image.leader_epoch,
                replica_nodes=[self._node_id],
                offline_replicas=[self._node_id],
            )
        return MetadataResponsePartition(
            partition_index=index,
            leader_id=leader,
            leader_epoch=self._image.leader_epoch,
            replica_nodes=[leader],
            isr_nodes=[leader],
        )

    def describe_cluster(self, request: DescribeClusterRequest, call: RequestContext) -> DescribeClusterResponse:
        if request.endpoint_type != BROKER_ENDPOINTS:
            of_controller = request.endpoint_type == CONTROLLER_ENDPOINTS
            return DescribeClusterResponse(
                error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE if of_controller else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
                error_message="This is a broker's endpoint.",
            )
        return DescribeClusterResponse(
            cluster_id=self._cluster_id,
            controller_id=self._node_id,
            brokers=[
                DescribeClusterBroker(broker_id=node.node_id, host=node.host, port=node.port)
                for node in self._nodes(call)
            ],
            cluster_authorized_operations=_cluster_operations(request.include_cluster_authorized_operations),
        )

    def find_coordinator(self, request: FindCoordinatorRequest, call: RequestContext) -> Steps[FindCoordinatorResponse]:
        keys = request.coordinator_keys if call.api_version >= COORDINATOR_KEYS_VERSION else [request.key]
        if request.key_type == CoordinatorType.TRANSACTION and keys and self._start_transactions is not None:
            # With the first transactional id: the topic tells the node of which it is the coordinator.
            self._topics.create_transactions_topic(self._now_ms())
            if TRANSACTIONS_TOPIC not in self._image.topics:
                yield from committed(self._metadata)
        if request.key_type == CoordinatorType.TRANSACTION and self._start_transactions is not None:
            self._start_transactions()
        if request.key_type == CoordinatorType.SHARE and call.api_version >= SHARE_KEY_VERSION and keys:
            yield from self._make_share_topic()
        if call.api_version >= COORDINATOR_KEYS_VERSION:
            found = []
            for key in request.coordinator_keys:
                found.append(self._coordinator(key, request.key_type, call))
                yield
            are_found = all(topic.error_code == ErrorCode.NONE for topic in found)
            call.is_repeatable = are_found and request.key_type == CoordinatorType.GROUP
            return FindCoordinatorResponse(coordinators=found)
        one = self._coordinator(request.key, request.key_type, call)
        call.is_repeatable = one.error_code == ErrorCode.NONE and request.key_type == CoordinatorType.GROUP
        return FindCoordinatorResponse(
            error_code=one.error_code,
            error_message=one.error_message,
            node_id=one.node_id,
            host=one.host,
            port=one.port,
        )

    def _coordinator(self, key: str, key_type: int, call: RequestContext) -> Coordinator:
        """The node that leads the partition of the group, the transactional id or the share partition."""
        if key_type == CoordinatorType.GROUP:
            topic = OFFSETS_TOPIC
        elif key_type == CoordinatorType.TRANSACTION:
            topic = TRANSACTIONS_TOPIC
        elif key_type == CoordinatorType.SHARE and call.api_version >= SHARE_KEY_VERSION:
            try:
                parse_key(key)
            except ValueError:
                return _no_coordinator(key, ErrorCode.INVALID_REQUEST, message="")
            topic = SHARE_STATE_TOPIC
        else:
            is_share = key_type == CoordinatorType.SHARE
            return _no_coordinator(key, ErrorCode.INVALID_REQUEST, message="" if is_share else None)
        if topic == TRANSACTIONS_TOPIC and self._start_transactions is None:
            return _no_coordinator(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        partition = partition_for(key, self._image.partition_count(topic))
        leader = self._leadership.leader_of(topic, partition)
        node = next((node for node in self._nodes(call) if node.node_id == leader), None)
        if node is None:
            return _no_coordinator(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return Coordinator(
            key=key,
            node_id=node.node_id,
            host=node.host,
            port=node.port,
            error_message="" if call.api_version >= COORDINATOR_KEYS_VERSION else "NONE",
        )


def _no_coordinator(key: str, error: ErrorCode, message: str | None = None) -> Coordinator:
    text = error.description if message is None else message
    return Coordinator(key=key, node_id=NO_NODE, port=NO_NODE, error_code=error, error_message=text)


def _supported_features(api_version: int) -> list[SupportedFeatureKey]:
    """The features whose lowest level `api_version` may name: before v4, Java clients 3.3 to 3.7 disconnect on a 0."""
    if api_version < FEATURE_LEVEL_0_VERSION and LOWEST_LEVEL == 0:
        return []
    return SUPPORTED_FEATURES


def _cluster_operations(are_asked_for: bool) -> int:
    return CLUSTER_OPERATIONS if are_asked_for else NO_AUTHORIZED_OPERATIONS


def _is_by_id(requested_topics: MetadataRequestTopic) -> bool:
    return requested_topics.name is None or requested_topics.topic_id != NO_ID


def _is_repeatable(topics: list[MetadataResponseTopic]) -> bool:
    """Whether there is no error in an answer that is short enough to be kept."""
    if len(topics) > REPEATED_MAX or sum(len(topic.partitions) for topic in topics) > REPEATED_MAX:
        return False
    return not any(topic.error_code or any(partition.error_code for partition in topic.partitions) for topic in topics)


def _metadata_error(request: MetadataRequest, error: ErrorCode, api_version: int) -> MetadataResponse:
    """Before v13 there is no error but that of a topic."""
    topics = [
        MetadataResponseTopic(name=topic.name or "", topic_id=topic.topic_id, error_code=error)
        for topic in request.topics or ()
    ]
    return MetadataResponse(error_code=error, topics=topics)


def _find_error(request: FindCoordinatorRequest, error: ErrorCode, api_version: int) -> Any:
    found = [Coordinator(key=key, node_id=NO_NODE, port=NO_NODE, error_code=error) for key in request.coordinator_keys]
    return FindCoordinatorResponse(error_code=error, node_id=NO_NODE, port=NO_NODE, coordinators=found)
