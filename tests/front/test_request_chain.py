"""What a request passes before its handler, and in which order."""

from collections.abc import Mapping
from functools import partial
from types import GeneratorType
from typing import Any, Final, cast

import pytest
from msgspec.structs import replace

from _wire.apis import APIS
from _wire.errors import ErrorCode
from _wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from _wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from _wire.messages.fetch import FetchRequest, FetchTopic, ReplicaState
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.heartbeat import HeartbeatRequest
from _wire.messages.init_producer_id import InitProducerIdRequest
from _wire.messages.join_group import JoinGroupRequest
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from _wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from _wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, Topology
from _wire.messages.txn_offset_commit import TxnOffsetCommitRequest
from _wire.records import build_batch
from _wire.structs import Message
from coordinator.cluster.handlers.owners import OwnerHandlers
from coordinator.cluster.requirements import CLUSTER_REQUIREMENTS
from coordinator.front.authorization import Requirement, WhenDenied
from coordinator.front.authorization_step import AuthorizationStep
from coordinator.front.dispatch import DispatchTable, Handler, Route
from coordinator.front.long_messages import TooLong
from coordinator.front.partial_denials import Row
from coordinator.front.request_chain import RequestChain
from coordinator.front.request_context import RequestContext
from coordinator.front.requirements import GROUP_REQUIREMENTS
from coordinator.front.response_changes import ResponseChanges
from coordinator.front.throttling import Throttling
from coordinator.metadata.image import MetadataImage
from coordinator.node.partial_denials import rows_of
from coordinator.node.requirements import REQUIREMENTS
from coordinator.runtime.slices import at_once
from coordinator.security.acls.model import CLUSTER_NAME, AclOperation, ResourceType
from coordinator.security.principal import ANONYMOUS, Principal
from tests.front.authorizing import authorization
from tests.front.handlers.group_node import GroupNode
from tests.front.routes import noting
from tests.front.test_dispatch import CASES, ROUTES, error_codes, named, names_anything, recorded
from tests.front.test_throttling_timers import set_quota
from tests.hostile.in_process import InProcessServer

TOPIC_ID: Final = bytes(range(16))
RECORDED_AT_MOST: Final = 50

NEEDED: Final = {
    "Produce": "TRANSACTIONAL_ID WRITE; each TOPIC WRITE",
    "Fetch": "CLUSTER CLUSTER_ACTION; each TOPIC READ",
    "ListOffsets": "each TOPIC DESCRIBE",
    "Metadata": "each TOPIC DESCRIBE; found TOPIC DESCRIBE; each missing TOPIC CREATE or CLUSTER CREATE",
    "OffsetCommit": "GROUP READ; each TOPIC READ",
    "OffsetFetch": "each GROUP DESCRIBE; each TOPIC DESCRIBE; found TOPIC DESCRIBE",
    "FindCoordinator": "each GROUP DESCRIBE; each TRANSACTIONAL_ID DESCRIBE; each CLUSTER CLUSTER_ACTION",
    "JoinGroup": "GROUP READ",
    "Heartbeat": "GROUP READ",
    "LeaveGroup": "GROUP READ",
    "ConsumerGroupHeartbeat": "GROUP READ; TOPIC DESCRIBE",
    "ConsumerGroupDescribe": "each GROUP DESCRIBE; found TOPIC DESCRIBE",
    "SyncGroup": "GROUP READ",
    "DescribeGroups": "each GROUP DESCRIBE",
    "ListGroups": "found GROUP DESCRIBE or CLUSTER DESCRIBE",
    "ApiVersions": "",
    "CreateTopics": "each TOPIC CREATE or CLUSTER CREATE; found TOPIC DESCRIBE_CONFIGS",
    "DeleteTopics": "each TOPIC DELETE or CLUSTER DELETE; each TOPIC DESCRIBE or CLUSTER DELETE",
    "DeleteRecords": "each TOPIC DELETE",
    "InitProducerId": "TRANSACTIONAL_ID WRITE; CLUSTER IDEMPOTENT_WRITE or TOPIC WRITE",
    "OffsetForLeaderEpoch": "each TOPIC DESCRIBE or CLUSTER CLUSTER_ACTION",
    "AddPartitionsToTxn": "CLUSTER CLUSTER_ACTION; TRANSACTIONAL_ID WRITE; each TOPIC WRITE",
    "AddOffsetsToTxn": "TRANSACTIONAL_ID WRITE; GROUP READ",
    "EndTxn": "TRANSACTIONAL_ID WRITE",
    "WriteTxnMarkers": "CLUSTER ALTER or CLUSTER CLUSTER_ACTION",
    "TxnOffsetCommit": "TRANSACTIONAL_ID WRITE; GROUP READ; each TOPIC READ",
    "DescribeAcls": "CLUSTER DESCRIBE",
    "CreateAcls": "CLUSTER ALTER",
    "DeleteAcls": "CLUSTER ALTER",
    "DescribeConfigs": "each TOPIC DESCRIBE_CONFIGS; each GROUP DESCRIBE_CONFIGS; each CLUSTER DESCRIBE_CONFIGS",
    "AlterConfigs": "each TOPIC ALTER_CONFIGS; each GROUP ALTER_CONFIGS; each CLUSTER ALTER_CONFIGS",
    "IncrementalAlterConfigs": "each TOPIC ALTER_CONFIGS; each GROUP ALTER_CONFIGS; each CLUSTER ALTER_CONFIGS",
    "AlterReplicaLogDirs": "CLUSTER ALTER",
    "DescribeLogDirs": "CLUSTER DESCRIBE",
    "CreatePartitions": "each TOPIC ALTER",
    "DeleteGroups": "each GROUP DELETE",
    "ElectLeaders": "CLUSTER ALTER",
    "AlterPartitionReassignments": "CLUSTER ALTER",
    "ListPartitionReassignments": "CLUSTER DESCRIBE",
    "OffsetDelete": "GROUP DELETE; each TOPIC READ",
    "DescribeClientQuotas": "CLUSTER DESCRIBE_CONFIGS",
    "AlterClientQuotas": "CLUSTER ALTER_CONFIGS",
    "DescribeUserScramCredentials": "CLUSTER DESCRIBE",
    "AlterUserScramCredentials": "CLUSTER ALTER",
    "SaslHandshake": "",
    "CreateDelegationToken": "",
    "RenewDelegationToken": "",
    "ExpireDelegationToken": "",
    "DescribeDelegationToken": "",
    "SaslAuthenticate": "",
    "DescribeQuorum": "CLUSTER DESCRIBE",
    "UpdateFeatures": "CLUSTER ALTER",
    "DescribeCluster": "",
    "DescribeProducers": "each TOPIC READ",
    "DescribeTransactions": "each TRANSACTIONAL_ID DESCRIBE; found TOPIC DESCRIBE",
    "ListTransactions": "found TRANSACTIONAL_ID DESCRIBE",
    "ListConfigResources": "CLUSTER DESCRIBE_CONFIGS",
    "DescribeTopicPartitions": "each TOPIC DESCRIBE; found TOPIC DESCRIBE",
    "ShareGroupHeartbeat": "GROUP READ; TOPIC DESCRIBE",
    "StreamsGroupHeartbeat": "GROUP READ; TOPIC DESCRIBE",
    "StreamsGroupDescribe": "each GROUP DESCRIBE; found TOPIC DESCRIBE",
    # Also TOPIC READ, of the topics of the share session, which its requests do not name: their handler asks.
    "ShareFetch": "GROUP READ",
    "ShareAcknowledge": "GROUP READ",
    "ShareGroupDescribe": "each GROUP DESCRIBE; found TOPIC DESCRIBE",
    "InitializeShareGroupState": "CLUSTER CLUSTER_ACTION",
    "ReadShareGroupState": "CLUSTER CLUSTER_ACTION",
    "WriteShareGroupState": "CLUSTER CLUSTER_ACTION",
    "DeleteShareGroupState": "CLUSTER CLUSTER_ACTION",
    "ReadShareGroupStateSummary": "CLUSTER CLUSTER_ACTION",
    "DescribeShareGroupOffsets": "each GROUP DESCRIBE; each TOPIC DESCRIBE; found TOPIC DESCRIBE",
    "AlterShareGroupOffsets": "GROUP READ; each TOPIC READ",
    "DeleteShareGroupOffsets": "GROUP DELETE; each TOPIC READ",
}
"""What Apache Kafka 4.3.1 asks its authorizer, read in its bytecode, and seen denied for most rows."""


class Denier:
    """Denies some operations, and remembers all that it was asked."""

    def __init__(self, *denied: tuple[AclOperation, ResourceType], allows_any: bool = False) -> None:
        self._denied = set(denied)
        self._allows_any = allows_any
        self.asked: list[tuple[str, AclOperation, ResourceType, str]] = []

    def authorize(
        self, principal: Principal, client_host: str, operation: AclOperation, resource_type: ResourceType, name: str
    ) -> bool:
        assert principal is ANONYMOUS
        self.asked.append((client_host, operation, resource_type, name))
        return (operation, resource_type) not in self._denied

    def deny(self, operation: AclOperation, resource_type: ResourceType) -> None:
        self._denied.add((operation, resource_type))

    def authorize_by_resource_type(
        self, principal: Principal, client_host: str, operation: AclOperation, resource_type: ResourceType
    ) -> bool:
        return self._allows_any

    def decisions(self, principal: Principal, client_host: str) -> dict[tuple[int, str | None], bool]:
        return {}  # it wants to be asked

    def rule(self, *asked: Any) -> object:
        return "Denier"

    def on_change(self, changed: Any) -> None:
        """It never changes."""


class DenyAll(Denier):
    def authorize(self, *asked: Any) -> bool:
        super().authorize(*asked)
        return False


@pytest.fixture(scope="module")
def node() -> GroupNode:
    return GroupNode()


ROWS = rows_of(MetadataImage())
NEEDED_IN_FRONT = {
    "DescribeGroupOwners": "CLUSTER DESCRIBE",
    "AlterGroupOwners": "CLUSTER ALTER",
    "AlterWatchedGroups": "CLUSTER ALTER",
}


def in_words(requirement: Requirement) -> str:
    wording = {WhenDenied.REJECT_REQUEST: "", WhenDenied.REJECT_RESOURCES: "each ", WhenDenied.LEAVE_OUT: "found "}
    missing = "missing " if requirement.only_missing else ""
    needed = [(requirement.operation, requirement.resource_type), *requirement.alternatives]
    ways = [f"{resource_type.name} {operation.name}" for operation, resource_type in needed]
    return wording[requirement.when_denied] + missing + " or ".join(ways)


# ---- what routes declare


def test_every_served_api_needs_what_it_needs_on_kafka():
    declared = {route.api.name: "; ".join(map(in_words, route.requirements)) for route in ROUTES}
    assert declared == NEEDED


def test_what_nodes_in_front_of_a_cluster_serve_needs_rights_at_the_cluster():
    table, nothing = DispatchTable(CLUSTER_REQUIREMENTS), cast(Any, None)
    OwnerHandlers(nothing, nothing, nothing, nothing, nothing, nothing).add_to(table)
    declared = {route.api.name: "; ".join(map(in_words, route.requirements)) for route in table.routes.values()}
    assert declared == NEEDED_IN_FRONT


def test_an_api_that_does_not_say_what_it_needs_is_not_served():
    assert set(REQUIREMENTS) == {route.api.name for route in ROUTES}, (
        "nothing is declared for an API that is not served"
    )
    without = {name: needed for name, needed in GROUP_REQUIREMENTS.items() if name != "Heartbeat"}
    with pytest.raises(AssertionError, match="does not say what it needs"):
        DispatchTable(without).add("Heartbeat", lambda request, call: None, versions=(0, 4))


@pytest.mark.parametrize("name", sorted(ROWS))
def test_an_api_that_does_not_say_what_becomes_of_a_denied_part_is_not_served(node, name):
    kinds = {requirement.when_denied for requirement in REQUIREMENTS[name]} - {WhenDenied.REJECT_REQUEST}
    without = {other: row for other, row in ROWS.items() if other != name}
    if kinds:
        with pytest.raises(AssertionError, match="does not say what becomes of a part"):
            chain_of(node, handled_by, DenyAll(), without)


@pytest.mark.parametrize(("route", "version"), CASES, ids=named)
def test_the_names_of_recorded_requests_are_found_in_every_version(route, version):
    for request in [route.api.request(), *recorded(route.api.name).get(version, [])[:RECORDED_AT_MOST]]:
        for requirement in route.requirements:
            if requirement.names is None:
                assert requirement.when_denied is WhenDenied.LEAVE_OUT
                continue
            found = list(requirement.names(request, version))
            assert all(isinstance(each, str) or (isinstance(each, bytes) and len(each) == 16) for each in found)
            if requirement.when_denied is WhenDenied.REJECT_REQUEST:
                is_each = (route.api.name, requirement.resource_type) == ("ConsumerGroupHeartbeat", ResourceType.TOPIC)
                assert is_each or len(found) <= 1, "what rejects a whole request is asked once, however large it is"
            if requirement.resource_type is ResourceType.CLUSTER:
                assert set(found) <= {CLUSTER_NAME}


def topic_data(*, is_transactional: bool) -> TopicProduceData:
    records = build_batch([(None, b"v", [])], producer_id=1, producer_epoch=0, is_transactional=is_transactional)
    return TopicProduceData(name="a", partition_data=[PartitionProduceData(index=0, records=records)])


NAMED: Final = [
    (ProduceRequest(topic_data=[TopicProduceData(name="a"), TopicProduceData(name="b")]), 12, [[], ["a", "b"]]),
    (ProduceRequest(transactional_id="x", topic_data=[TopicProduceData(topic_id=TOPIC_ID)]), 13, [[], [TOPIC_ID]]),
    (ProduceRequest(transactional_id="x", topic_data=[topic_data(is_transactional=True)]), 12, [["x"], ["a"]]),
    (FetchRequest(topics=[FetchTopic(topic="a")]), 12, [[], ["a"]]),
    (FetchRequest(replica_id=1, topics=[FetchTopic(topic="a")]), 12, [[CLUSTER_NAME], []]),
    (FetchRequest(topics=[FetchTopic(topic_id=TOPIC_ID)]), 15, [[], [TOPIC_ID]]),
    (FetchRequest(replica_state=ReplicaState(replica_id=0)), 15, [[CLUSTER_NAME], []]),
    (MetadataRequest(topics=None), 9, [[], None, []]),
    (MetadataRequest(topics=[MetadataRequestTopic(name="a")]), 9, [["a"], None, ["a"]]),
    (
        MetadataRequest(topics=[MetadataRequestTopic(name=None, topic_id=TOPIC_ID)], allow_auto_topic_creation=False),
        12,
        [[TOPIC_ID], None, []],
    ),
    (OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic(name="a")]), 7, [["g"], ["a"], None]),
    (OffsetFetchRequest(group_id="g", topics=None), 7, [["g"], [], None]),
    (
        OffsetFetchRequest(
            groups=[
                OffsetFetchRequestGroup(group_id="g", topics=[OffsetFetchRequestTopics(name="a")]),
                OffsetFetchRequestGroup(group_id="h", topics=None),
            ]
        ),
        8,
        [["g", "h"], ["a"], None],
    ),
    (FindCoordinatorRequest(key="g"), 3, [["g"], [], []]),
    (FindCoordinatorRequest(coordinator_keys=["x", "y"], key_type=1), 4, [[], ["x", "y"], []]),
    (FindCoordinatorRequest(coordinator_keys=["g:t:0"], key_type=2), 6, [[], [], [CLUSTER_NAME]]),
    (InitProducerIdRequest(transactional_id="x"), 4, [["x"], []]),
    (InitProducerIdRequest(transactional_id=None), 4, [[], [CLUSTER_NAME]]),
    (AddPartitionsToTxnRequest(v3_and_below_transactional_id="x"), 3, [[], ["x"], []]),
    (AddPartitionsToTxnRequest(), 4, [[CLUSTER_NAME], [], []]),
    (
        DescribeConfigsRequest(
            resources=[
                DescribeConfigsResource(resource_type=kind, resource_name=name)
                for kind, name in ((2, "t"), (4, "1"), (8, "1"), (16, "m"), (32, "g"))
            ]
        ),
        4,
        [["t"], ["g"], [CLUSTER_NAME]],
    ),
]


@pytest.mark.parametrize(("request_", "version", "expected"), NAMED)
def test_names_are_found_where_the_version_has_them(request_, version, expected):
    found = [
        None if each.names is None else list(each.names(request_, version))
        for each in REQUIREMENTS[APIS[request_.API_KEY].name]
    ]
    assert found == expected


# ---- authorize


def call_of(node: GroupNode, route: Route, request: Any, version: int) -> RequestContext:
    connection = node.connect().connection
    host = connection.client_host
    return RequestContext(None, version, "client", host, node.server.environment, 0, 0, connection, route, request, 1)


def keep(handled: list[Any], request: Any, call: RequestContext) -> None:
    handled.append(request)


def handled_by(request: Any, call: RequestContext) -> str:
    return "handled"


def chain_of(node: GroupNode, handler: Handler, authorizer: Any, rows: Mapping[str, Row] | None = None) -> RequestChain:
    table = DispatchTable(REQUIREMENTS)
    table.routes = {route.api.key: replace(route, handler=handler) for route in ROUTES}
    return RequestChain(
        table,
        node.server.sessions,
        node.throttling,
        authorization(authorizer, node.server.sessions, node.image, rows=rows),
    )


def answered(node: GroupNode, handler: Handler, request: Any, call: RequestContext) -> Any:
    """The response as it is sent, with all steps of it taken at once."""
    response = handler(request, call)
    if type(response) is GeneratorType:
        response = at_once(response)
    if isinstance(response, Message) and call.route.downgrade is not None:
        try:
            call.route.downgrade(response, call.api_version)
        except TooLong:  # for the time that it may take at once, on a machine that is busy
            assert isinstance(call.route.downgrade, ResponseChanges)
            at_once(call.route.downgrade.finish())
    return response


def denied_names(route: Route, request: Any, version: int, kind: WhenDenied) -> list[list[str]]:
    """The names of each requirement of a kind; ids of topics that do not exist are no secret."""
    return [
        [name for name in requirement.names(request, version) if isinstance(name, str)]
        for requirement in route.requirements
        if requirement.when_denied is kind and requirement.names is not None
    ]


@pytest.mark.parametrize(("route", "version"), CASES, ids=named)
def test_what_is_denied_is_answered_with_its_error_in_every_version_and_not_handled(node, route, version):
    handled: list[Any] = []

    def handler(request: Any, call: RequestContext) -> Any:
        handled.append(request)
        return route.api.response()

    authorizer = DenyAll()
    chain = chain_of(node, handler, authorizer)
    composed = chain.routes[route.api.key]
    for sent in [route.api.request(), *recorded(route.api.name).get(version, [])[:RECORDED_AT_MOST]]:
        request = deepcopy_of(sent, version)
        if getattr(request, "acks", None) == 0:
            continue  # it has no response
        handled.clear()
        authorizer.asked.clear()
        whole = denied_names(route, request, version, WhenDenied.REJECT_REQUEST)
        parts = denied_names(route, request, version, WhenDenied.REJECT_RESOURCES)
        call = call_of(node, composed, request, version)
        response = answered(node, composed.handler, request, call)
        if handled:
            assert not any(whole)
            left = denied_names(route, handled[0], version, WhenDenied.REJECT_RESOURCES)
            assert not any(left), "what is denied is not handled"
        if not any((*whole, *parts)):
            assert handled == [request] or route.api.name == "DescribeTopicPartitions", "it may ask for all"
            continue
        denied = {requirement.resource_type.denied for requirement in route.requirements}
        if isinstance(response, Message):
            codes = set(error_codes(route.api.response.decode(response.encode(version), version)))
            assert codes & denied or not names_anything(request)
            assert codes <= denied | {ErrorCode.NONE, *NOT_TRIED}
        if any(whole):
            needed = next(each for each, found in zip(of_whole(route), whole, strict=True) if found)
            assert not handled
            assert codes - {ErrorCode.NONE} <= {needed.resource_type.denied}, "the first requirement decides"


NOT_TRIED: Final = (ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
"""What AddPartitionsToTxn answers for the other partitions."""


def of_whole(route: Route) -> list[Requirement]:
    return [requirement for requirement in route.requirements if requirement.when_denied is WhenDenied.REJECT_REQUEST]


def deepcopy_of(request: Any, version: int) -> Any:
    """The same request once more: a step may change it, and recorded ones are shared."""
    return type(request).decode(request.encode(version), version)


def test_an_allowed_request_is_handled_after_all_of_its_requirements_were_asked(node):
    authorizer = Denier()
    chain = chain_of(node, handled_by, authorizer)
    route = chain.routes[APIS.named("TxnOffsetCommit").key]
    request = TxnOffsetCommitRequest(transactional_id="x", group_id="g")
    assert route.handler(request, call_of(node, route, request, 3)) == "handled"
    assert authorizer.asked == [
        ("/10.0.0.1", AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, "x"),
        ("/10.0.0.1", AclOperation.READ, ResourceType.GROUP, "g"),
    ]


def test_an_operation_on_the_cluster_may_take_the_place_of_another(node):
    alter, action = ((each, ResourceType.CLUSTER) for each in (AclOperation.ALTER, AclOperation.CLUSTER_ACTION))
    for denied, is_handled in (((alter,), True), ((action,), True), ((alter, action), False)):
        handled: list[Any] = []
        chain = chain_of(node, partial(keep, handled), Denier(*denied))
        route = chain.routes[APIS.named("WriteTxnMarkers").key]
        request = route.api.request()
        route.handler(request, call_of(node, route, request, 1))
        assert bool(handled) is is_handled


@pytest.mark.parametrize("allows_any", [False, True])
def test_who_may_write_to_any_topic_gets_a_producer_id(node, allows_any):
    authorizer = Denier((AclOperation.IDEMPOTENT_WRITE, ResourceType.CLUSTER), allows_any=allows_any)
    chain = chain_of(node, handled_by, authorizer)
    route = chain.routes[APIS.named("InitProducerId").key]
    request = InitProducerIdRequest(transactional_id=None)
    response = route.handler(request, call_of(node, route, request, 4))
    assert (response == "handled") is allows_any
    assert allows_any or response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_a_denied_client_is_answered_over_its_connection():
    node = GroupNode(Denier((AclOperation.READ, ResourceType.GROUP)))
    client = node.connect()
    response = client.request(JoinGroupRequest(group_id="g", session_timeout_ms=10_000), 3)
    assert response.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert not node.coordinator.shard_of("g").machine.groups
    assert client.request(HeartbeatRequest(group_id="g"), 4).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


def test_heartbeats_are_answered_without_the_authorizer_until_an_acl_changes():
    authorizer = Denier()
    node = GroupNode(authorizer)
    member_id = node.make_stable("g")
    client = node.connect()
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id=member_id)
    question = ("/10.0.0.1", AclOperation.READ, ResourceType.GROUP, "g")

    def asked(by: Any = client) -> list[Any]:
        authorizer.asked.clear()
        assert by.request(beat, 4).error_code == ErrorCode.NONE
        return authorizer.asked

    assert asked() == [question], "of this connection nothing is known yet"
    assert asked() == []
    assert asked(node.connect()) == [question], "who uses another connection may be somebody else"
    assert asked() == [question]
    assert asked() == []
    node.server.sessions.revoke_authorizations()
    assert asked() == [question]
    authorizer.deny(AclOperation.READ, ResourceType.GROUP)
    assert asked() == [], "who changes ACLs takes the authorizations back"
    node.server.sessions.revoke_authorizations()
    assert client.request(beat, 4).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert client.request(beat, 4).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


def test_heartbeats_of_a_consumer_are_answered_without_the_authorizer_to_the_connection_it_has_allowed():
    authorizer = Denier()
    node = GroupNode(authorizer)
    client = node.connect()
    join = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m" * 22,
        rebalance_timeout_ms=30_000,
        subscribed_topic_names=[],
        topic_partitions=[],
    )
    epoch = client.request(join, 1).member_epoch
    beat = ConsumerGroupHeartbeatRequest(group_id="g", member_id="m" * 22, member_epoch=epoch)
    question = ("/10.0.0.1", AclOperation.READ, ResourceType.GROUP, "g")

    def asked(by: Any) -> list[Any]:
        authorizer.asked.clear()
        assert by.request(beat, 1).error_code == ErrorCode.NONE
        return authorizer.asked

    assert [asked(client) for _ in range(2)] == [[], []], "it was allowed to join"
    other = node.connect()
    assert asked(other) == [question], "who uses another connection may be somebody else"
    assert asked(client) == [question]
    authorizer.deny(AclOperation.READ, ResourceType.GROUP)
    assert other.request(beat, 1).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    node.server.sessions.revoke_authorizations()
    assert client.request(beat, 1).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


def _streams_member(client: Any) -> tuple[Any, int]:
    who: dict[str, Any] = {"group_id": "g", "member_id": "m" * 22}
    no_tasks: dict[str, Any] = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
    runs = Topology(subtopologies=[])
    join = StreamsGroupHeartbeatRequest(**who, rebalance_timeout_ms=30_000, topology=runs, process_id="p", **no_tasks)
    joined = client.request(join, 0)
    return StreamsGroupHeartbeatRequest(**who, member_epoch=joined.member_epoch), 0


def test_heartbeats_of_a_streams_group_are_answered_without_the_authorizer_to_the_connection_it_has_allowed():
    authorizer = Denier()
    node = GroupNode(authorizer)
    client = node.connect()
    beat, version = _streams_member(client)
    for _ in range(2):  # to hear what the member has
        assert client.request(beat, version).error_code == ErrorCode.NONE
    authorizer.asked.clear()
    assert client.request(beat, version).error_code == ErrorCode.NONE
    assert authorizer.asked == []
    other = node.connect()
    assert other.request(beat, version).error_code == ErrorCode.NONE
    assert authorizer.asked == [("/10.0.0.1", AclOperation.READ, ResourceType.GROUP, "g")]
    authorizer.deny(AclOperation.READ, ResourceType.GROUP)
    node.server.sessions.revoke_authorizations()
    assert client.request(beat, version).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


# ---- what is off, and the order of what is on


def test_without_a_quota_an_authorizer_or_a_fault_the_handlers_stand_alone():
    node = GroupNode()
    assert node.chain.routes
    assert all(node.chain.routes[key] is route for key, route in node.table.routes.items())
    assert not node.server.sessions.leaves_heartbeats


def test_a_quota_puts_throttling_into_the_chain_and_its_end_takes_it_out():
    node = GroupNode()
    client = node.connect()
    for key, value, is_measured, leaves_heartbeats in (
        ("producer_byte_rate", "1.0", True, False),
        ("request_percentage", "100.0", True, True),
        ("request_percentage", None, True, False),
        ("producer_byte_rate", None, False, False),
    ):
        set_quota(node, value, key)
        for api_key, route in node.table.routes.items():
            assert (node.chain.routes[api_key].handler is not route.handler) is is_measured
        assert node.server.sessions.leaves_heartbeats is leaves_heartbeats
        answered = client.request(HeartbeatRequest(group_id="nobody", member_id="x"), 4)
        assert answered.error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("is_taken_back", [False, True])
def test_a_right_that_is_taken_away_while_a_heartbeat_is_authorized_in_steps_is_asked_for_again(is_taken_back):
    node = GroupNode()
    sessions = node.server.sessions
    sessions.set_group("g", 1, True)
    sessions.start("g", "m", None, 60_000, 60_000, True, node.server.now_ms)
    chain = chain_of(node, handled_by, Denier())
    (route,) = (each for each in chain.routes.values() if each.api.name == "ConsumerGroupHeartbeat")
    names = [f"t{number}" for number in range(20_000)]
    beat = ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=1, subscribed_topic_names=names)
    call = call_of(node, route, beat, 0)
    steps = route.handler(beat, call)
    assert type(steps) is GeneratorType, "it takes longer than it may in one step"
    if is_taken_back:
        sessions.revoke_authorizations()
    assert at_once(steps) == "handled"
    is_answered = sessions.answer_heartbeat("g", "m", None, 1, node.server.now_ms, call.connection.serial)
    assert is_answered is not is_taken_back


class NotedThrottling(Throttling):
    """Notes each request that passes its step."""

    def __init__(self, node: GroupNode, passed: list[str]) -> None:
        self._passed = passed
        super().__init__(
            node.server.environment.config,
            lambda: node.image.quotas,
            node.scheduler,
            lambda: node.server.now_ms,
            node.server.throttled,
        )

    def step(self, route: Route, proceed: Handler) -> Handler:
        return noting(self._passed, "throttle", proceed)


def test_authorize_comes_first_then_throttle_then_what_tests_add_then_the_handler(node):
    passed: list[str] = []

    class NotedDenier(Denier):
        def authorize(self, *asked: Any) -> bool:
            passed.append("authorize")
            return super().authorize(*asked)

    def request(*denied: tuple[AclOperation, ResourceType]) -> list[str]:
        passed.clear()
        table = DispatchTable(REQUIREMENTS)
        (route,) = (each for each in ROUTES if each.api.name == "Heartbeat")
        table.routes[route.api.key] = replace(route, handler=noting(passed, "handle", lambda request, call: None))
        step = authorization(NotedDenier(*denied), node.server.sessions)
        chain = RequestChain(table, node.server.sessions, NotedThrottling(node, passed), step)
        chain.add(lambda route, proceed: noting(passed, "first", proceed))
        chain.add(lambda route, proceed: noting(passed, "second", proceed))
        composed = chain.routes[route.api.key]
        sent = HeartbeatRequest(group_id="g")
        composed.handler(sent, call_of(node, composed, sent, 4))
        return passed

    assert request() == ["authorize", "throttle", "first", "second", "handle"]
    assert request((AclOperation.READ, ResourceType.GROUP)) == ["authorize"]


def test_a_request_that_is_denied_counts_for_the_quota_of_its_client():
    node = GroupNode(DenyAll())
    set_quota(node, "0.00001")
    response = node.connect().request(HeartbeatRequest(group_id="g"), 4)
    assert response.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert response.throttle_time_ms > 0


def test_nobody_is_asked_where_everything_is_allowed():
    with InProcessServer({}) as server:
        steps = server.node.front.path.chain._steps
        assert steps
        assert not any(isinstance(step, AuthorizationStep) for step in steps)
