"""The routes of a node, and a cluster that tells by its responses what a client may do."""

from collections.abc import Callable, Collection, Iterable, Mapping
from types import GeneratorType, SimpleNamespace
from typing import Any, Final
from unittest.mock import MagicMock

from _wire.apis import APIS
from _wire.errors import ErrorCode
from _wire.headers import decode_request_header, encode_response
from _wire.messages.describe_cluster import DescribeClusterResponse
from _wire.messages.end_txn import EndTxnResponse
from _wire.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from _wire.messages.heartbeat import HeartbeatResponse
from _wire.messages.metadata import MetadataResponse, MetadataResponseTopic
from _wire.messages.offset_delete import OffsetDeleteResponse
from coordinator.cluster.handlers.groups import ClusterGroupHandlers
from coordinator.cluster.handlers.owners import OwnerHandlers
from coordinator.cluster.requirements import CLUSTER_REQUIREMENTS
from coordinator.cluster.rights.clients import ClientOfCluster
from coordinator.cluster.rights.probes import Permission
from coordinator.cluster.rights.rights import CachedRights, ClusterRights, RightsQuestions
from coordinator.front.dispatch import DispatchTable, Route
from coordinator.runtime.slices import at_once
from coordinator.security.acls.model import CLUSTER_NAME, AclOperation, ResourceType, as_bits
from tests.front.authorizing import NotedDenials

OPERATIONS: Final = (AclOperation.READ, AclOperation.DESCRIBE)
LENGTH_BYTES: Final = 4


class Topics:
    """The topics of a cluster by their ids, known at once."""

    def __init__(self, names: Mapping[bytes, str] | None = None) -> None:
        self._names = names or {}
        self.is_reachable = True

    def find(self, ids: Collection[bytes], named: Callable[[Mapping[bytes, str] | None], None]) -> None:
        names = {topic_id: self._names[topic_id] for topic_id in ids if topic_id in self._names}
        named(names if self.is_reachable else None)


NO_TOPICS: Final = Topics()


class AclsOfCluster:
    """Behind the connection of a client: answers probes by what is denied, and notes what it was asked for."""

    def __init__(self, denied: Collection[Permission] = ()) -> None:
        self._denied = denied
        self.asked: set[Permission] = set()

    def ask(self, call: Any, frame: bytes, answered: Callable[[bytes | None], None]) -> None:
        header, body_start = decode_request_header(frame)
        api = APIS[header.api_key]
        request = api.request.decode(frame, header.api_version, body_start, False)
        response = getattr(self, f"_{api.name}")(request)
        answered(encode_response(header.correlation_id, response, header.api_version)[LENGTH_BYTES:])

    def _may(self, operation: AclOperation, resource_type: ResourceType, name: str) -> bool:
        permission = Permission(operation, resource_type, name)
        self.asked.add(permission)
        return permission not in self._denied

    def _error(self, operation: AclOperation, resource_type: ResourceType, name: str) -> ErrorCode:
        return ErrorCode.NONE if self._may(operation, resource_type, name) else resource_type.denied

    def _bits(self, operations: Iterable[AclOperation], resource_type: ResourceType, name: str) -> int:
        return as_bits([operation for operation in operations if self._may(operation, resource_type, name)])

    def _Heartbeat(self, request: Any) -> HeartbeatResponse:
        return HeartbeatResponse(error_code=self._error(AclOperation.READ, ResourceType.GROUP, request.group_id))

    def _OffsetDelete(self, request: Any) -> OffsetDeleteResponse:
        return OffsetDeleteResponse(error_code=self._error(AclOperation.DELETE, ResourceType.GROUP, request.group_id))

    def _EndTxn(self, request: Any) -> EndTxnResponse:
        name = request.transactional_id
        return EndTxnResponse(error_code=self._error(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, name))

    def _FindCoordinator(self, request: Any) -> FindCoordinatorResponse:
        return FindCoordinatorResponse(
            coordinators=[
                Coordinator(key=key, error_code=self._error(AclOperation.DESCRIBE, ResourceType.GROUP, key))
                for key in request.coordinator_keys
            ]
        )

    def _Metadata(self, request: Any) -> MetadataResponse:
        return MetadataResponse(
            topics=[
                MetadataResponseTopic(
                    name=topic.name,
                    topic_authorized_operations=self._bits(OPERATIONS, ResourceType.TOPIC, topic.name),
                )
                for topic in request.topics
            ]
        )

    def _DescribeCluster(self, request: Any) -> DescribeClusterResponse:
        operations = (AclOperation.DESCRIBE, AclOperation.ALTER)
        bits = self._bits(operations, ResourceType.CLUSTER, CLUSTER_NAME)
        return DescribeClusterResponse(cluster_authorized_operations=bits)


def node_routes() -> dict[str, Route]:
    """What a node answers itself, by the name of the API."""
    table, nothing = DispatchTable(CLUSTER_REQUIREMENTS), MagicMock()
    OwnerHandlers(nothing, nothing, nothing, nothing, nothing, nothing).add_to(table)
    ClusterGroupHandlers(nothing, nothing, nothing, nothing, nothing, nothing).add_to(table)
    return {route.api.name: route for route in table.routes.values()}


class AuthorizedRoute:
    """A route of a node up to its handler, which takes what it is given and answers that all of it went well."""

    def __init__(self, route: Route, acls: AclsOfCluster, topics: Topics) -> None:
        self._route = route
        self.handled: list[Any] = []
        self._known = CachedRights()
        # Learning starts a timer of the loop; these rights do not expire.
        self._known._expiry = MagicMock()
        step = ClusterRights(self._known, RightsQuestions(self._known, acls), topics, NotedDenials(), MagicMock())
        self._handle = step(route, self._take)

    def _take(self, request: Any, call: Any) -> Any:
        self.handled.append(request)
        return self._route.error_response(request, ErrorCode.NONE, call.api_version)

    def answer(self, request: Any, version: int) -> Any:
        """The response, as it is sent."""
        principal = ClientOfCluster(1)
        call: Any = SimpleNamespace(
            route=self._route,
            request=request,
            api_version=version,
            client_id="c",
            client_host="/h",
            principal=principal,
            connection=SimpleNamespace(principal=principal, serial=1, close=lambda: None),
        )
        response = self._handle(request, call)
        if type(response) is GeneratorType:
            response = at_once(response)
        if call.route.downgrade is not None:
            call.route.downgrade(response, version)
        return response
