"""Rewrites responses of brokers: clients find every broker through the node, and the nodes beside the brokers.

The same functions serve connections that pass bytes on and handlers that forward single requests.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar

import msgspec

from _wire.apis import APIS
from _wire.errors import NONE, ErrorCode
from _wire.headers import decode_request_header, decode_response_header, encode_response
from _wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from _wire.messages.describe_cluster import DescribeClusterBroker, DescribeClusterRequest, DescribeClusterResponse
from _wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from _wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from _wire.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from _wire.messages.produce import ProduceRequest
from coordinator.cluster.found import NOT_FOUND, Found, NotFound
from coordinator.cluster.relay.directory import CoordinatorNode, Directory, Owner
from coordinator.cluster.relay.request_heads import INT16, InvalidRequest
from coordinator.cluster.relay.rules import (
    API_VERSIONS,
    FIND_COORDINATOR,
    RULES,
    SHARE_ACKNOWLEDGE,
    SHARE_FETCH,
    offered_versions,
)
from coordinator.runtime.pauses import in_steps
from coordinator.runtime.slices import Steps, awaited, awaited_all

T = TypeVar("T")

GROUP: Final = 0
"""The key type of a group in FindCoordinator (`CoordinatorType`)."""
BROKERS: Final = 1
"""The endpoint type of brokers in DescribeCluster (KIP-919)."""
NO_NODE: Final = -1
KEYS_VERSION: Final = 4
"""From this version on FindCoordinator has several keys (KIP-699)."""
ASKED_AT_ONCE: Final = 100
"""Groups whose owners are looked up before other work has its turn."""
PARTITIONS_AT_ONCE: Final = 5_000
"""Partitions of a Metadata response that are looked at before other work has its turn: about a millisecond."""
LONG_FRAME_BYTES: Final = 1 << 16
"""Longer frames are decoded and encoded in steps."""
DECODED_FACTOR: Final = 10
"""About what a decoded message has for each byte of its frame: Metadata is small numbers, each an object."""
ELEMENTS_MAX: Final = 200_000
"""Of a request that is decoded: the default of socket.request.max.elements."""


_WITH_ENDPOINTS: Final = frozenset({SHARE_FETCH, SHARE_ACKNOWLEDGE})
NO_ENDPOINTS: Final = b"\x01\x00"
"""How a response of a share session ends that names no brokers: an empty array, no tagged fields. An endpoint before
the last byte would end with its own, empty, tagged fields. So records are not decoded, which nearly all have."""


class ForwardedRequest(msgspec.Struct, frozen=True):
    """What has to be known of a request to rewrite its response."""

    api_key: int
    version: int
    keys: tuple[str, ...] = ()
    """Those of FindCoordinator."""
    key_type: int = GROUP
    is_reached: bool = True
    """False: the client does not seem to reach the coordinator in the cluster that it knows (`CoordinatorLookups`)."""


def forwarded_request(frame: bytes) -> ForwardedRequest:
    """Describe a request, whose frame is given without its length.

    Raises:
        InvalidRequest: it is not served in this version.
        MalformedMessage: it cannot be decoded.
    """
    header, body_start = decode_request_header(frame)
    api_key, version = header.api_key, header.api_version
    rule = RULES.get(api_key)
    if rule is not None and not rule.serves(version):
        raise InvalidRequest(unserved(api_key, version))
    if api_key != FIND_COORDINATOR:
        return ForwardedRequest(api_key, version)
    request = FindCoordinatorRequest.decode(frame, version, body_start, False, ELEMENTS_MAX)
    keys = (request.key,) if version < KEYS_VERSION else tuple(request.coordinator_keys)
    return ForwardedRequest(api_key, version, keys, request.key_type if version else GROUP)


def unserved(api_key: int, version: int) -> str:
    """Why a request is not passed on."""
    name = APIS[api_key].name if api_key in APIS else f"API {api_key}"
    return f"{name} version {version} is not served"


def is_rewritten(request: ForwardedRequest) -> bool:
    rule = RULES.get(request.api_key)
    return rule is not None and request.version >= rule.rewritten_from


def rewrite_response(request: ForwardedRequest, frame: bytes, directory: Directory) -> Steps[bytes]:
    """Rewrite the response to a request. The frame is given without its length; the result has its length.

    Raises:
        MalformedMessage: the response cannot be decoded.
    """
    if request.api_key in _WITH_ENDPOINTS and frame.endswith(NO_ENDPOINTS):
        return len(frame).to_bytes(4, "big") + frame
    version = _response_version(request, frame)
    correlation_id, body_start = decode_response_header(frame, request.api_key, version)
    decode = partial(APIS[request.api_key].response.decode, frame, version, body_start)
    is_long = len(frame) > LONG_FRAME_BYTES
    response = (yield from in_long_steps(decode, len(frame))) if is_long else decode()
    yield from rewrite_message(request, response, directory)
    encode = partial(encode_response, correlation_id, response, version)
    return (yield from in_steps(lambda pause: encode(pause=pause))) if is_long else encode()


def in_long_steps(decode: Callable[..., T], frame_bytes: int) -> Steps[T]:
    """Decode a long frame, when there is room for what it becomes (`Slices`)."""
    yield DECODED_FACTOR * frame_bytes
    return (yield from in_steps(lambda pause: decode(pause=pause)))


def rewrite_message(request: ForwardedRequest, response: Any, directory: Directory) -> Steps[None]:
    """Rewrite a decoded response in place."""
    rewriting = REWRITINGS.get(request.api_key)
    if rewriting is not None:
        yield from rewriting(request, response, directory)


def _response_version(request: ForwardedRequest, frame: bytes) -> int:
    """A broker that does not know the version of an ApiVersions request answers in version 0 (KIP-511)."""
    if request.api_key == API_VERSIONS and request.version:
        _, body_start = decode_response_header(frame, API_VERSIONS, 0)
        if frame[body_start : body_start + INT16.size] == INT16.pack(ErrorCode.UNSUPPORTED_VERSION):
            return 0
    return request.version


def unsupported_api_versions(correlation_id: int) -> bytes:
    """The response to ApiVersions in a version that the relay does not know, which the broker may know."""
    rule = RULES[API_VERSIONS]
    served = ApiVersion(api_key=API_VERSIONS, min_version=rule.min_version, max_version=rule.max_version)
    response = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[served])
    return encode_response(correlation_id, response, 0)


def _api_versions(request: ForwardedRequest, response: ApiVersionsResponse, directory: Directory) -> Steps[None]:
    """Features stay as they are: clients read from them what the cluster can do, not what is offered."""
    offered = []
    for api in response.api_keys:
        versions = offered_versions(api.api_key, api.min_version, api.max_version)
        if versions is not None:
            api.min_version, api.max_version = versions
            offered.append(api)
    response.api_keys = offered
    yield from ()


def _metadata(request: ForwardedRequest, response: MetadataResponse, directory: Directory) -> Steps[None]:
    if response.error_code != NONE:
        return
    reachable, left_out = [], set()
    for broker in response.brokers:
        address = directory.broker_address(broker.node_id)
        if address is None:
            left_out.add(broker.node_id)
        else:
            broker.host, broker.port = address
            reachable.append(broker)
    for node in directory.nodes():
        reachable.append(MetadataResponseBroker(node_id=node.node_id, host=node.host, port=node.port))
    response.brokers = reachable
    if left_out:
        yield from _without_leaders(response, left_out)


def _without_leaders(response: MetadataResponse, left_out: set[int]) -> Steps[None]:
    """Partitions whose leader cannot be reached yet have no leader for the client.

    Kafka answers the same for a leader that does not have the listener of the client. All clients refresh their
    metadata and try again; a leader id without a broker is a case that each of them handles in its own way.
    """
    count = 0
    for topic in response.topics:
        for partition in topic.partitions:
            if partition.leader_id in left_out:
                partition.leader_id = NO_NODE
                partition.error_code = ErrorCode.LEADER_NOT_AVAILABLE
        count += len(topic.partitions)
        if count > PARTITIONS_AT_ONCE:
            count = 0
            yield


def _describe_cluster(
    request: ForwardedRequest, response: DescribeClusterResponse, directory: Directory
) -> Steps[None]:
    if response.error_code != NONE or response.endpoint_type != BROKERS:
        return
    reachable = []
    for broker in response.brokers:
        address = directory.broker_address(broker.broker_id)
        if address is not None:
            broker.host, broker.port = address
            reachable.append(broker)
    for node in directory.nodes():
        reachable.append(DescribeClusterBroker(broker_id=node.node_id, host=node.host, port=node.port))
    response.brokers = reachable
    yield from ()


def _find_coordinator(
    request: ForwardedRequest, response: FindCoordinatorResponse, directory: Directory
) -> Steps[None]:
    """A refusal of the broker stays, such as GROUP_AUTHORIZATION_FAILED: the node has no ACLs to decide by."""
    found: list[tuple[str, FindCoordinatorResponse | Coordinator]]
    if request.version < KEYS_VERSION:
        found = [(request.keys[0], response)]
    else:
        found = [(coordinator.key, coordinator) for coordinator in response.coordinators]
    for start in range(0, len(found), ASKED_AT_ONCE):
        portion = [
            (key, find_coordinator_response)
            for key, find_coordinator_response in found[start : start + ASKED_AT_ONCE]
            if find_coordinator_response.error_code in (NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        ]
        owners: list[Owner] = [NOT_FOUND] * len(portion)
        if request.key_type == GROUP:
            owners = yield from awaited_all([partial(directory.owner_of, key) for key, _ in portion])
        for (_, coordinator), owner in zip(portion, owners, strict=True):
            _set_coordinator(coordinator, owner, directory, is_reached=request.is_reached)
        yield


def _set_coordinator(
    coordinator: FindCoordinatorResponse | Coordinator, owner: Owner, directory: Directory, *, is_reached: bool
) -> None:
    node = owner.value if isinstance(owner, Found) else None
    if isinstance(owner, NotFound) and coordinator.error_code == NONE and is_reached:
        address = directory.broker_address(coordinator.node_id)
        node = address and CoordinatorNode(coordinator.node_id, *address)
    if node is None:
        # Of the errors that say "later", this is the one that all clients expect of FindCoordinator.
        coordinator.error_code = ErrorCode.COORDINATOR_NOT_AVAILABLE
        coordinator.node_id, coordinator.host, coordinator.port = NO_NODE, "", NO_NODE
    else:
        coordinator.error_code = NONE
        coordinator.node_id, coordinator.host, coordinator.port = node
        coordinator.error_message = None


def _list_groups(request: ForwardedRequest, response: ListGroupsResponse, directory: Directory) -> Steps[None]:
    """Admin clients ask all brokers and nodes: what a node owns is listed by that node alone."""
    owned = yield from awaited(directory.owned_groups)
    if response.error_code != NONE:
        return
    if owned is None:
        response.groups = []
        response.error_code = ErrorCode.COORDINATOR_NOT_AVAILABLE
    else:
        response.groups = [group for group in response.groups if group.group_id not in owned]


def _endpoints(
    request: ForwardedRequest,
    response: Any,
    directory: Directory,
) -> Steps[None]:
    """Of new leaders (KIP-951). A client knows one without its endpoint from its next Metadata."""
    reachable = []
    for endpoint in response.node_endpoints:
        address = directory.broker_address(endpoint.node_id)
        if address is not None:
            endpoint.host, endpoint.port = address
            reachable.append(endpoint)
    response.node_endpoints = reachable
    yield from ()


Rewriting = Callable[[ForwardedRequest, Any, Directory], Steps[None]]

REWRITINGS: Final[dict[int, Rewriting]] = {
    ApiVersionsRequest.API_KEY: _api_versions,
    MetadataRequest.API_KEY: _metadata,
    DescribeClusterRequest.API_KEY: _describe_cluster,
    FindCoordinatorRequest.API_KEY: _find_coordinator,
    ListGroupsRequest.API_KEY: _list_groups,
    ProduceRequest.API_KEY: _endpoints,
    SHARE_FETCH: _endpoints,
    SHARE_ACKNOWLEDGE: _endpoints,
}
"""API key → what rewrites its responses."""
