"""ApiVersions, Metadata, DescribeCluster, FindCoordinator: what there is and where."""

import re
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
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
from coordinator.broker.partitions import LEADER_EPOCH
from coordinator.broker.topics import DEFAULT_COUNT, TopicError
from coordinator.config import AUTO_CREATE_TOPICS_ENABLE
from coordinator.metadata.image import Topic
from coordinator.server.dispatch import DispatchTable, Route
from coordinator.server.node_context import NodeContext
from coordinator.server.request_context import RequestContext

SOFTWARE_NAME: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
"""What a client may call itself (KIP-511)."""
SOFTWARE_NAME_VERSION: Final = 3

GROUP_KEY: Final = 0
TRANSACTION_KEY: Final = 1
SHARE_KEY: Final = 2
KEYS_VERSION: Final = 4
"""From this version on FindCoordinator asks for many keys at once (KIP-699)."""

NO_ID: Final = bytes(16)
NULL_MEANS_ALL_VERSION: Final = 1
"""Before it, an empty list of topics asks for all; from it on null does."""
IDS_VERSION: Final = 12
"""From this version on topics can be asked for by id; v10 and v11 have the field, but no use for it (KIP-516)."""
NO_NODE: Final = -1
BROKER_ENDPOINTS: Final = 1


class ClusterHandlers:
    """Answers from metadata and the dispatch table itself."""

    def __init__(self, broker: NodeContext) -> None:
        self._broker = broker
        self._routes: dict[int, Route] = {}

    def add_to(self, table: DispatchTable) -> None:
        self._routes = table.routes
        table.add("ApiVersions", self.api_versions)
        table.add("Metadata", self.metadata, _metadata_error)
        table.add("DescribeCluster", self.describe_cluster)
        table.add("FindCoordinator", self.find_coordinator, _find_error)

    def api_versions(self, request: ApiVersionsRequest, call: RequestContext) -> ApiVersionsResponse:
        if call.api_version >= SOFTWARE_NAME_VERSION:
            said = (request.client_software_name, request.client_software_version)
            if not all(SOFTWARE_NAME.fullmatch(text) for text in said):
                return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        return ApiVersionsResponse(api_keys=[_served(self._routes[key]) for key in sorted(self._routes)])

    def unsupported_api_versions(self) -> ApiVersionsResponse:
        """The answer to a version of ApiVersions we do not know: v0, and only what helps to ask again (KIP-511)."""
        own = _served(self._routes[ApiVersionsRequest.API_KEY])
        return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[own])

    def metadata(self, request: MetadataRequest, call: RequestContext) -> MetadataResponse:
        image = self._broker.image
        if call.api_version < IDS_VERSION and any(_is_by_id(topic) for topic in request.topics or ()):
            return _metadata_error(request, ErrorCode.INVALID_REQUEST)
        asks_all = request.topics is None or (call.api_version < NULL_MEANS_ALL_VERSION and not request.topics)
        if asks_all:
            topics = [self._described(topic) for topic in image.topics.values()]
        else:
            may_create = request.allow_auto_topic_creation and self._broker.config[AUTO_CREATE_TOPICS_ENABLE]
            topics = [self._find_topic(wanted, may_create) for wanted in request.topics or ()]
        endpoint = call.endpoint
        return MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=self._broker.node_id, host=endpoint.host, port=endpoint.port)],
            cluster_id=self._broker.cluster_id,
            controller_id=self._broker.node_id,
            topics=topics,
        )

    def _find_topic(self, wanted: MetadataRequestTopic, may_create: bool) -> MetadataResponseTopic:
        image = self._broker.image
        if wanted.name is None or wanted.topic_id != NO_ID:
            known = image.topics_by_id.get(wanted.topic_id)
            if known is not None:
                return self._described(known)
            return MetadataResponseTopic(name=None, topic_id=wanted.topic_id, error_code=ErrorCode.UNKNOWN_TOPIC_ID)
        topic = image.topics.get(wanted.name)
        if topic is not None:
            return self._described(topic)
        try:
            if may_create:
                made = self._broker.topics.create(wanted.name, DEFAULT_COUNT, DEFAULT_COUNT, {}, self._broker.now_ms())
                return self._described(made)
            self._broker.topics.check_new(wanted.name, DEFAULT_COUNT, DEFAULT_COUNT)
        except TopicError as problem:
            return MetadataResponseTopic(name=wanted.name, error_code=problem.error)
        return MetadataResponseTopic(name=wanted.name, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def _described(self, topic: Topic) -> MetadataResponseTopic:
        node_id = self._broker.node_id
        return MetadataResponseTopic(
            name=topic.name,
            topic_id=topic.topic_id,
            is_internal=topic.is_internal,
            partitions=[
                MetadataResponsePartition(
                    partition_index=index,
                    leader_id=node_id,
                    leader_epoch=LEADER_EPOCH,
                    replica_nodes=[node_id],
                    isr_nodes=[node_id],
                )
                for index in range(topic.partitions)
            ],
        )

    def describe_cluster(self, request: DescribeClusterRequest, call: RequestContext) -> DescribeClusterResponse:
        if request.endpoint_type != BROKER_ENDPOINTS:
            return DescribeClusterResponse(
                error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE, error_message="This is a broker's endpoint."
            )
        endpoint, node_id = call.endpoint, self._broker.node_id
        return DescribeClusterResponse(
            cluster_id=self._broker.cluster_id,
            controller_id=node_id,
            brokers=[DescribeClusterBroker(broker_id=node_id, host=endpoint.host, port=endpoint.port)],
        )

    def find_coordinator(self, request: FindCoordinatorRequest, call: RequestContext) -> FindCoordinatorResponse:
        if call.api_version >= KEYS_VERSION:
            found = [self._coordinator(key, request.key_type, call) for key in request.coordinator_keys]
            return FindCoordinatorResponse(coordinators=found)
        one = self._coordinator(request.key, request.key_type, call)
        return FindCoordinatorResponse(
            error_code=one.error_code,
            error_message=one.error_message,
            node_id=one.node_id,
            host=one.host,
            port=one.port,
        )

    def _coordinator(self, key: str, key_type: int, call: RequestContext) -> Coordinator:
        """This node leads every partition, so it coordinates every group and transaction. Share groups it has none."""
        if key_type == TRANSACTION_KEY:
            self._broker.topics.make_transactions_topic(self._broker.now_ms())
        elif key_type != GROUP_KEY:
            error = ErrorCode.COORDINATOR_NOT_AVAILABLE if key_type == SHARE_KEY else ErrorCode.INVALID_REQUEST
            return Coordinator(
                key=key, node_id=NO_NODE, port=NO_NODE, error_code=error, error_message=error.description
            )
        return Coordinator(
            key=key,
            node_id=self._broker.node_id,
            host=call.endpoint.host,
            port=call.endpoint.port,
            error_message="" if call.api_version >= KEYS_VERSION else "NONE",
        )


def _served(route: Route) -> ApiVersion:
    return ApiVersion(api_key=route.api.key, min_version=route.min_version, max_version=route.max_version)


def _is_by_id(wanted: MetadataRequestTopic) -> bool:
    return wanted.name is None or wanted.topic_id != NO_ID


def _metadata_error(request: MetadataRequest, error: ErrorCode) -> MetadataResponse:
    """Before v13 there is no error but that of a topic."""
    topics = [
        MetadataResponseTopic(name=topic.name or "", topic_id=topic.topic_id, error_code=error)
        for topic in request.topics or ()
    ]
    return MetadataResponse(error_code=error, topics=topics)


def _find_error(request: FindCoordinatorRequest, error: ErrorCode) -> Any:
    found = [Coordinator(key=key, node_id=NO_NODE, port=NO_NODE, error_code=error) for key in request.coordinator_keys]
    return FindCoordinatorResponse(error_code=error, node_id=NO_NODE, port=NO_NODE, coordinators=found)
