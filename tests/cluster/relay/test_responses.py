"""Responses are rewritten in all versions: the addresses of brokers, and nothing else."""

from typing import Any

import pytest

from _wire.apis import APIS
from _wire.errors import ErrorCode, MalformedMessage
from _wire.headers import encode_response, response_header_version
from _wire.messages import share_acknowledge, share_fetch
from _wire.messages.api_versions import ApiVersion, ApiVersionsResponse, FinalizedFeatureKey
from _wire.messages.describe_cluster import DescribeClusterBroker, DescribeClusterResponse
from _wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from _wire.messages.list_groups import ListedGroup, ListGroupsResponse
from _wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from _wire.messages.produce import NodeEndpoint, ProduceResponse
from _wire.structs import Message
from coordinator.cluster.relay import responses
from coordinator.cluster.relay.directory import Address
from coordinator.cluster.relay.request_heads import InvalidRequest
from coordinator.cluster.relay.responses import (
    GROUP,
    LONG_FRAME_BYTES,
    PARTITIONS_AT_ONCE,
    ForwardedRequest,
    forwarded_request,
    is_rewritten,
    rewrite_response,
    unsupported_api_versions,
)
from coordinator.cluster.relay.rules import REMOVED, REWRITTEN, RULES
from coordinator.runtime.slices import at_once
from tests.cluster.relay.scripted import NODE, OWNED, FixedDirectory, decoded, encoded
from tests.wire.api_vectors import failing_in, vectors_of

CORRELATION_ID = 77
KNOWN, NEW = 1, 2
"""A broker that has an address, and one that has none yet."""
TRANSACTION, SHARE = 1, 2


def versions_of(name: str, lowest: int = 0) -> Any:
    api = APIS.named(name)
    return pytest.mark.parametrize("version", range(max(api.min_version, lowest), api.max_version + 1))


def rewritten(response: Message, version: int, directory: Any = None, **request: Any) -> Any:
    """A response after it was rewritten, encoded before and decoded behind."""
    forwarded = ForwardedRequest(response.API_KEY, version, **request)
    directory = directory or FixedDirectory({KNOWN: Address("broker", 9_092)})
    frame = encode_response(CORRELATION_ID, response, version)
    result = at_once(rewrite_response(forwarded, frame[4:], directory))
    assert int.from_bytes(result[:4], "big") == len(result) - 4
    return decoded(result[4:], type(response), version, CORRELATION_ID)


def metadata(partitions: int = 1) -> MetadataResponse:
    brokers = [
        MetadataResponseBroker(node_id=KNOWN, host="broker-1", port=9_092, rack="r"),
        MetadataResponseBroker(node_id=NEW, host="broker-2", port=9_092),
    ]
    leaders = [KNOWN, NEW, -1]
    topic = MetadataResponseTopic(
        name="topic",
        partitions=[
            MetadataResponsePartition(
                partition_index=index, leader_id=leader, replica_nodes=[KNOWN, NEW], leader_epoch=3
            )
            for index, leader in enumerate(leaders * partitions)
        ],
    )
    return MetadataResponse(brokers=brokers, topics=[topic], controller_id=NEW, cluster_id="cluster")


@versions_of("Metadata")
def test_metadata_names_the_addresses_of_the_relay_and_the_nodes(version):
    response = rewritten(metadata(), version)
    assert [(broker.node_id, broker.host, broker.port) for broker in response.brokers] == [
        (1, "relay.example", 20_001),
        NODE,
    ]
    assert [broker.rack for broker in response.brokers] == (["r", None] if version >= 1 else [None, None])
    if version >= 1:
        assert response.controller_id == NEW
    if version >= 2:
        assert response.cluster_id == "cluster"


@versions_of("Metadata")
def test_a_partition_whose_leader_has_no_address_yet_has_no_leader(version):
    partitions = rewritten(metadata(), version).topics[0].partitions
    assert [(partition.leader_id, partition.error_code) for partition in partitions] == [
        (KNOWN, ErrorCode.NONE),
        (-1, ErrorCode.LEADER_NOT_AVAILABLE),
        (-1, ErrorCode.NONE),
    ]
    assert partitions[1].replica_nodes == [KNOWN, NEW]


def test_a_failed_metadata_response_stays():
    failed = MetadataResponse(error_code=ErrorCode.REBOOTSTRAP_REQUIRED)
    assert rewritten(failed, 13) == failed


def test_long_metadata_is_rewritten_in_steps():
    response = metadata(partitions=PARTITIONS_AT_ONCE)
    frame = encode_response(CORRELATION_ID, response, 12)
    assert len(frame) > LONG_FRAME_BYTES
    directory = FixedDirectory({KNOWN: Address("broker", 9_092)})
    steps = rewrite_response(ForwardedRequest(MetadataRequest.API_KEY, 12), frame[4:], directory)
    count = 0
    try:
        while True:
            next(steps)
            count += 1
    except StopIteration as end:
        result = end.value
    assert count > 10
    partitions = decoded(result[4:], MetadataResponse, 12).topics[0].partitions
    assert {partition.leader_id for partition in partitions} == {KNOWN, -1}


@versions_of("DescribeCluster")
def test_describe_cluster_names_the_addresses_of_the_relay_and_the_nodes(version):
    brokers = [DescribeClusterBroker(broker_id=broker_id, host="b", port=1) for broker_id in (KNOWN, NEW)]
    response = rewritten(DescribeClusterResponse(brokers=brokers, controller_id=NEW, cluster_id="c"), version)
    assert [(broker.broker_id, broker.host, broker.port) for broker in response.brokers] == [
        (1, "relay.example", 20_001),
        NODE,
    ]
    assert (response.controller_id, response.cluster_id) == (NEW, "c")


@pytest.mark.parametrize("change", [{"endpoint_type": 2}, {"error_code": ErrorCode.CLUSTER_AUTHORIZATION_FAILED}])
def test_other_descriptions_of_a_cluster_stay(change):
    brokers = [DescribeClusterBroker(broker_id=NEW, host="controller", port=9_093)]
    described = DescribeClusterResponse(brokers=brokers, **change)
    assert rewritten(described, 2) == described


def found(version: int, *keys: str, node_id: int = KNOWN, error: int = 0, message: str | None = None) -> Message:
    """A broker's response to FindCoordinator."""
    fields: dict[str, Any] = {"node_id": node_id, "host": "b", "port": 1, "error_code": error, "error_message": message}
    if version < 4:
        return FindCoordinatorResponse(**fields)
    return FindCoordinatorResponse(coordinators=[Coordinator(key=key, **fields) for key in keys])


def coordinators(response: FindCoordinatorResponse, version: int) -> list[tuple[int, str, int, int]]:
    found = [response] if version < 4 else response.coordinators
    return [(each.node_id, each.host, each.port, each.error_code) for each in found]


RELAYED = (KNOWN, "relay.example", 20_001, 0)
NOT_AVAILABLE = (-1, "", -1, ErrorCode.COORDINATOR_NOT_AVAILABLE)


@versions_of("FindCoordinator")
def test_groups_of_nodes_are_found_there_and_others_at_their_broker(version):
    for key, expected in ((OWNED, (*NODE, 0)), ("other", RELAYED)):
        response = rewritten(found(version, key), version, keys=(key,))
        assert coordinators(response, version) == [expected]


@versions_of("FindCoordinator", 1)
@pytest.mark.parametrize("key_type", [TRANSACTION, SHARE])
def test_only_groups_have_owners(version, key_type):
    response = rewritten(found(version, OWNED), version, keys=(OWNED,), key_type=key_type)
    assert coordinators(response, version) == [RELAYED]


@versions_of("FindCoordinator")
def test_a_broker_without_an_address_is_not_available(version):
    response = rewritten(found(version, "other", node_id=NEW), version, keys=("other",))
    assert coordinators(response, version) == [NOT_AVAILABLE]


@versions_of("FindCoordinator")
def test_a_broker_that_the_client_does_not_reach_is_not_available_and_a_node_is(version):
    for key, expected in ((OWNED, (*NODE, 0)), ("other", NOT_AVAILABLE)):
        response = rewritten(found(version, key), version, keys=(key,), is_reached=False)
        assert coordinators(response, version) == [expected]


@versions_of("FindCoordinator")
@pytest.mark.parametrize("error", [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE])
def test_an_unknown_owner_is_not_available(version, error):
    directory = FixedDirectory({KNOWN: Address("broker", 9_092)}, owners={"moving": error})
    response = rewritten(found(version, "moving"), version, directory, keys=("moving",))
    assert coordinators(response, version) == [NOT_AVAILABLE]


@versions_of("FindCoordinator")
def test_a_node_coordinates_also_while_the_cluster_cannot(version):
    failed = found(version, OWNED, node_id=-1, error=ErrorCode.COORDINATOR_NOT_AVAILABLE, message="later")
    response = rewritten(failed, version, keys=(OWNED,))
    assert coordinators(response, version) == [(*NODE, 0)]
    failed = found(version, "other", node_id=-1, error=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert coordinators(rewritten(failed, version, keys=("other",)), version) == [NOT_AVAILABLE]


@versions_of("FindCoordinator")
@pytest.mark.parametrize("error", [ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.INVALID_GROUP_ID])
def test_a_refusal_of_the_broker_stays(version, error):
    refused = found(version, OWNED, node_id=-1, error=error)
    assert coordinators(rewritten(refused, version, keys=(OWNED,)), version) == [(-1, "b", 1, error)]


@versions_of("FindCoordinator", 4)
def test_many_keys_are_found_one_by_one(version):
    keys = [OWNED if number % 3 else f"group-{number}" for number in range(1_200)]
    response = rewritten(found(version, *keys), version, keys=tuple(keys))
    assert coordinators(response, version) == [(*NODE, 0) if key == OWNED else RELAYED for key in keys]
    assert [coordinator.key for coordinator in response.coordinators] == keys


@versions_of("FindCoordinator")
def test_a_request_for_coordinators_is_described_by_its_keys(version):
    message = FindCoordinatorRequest(key="key", key_type=1, coordinator_keys=["a", "b"])
    keys = ("key",) if version < 4 else ("a", "b")
    request = forwarded_request(encoded(5, message, version)[4:])
    assert request == ForwardedRequest(10, version, keys, 1 if version else GROUP)


@versions_of("ListGroups")
def test_groups_of_nodes_are_not_listed_by_brokers(version):
    listed = ListGroupsResponse(groups=[ListedGroup(group_id=group_id) for group_id in ("a", OWNED, "b")])
    assert [group.group_id for group in rewritten(listed, version).groups] == ["a", "b"]


@versions_of("ListGroups")
def test_while_it_is_not_known_who_owns_groups_none_are_listed(version):
    directory = FixedDirectory(listed=None)
    response = rewritten(ListGroupsResponse(groups=[ListedGroup(group_id="a")]), version, directory)
    assert (response.error_code, response.groups) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, [])
    failed = ListGroupsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    assert rewritten(failed, version, directory) == failed


@versions_of("ShareFetch")
def test_endpoints_of_share_sessions_are_those_of_the_relay(version):
    """The records and all else stay as they are; without endpoints nothing is decoded."""
    for name in ("ShareFetch", "ShareAcknowledge"):
        api: Any = APIS.named(name)
        endpoints: list[Any] = [
            share_fetch.NodeEndpoint(node_id=KNOWN, host="b", port=1, rack=rack) for rack in ("r", "", None)
        ]
        if name == "ShareAcknowledge":
            endpoints = [
                share_acknowledge.NodeEndpoint(node_id=each.node_id, host="b", port=1, rack=each.rack)
                for each in endpoints
            ]
        found = rewritten(api.response(node_endpoints=endpoints), version).node_endpoints
        assert [(each.node_id, each.host, each.port, each.rack) for each in found] == [
            (KNOWN, "relay.example", 20_001, rack) for rack in ("r", "", None)
        ]
    partition = share_fetch.PartitionData(partition_index=3, records=b"records")
    topic = share_fetch.ShareFetchableTopicResponse(topic_id=b"t" * 16, partitions=[partition])
    response = share_fetch.ShareFetchResponse(responses=[topic])
    frame = encode_response(CORRELATION_ID, response, version)
    assert at_once(rewrite_response(ForwardedRequest(78, version), frame[4:], FixedDirectory())) == frame


@versions_of("Produce", 10)
def test_endpoints_of_produce_are_those_of_the_relay(version):
    endpoints = [NodeEndpoint(node_id=KNOWN, host="b", port=1, rack="r"), NodeEndpoint(node_id=NEW, host="b", port=2)]
    (endpoint,) = rewritten(ProduceResponse(node_endpoints=endpoints), version).node_endpoints
    assert (endpoint.node_id, endpoint.host, endpoint.port, endpoint.rack) == (KNOWN, "relay.example", 20_001, "r")


def test_produce_is_rewritten_from_the_version_on_that_has_endpoints():
    assert [is_rewritten(ForwardedRequest(0, version)) for version in (0, 9, 10, 13)] == [False, False, True, True]
    assert not is_rewritten(ForwardedRequest(999, 0))


@versions_of("ApiVersions")
def test_api_versions_offers_what_the_relay_serves(version):
    offered = [
        ApiVersion(api_key=key, min_version=0, max_version=99)
        for key in (0, 1, 3, 12, 17, 18, 68, 69, 76, 78, 88, 999, *sorted(REMOVED))
    ]
    features = [FinalizedFeatureKey(name="group.version", max_version_level=1, min_version_level=1)]
    response = rewritten(
        ApiVersionsResponse(api_keys=offered, finalized_features=features, finalized_features_epoch=4), version
    )
    assert [(api_key.api_key, api_key.min_version, api_key.max_version) for api_key in response.api_keys] == [
        (0, 0, 13),
        (1, 0, 18),
        (3, 0, 13),
        (12, 0, 99),
        (17, 1, 1),
        (18, 0, 4),
        (68, 0, 1),
        (69, 0, 1),
        (76, 1, 1),
        (78, 1, 2),
        (88, 0, 0),
        (999, 0, 99),
    ]
    if version >= 3:
        assert (response.finalized_features, response.finalized_features_epoch) == (features, 4)


def test_an_api_without_a_version_that_both_know_is_taken_away():
    """A broker is asked in Fetch version 15, whatever the client's is."""
    offered = [ApiVersion(api_key=1, min_version=16, max_version=18), ApiVersion(api_key=76, max_version=0)]
    assert rewritten(ApiVersionsResponse(api_keys=offered), 0).api_keys == []


@versions_of("ApiVersions", 1)
def test_a_broker_that_does_not_know_the_version_answers_in_version_0(version):
    own = [ApiVersion(api_key=18, min_version=0, max_version=2), ApiVersion(api_key=80, max_version=1)]
    answer = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=own)
    frame = encode_response(CORRELATION_ID, answer, 0)
    result = at_once(rewrite_response(ForwardedRequest(18, version), frame[4:], FixedDirectory()))
    response = decoded(result[4:], ApiVersionsResponse, 0, CORRELATION_ID)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert response.api_keys == own[:1]


def test_a_client_that_asks_in_a_newer_version_is_told_the_newest_one_that_is_known():
    answer = decoded(unsupported_api_versions(CORRELATION_ID)[4:], ApiVersionsResponse, 0, CORRELATION_ID)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert answer.api_keys == [ApiVersion(api_key=18, min_version=0, max_version=4)]


def test_the_number_of_keys_is_bounded(monkeypatch):
    monkeypatch.setattr(responses, "ELEMENTS_MAX", 10)
    message = FindCoordinatorRequest(coordinator_keys=["key"] * 11)
    with pytest.raises(MalformedMessage):
        forwarded_request(encoded(5, message, 4)[4:])


def test_requests_that_are_not_served_are_not_described():
    with pytest.raises(InvalidRequest, match="Fetch version 19 is not served"):
        forwarded_request(b"\x00\x01\x00\x13\x00\x00\x00\x01\xff\xff\x00")
    assert forwarded_request(b"\x00\x0c\x00\x63\x00\x00\x00\x01\xff\xff\x00") == ForwardedRequest(12, 99)


@pytest.mark.parametrize("name", [*REWRITTEN, "Produce"])
def test_what_kafka_sends_stays_but_for_addresses(name):
    """Every broker has an address, no group is owned, no node is up: then hosts and ports alone change."""
    api = APIS.named(name)
    for vector in (each for each in vectors_of(name) if each["kind"] == "response"):
        version = vector["version"]
        with failing_in(vector):
            if version < RULES[api.key].rewritten_from:
                continue
            directory = Everywhere(owners={}, listed=frozenset(), up=())
            header = bytes.fromhex(vector["header_hex"])
            request = ForwardedRequest(api.key, version, ("key",))
            frame = header + bytes.fromhex(vector["body_hex"])
            if name == "ApiVersions" and version and frame[4:6] == ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big"):
                continue
            before = decoded(frame, api.response, version)
            after = decoded(at_once(rewrite_response(request, frame, directory))[4:], api.response, version)
            assert without_addresses(after) == without_addresses(before)
            assert response_header_version(api.key, version) == vector["header_version"]


class Everywhere(FixedDirectory):
    def broker_address(self, broker_id: int) -> Address | None:
        return Address("relay.example", 1)


def without_addresses(response: Any) -> Any:
    """The response with the same host and port everywhere, and what may be offered and told of coordinators."""
    for name in ("brokers", "node_endpoints", "coordinators"):
        for each in getattr(response, name, ()):
            each.host, each.port = "", 0
            if name == "coordinators":
                without_coordinator(each)
    if isinstance(response, FindCoordinatorResponse):
        response.host, response.port = "", 0
        without_coordinator(response)
    if isinstance(response, ApiVersionsResponse):
        response.api_keys = []
    return response


def without_coordinator(found: Any) -> None:
    if found.error_code in (0, ErrorCode.COORDINATOR_NOT_AVAILABLE):
        found.node_id, found.error_message = 0, None


@pytest.mark.parametrize("name", REWRITTEN)
def test_a_response_that_ends_early_is_malformed(name):
    api = APIS.named(name)
    for version in range(api.min_version, api.max_version + 1):
        frame = encode_response(CORRELATION_ID, api.response(), version)[4:]
        keys = ("key",)
        for end in range(4, len(frame)):
            with pytest.raises(MalformedMessage):
                at_once(rewrite_response(ForwardedRequest(api.key, version, keys), frame[:end], FixedDirectory()))
