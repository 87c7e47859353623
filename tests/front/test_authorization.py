"""A whole server with users and ACLs: what they may do, and when a change of ACLs is in force."""

from collections.abc import Iterator
from itertools import count
from typing import Any, Final

import pytest

from _wire.errors import NONE, ErrorCode
from _wire.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest, ScramCredentialUpsertion
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from _wire.messages.create_acls import AclCreation, CreateAclsRequest
from _wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from _wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from _wire.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest
from _wire.messages.list_groups import ListGroupsRequest
from _wire.messages.metadata import MetadataRequest
from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from _wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from _wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from _wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, Subtopology, Topology
from _wire.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest
from _wire.records import parse_records
from coordinator.audit.schema import AuthorizationDenied, decode_coordinator_event
from coordinator.config.authorizer_keys import STANDARD_AUTHORIZER
from coordinator.internal_topics import AUDIT_TOPIC
from tests.differential.acls.__main__ import LOGIN
from tests.differential.acls.play import PlainClient
from tests.differential.requests.state import record_batch
from tests.front.test_dispatch import error_codes
from tests.servers import QUICK_GROUPS, RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient, fetch_request

TOPIC, GROUP = 2, 3
ALL, READ, WRITE, DESCRIBE = 2, 3, 4, 8
LITERAL, PREFIXED = 3, 4
SECONDS: Final = 20
SETTINGS: Final = (
    QUICK_GROUPS
    | LOGIN
    | {
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": "User:admin",
        "write.txn.markers.enable": "true",
    }
)
_NUMBERS = count(1)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with RunningServer(tmp_path_factory.mktemp("authorization"), SETTINGS) as running:
        yield running


@pytest.fixture
def admin(server: RunningServer) -> Iterator[WireClient]:
    with PlainClient(server.bootstrap, "admin") as client:
        yield client


@pytest.fixture
def alice(server: RunningServer) -> Iterator[WireClient]:
    with PlainClient(server.bootstrap, "alice") as client:
        yield client


@pytest.fixture
def name() -> str:
    return f"own-{next(_NUMBERS)}"


def acl(resource_type: int, name: str, operation: int, pattern: int = LITERAL, permission: int = 3) -> AclCreation:
    return AclCreation(
        resource_type=resource_type,
        resource_name=name,
        resource_pattern_type=pattern,
        principal="User:alice",
        host="*",
        operation=operation,
        permission_type=permission,
    )


def allow(admin: WireClient, *acls: AclCreation) -> None:
    assert not any(result.error_code for result in admin.request(CreateAclsRequest(creations=list(acls)), 3).results)


def revoke(admin: WireClient, resource_type: int, name: str) -> None:
    wanted = DeleteAclsFilter(
        resource_type_filter=resource_type,
        resource_name_filter=name,
        pattern_type_filter=1,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )
    (result,) = admin.request(DeleteAclsRequest(filters=[wanted]), 3).filter_results
    assert result.matching_acls


def test_a_revoked_acl_ends_the_heartbeats_of_a_classic_member_at_the_next_one(admin, alice, name):
    allow(admin, acl(GROUP, name, READ))
    member_id = alice.join_alone(name)
    for _ in range(3):
        assert alice.heartbeat_error(name, member_id) == NONE
    revoke(admin, GROUP, name)
    assert alice.heartbeat_error(name, member_id) == ErrorCode.GROUP_AUTHORIZATION_FAILED
    allow(admin, acl(GROUP, name, READ))
    assert alice.heartbeat_error(name, member_id) == NONE
    allow(admin, acl(GROUP, name, READ, permission=2))
    assert alice.heartbeat_error(name, member_id) == ErrorCode.GROUP_AUTHORIZATION_FAILED


def consumer_heartbeat(client: WireClient, group_id: str, epoch: int, **said: Any) -> Any:
    beat = ConsumerGroupHeartbeatRequest(group_id=group_id, member_id="m" * 22, member_epoch=epoch, **said)
    return client.request(beat, 1)


def test_a_revoked_acl_ends_the_heartbeats_of_a_consumer_at_the_next_one(admin, alice, name):
    admin.create_topic(name, 2)
    allow(admin, acl(GROUP, name, READ))
    joining: dict[str, Any] = {
        "subscribed_topic_names": [name],
        "rebalance_timeout_ms": 30_000,
        "topic_partitions": [],
    }
    denied = consumer_heartbeat(alice, name, 0, **joining)
    assert denied.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    allow(admin, acl(TOPIC, name, DESCRIBE))
    joined = consumer_heartbeat(alice, name, 0, **joining)
    assert joined.error_code == NONE
    for _ in range(3):
        assert consumer_heartbeat(alice, name, joined.member_epoch).error_code == NONE
    revoke(admin, GROUP, name)
    assert consumer_heartbeat(alice, name, joined.member_epoch).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


@pytest.mark.parametrize("kind", ["share", "streams"])
def test_a_revoked_acl_ends_the_heartbeats_of_members_of_other_groups_at_the_next_one(admin, alice, name, kind):
    admin.create_topic(name, 2)
    allow(admin, acl(GROUP, name, READ), acl(TOPIC, name, DESCRIBE))
    who: dict[str, Any] = {"group_id": name, "member_id": "m" * 22}
    if kind == "share":
        version: int = 1
        api: Any = ShareGroupHeartbeatRequest
        joining = api(**who, member_epoch=0, subscribed_topic_names=[name])
    else:
        version, api = 0, StreamsGroupHeartbeatRequest
        runs = Topology(subtopologies=[Subtopology(subtopology_id="0", source_topics=[name])])
        no_tasks: dict[str, Any] = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
        joining = api(**who, member_epoch=0, rebalance_timeout_ms=30_000, topology=runs, process_id="p", **no_tasks)
    joined = alice.request(joining, version)
    assert joined.error_code == NONE, joined.error_message
    steady = api(**who, member_epoch=joined.member_epoch)
    for _ in range(5):
        assert alice.request(steady, version).error_code == NONE
    revoke(admin, GROUP, name)
    assert alice.request(steady, version).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


def test_who_may_use_the_group_may_not_use_the_connection_of_another(admin, server, name):
    """A heartbeat of bob about the member of alice is denied, though hers are answered without the authorizer."""
    allow(admin, acl(GROUP, name, READ))
    with PlainClient(server.bootstrap, "alice") as alice, PlainClient(server.bootstrap, "bob") as bob:
        member_id = alice.join_alone(name)
        assert alice.heartbeat_error(name, member_id) == NONE
        assert bob.heartbeat_error(name, member_id) == ErrorCode.GROUP_AUTHORIZATION_FAILED
        assert alice.heartbeat_error(name, member_id) == NONE


def test_a_regular_expression_matches_only_topics_that_the_client_may_describe(admin, alice, name):
    for suffix in ("a", "b", "c"):
        admin.create_topic(f"{name}-{suffix}")
    allow(admin, acl(GROUP, name, READ), acl(TOPIC, f"{name}-a", DESCRIBE), acl(TOPIC, f"{name}-c", READ))
    first = consumer_heartbeat(
        alice, name, 0, subscribed_topic_regex=f"{name}-.*", rebalance_timeout_ms=30_000, topic_partitions=[]
    )
    assert first.error_code == NONE
    epoch, owned = first.member_epoch, 0

    def is_assigned() -> bool:
        nonlocal epoch, owned
        answer = consumer_heartbeat(alice, name, epoch)
        assert answer.error_code == NONE
        epoch = answer.member_epoch
        if answer.assignment is not None:
            owned = len(answer.assignment.topic_partitions)
        return owned > 0

    wait_for(is_assigned, SECONDS, "an assignment")
    assert owned == 2


def test_a_produce_without_response_appends_what_is_allowed_and_closes_the_connection(admin, server, name):
    for suffix in ("a", "b"):
        admin.create_topic(f"{name}-{suffix}")
    allow(admin, acl(TOPIC, f"{name}-a", WRITE))
    records = PartitionProduceData(index=0, records=record_batch())
    topics = [TopicProduceData(name=f"{name}-{suffix}", partition_data=[records]) for suffix in ("b", "a")]
    with PlainClient(server.bootstrap, "alice") as alice:
        alice.send(ProduceRequest(acks=0, timeout_ms=1_000, topic_data=topics), 9)
        assert alice.is_closed_by_peer()
    produced = [admin.produce(f"{name}-{suffix}", record_batch()).base_offset for suffix in ("a", "b")]
    assert produced == [2, 0]


def test_acls_are_in_force_again_after_a_restart_and_after_a_kill(tmp_path):
    with RunningServer(tmp_path, SETTINGS) as server:
        for number, end in enumerate((server.stop, server.kill, None)):
            with PlainClient(server.bootstrap, "admin") as admin, PlainClient(server.bootstrap, "alice") as alice:
                if number:
                    assert alice.heartbeat_error("kept", "m") == ErrorCode.UNKNOWN_MEMBER_ID
                    assert alice.heartbeat_error("gone", "m") == ErrorCode.GROUP_AUTHORIZATION_FAILED
                else:
                    allow(admin, acl(GROUP, "ke", ALL, PREFIXED), acl(GROUP, "gone", ALL))
                    revoke(admin, GROUP, "gone")
            if end is not None:
                end()
                server.start()


def test_long_lists_are_left_out_in_steps_and_the_right_ones(admin, alice, name):
    topics = [f"{name}-{number:04}" for number in range(3_000)]
    created = [CreatableTopic(name=topic, num_partitions=1, replication_factor=1) for topic in topics]
    admin.request(CreateTopicsRequest(topics=created, timeout_ms=30_000), 7)
    allow(admin, acl(TOPIC, f"{name}-00", DESCRIBE, PREFIXED), acl(TOPIC, f"{name}-2999", READ))
    visible = [*topics[:100], topics[-1]]
    listed = alice.request(MetadataRequest(topics=None, include_topic_authorized_operations=True), 9).topics
    found = {key.name: key.topic_authorized_operations for key in listed if key.name.startswith(name)}
    assert sorted(found) == visible
    assert found[topics[0]] == 1 << DESCRIBE
    assert found[topics[-1]] == 1 << DESCRIBE | 1 << READ
    everything = admin.request(MetadataRequest(topics=None, include_topic_authorized_operations=True), 9).topics
    assert len([each for each in everything if each.topic_authorized_operations == 3576]) >= 3_000
    pages: list[str] = []
    cursor = Cursor(topic_name=f"{name}-", partition_index=0)
    while cursor is not None:
        page = alice.request(DescribeTopicPartitionsRequest(response_partition_limit=40, cursor=cursor), 0)
        pages += [topic.name for topic in page.topics if topic.name.startswith(name)]
        cursor = page.next_cursor
    assert pages == visible


def test_groups_are_listed_as_far_as_they_may_be_described(admin, alice, name):
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=5)
    admin.create_topic(name)
    for number in range(60):
        topic = OffsetCommitRequestTopic(name=name, partitions=[partition])
        admin.request(OffsetCommitRequest(group_id=f"{name}-{number:02}", topics=[topic]), 8)
    allow(admin, acl(GROUP, f"{name}-1", DESCRIBE, PREFIXED), acl(GROUP, f"{name}-15", DESCRIBE, permission=2))
    groups = alice.request(ListGroupsRequest(), 4)
    assert groups.error_code == NONE
    listed = {group.group_id for group in groups.groups if group.group_id.startswith(name)}
    assert listed == {f"{name}-{number}" for number in range(10, 20)} - {f"{name}-15"}


def test_a_denial_is_an_event_of_the_audit_and_a_line_of_the_log(admin, alice, server, name):
    for _ in range(5):
        assert alice.heartbeat_error(name, "m") == ErrorCode.GROUP_AUTHORIZATION_FAILED
    line = f"Principal = User:alice is Denied operation = READ from host = 127.0.0.1 on resource = Group:LITERAL:{name}"
    wait_for(lambda: server.log.read_text(encoding="utf-8").count(line) == 1, SECONDS, "the line of a denial")

    def event() -> AuthorizationDenied | None:
        """The event of this group; it has the partition of all events about the coordinator."""
        fetched = admin.request(fetch_request(AUDIT_TOPIC, max_wait_ms=0), 11).responses[0].partitions[0].records
        denied = [
            decode_coordinator_event(record.value)
            for record in parse_records(bytes(fetched or b""))
            if record.key is None and record.value is not None
        ]
        found = [
            principal
            for principal in denied
            if isinstance(principal, AuthorizationDenied) and principal.resource_name == name
        ]
        return found[0] if found else None

    wait_for(lambda: event() is not None, SECONDS, "the event of a denial")
    found = event()
    assert found is not None
    assert (found.principal, found.api, found.operation) == ("User:alice", "Heartbeat", "READ")
    assert (found.client_host, found.resource_type, found.rule) == ("/127.0.0.1", "GROUP", "DefaultDeny")


def upsertion() -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(name="u", mechanism=1, iterations=4096, salt=b"s" * 16, salted_password=b"p" * 32)


def marker() -> WritableTxnMarker:
    topics = [WritableTxnMarkerTopic(name="none", partition_indexes=[0])]
    return WritableTxnMarker(producer_id=1, producer_epoch=0, transaction_result=True, topics=topics)


@pytest.mark.parametrize(
    ("request_", "version"),
    [
        (CreateAclsRequest(creations=[acl(TOPIC, "t", READ)]), 3),
        (
            DeleteAclsRequest(
                filters=[
                    DeleteAclsFilter(
                        resource_type_filter=TOPIC,
                        resource_name_filter="t",
                        pattern_type_filter=LITERAL,
                        principal_filter=None,
                        host_filter=None,
                        operation=1,
                        permission_type=1,
                    )
                ]
            ),
            3,
        ),
        (AlterUserScramCredentialsRequest(upsertions=[upsertion()]), 0),
        (WriteTxnMarkersRequest(markers=[marker()]), 1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_belongs_to_the_cluster_is_denied_element_by_element(admin, alice, request_, version):
    denied, allowed = (error_codes(client.request(request_, version)) for client in (alice, admin))
    assert set(denied) == {ErrorCode.CLUSTER_AUTHORIZATION_FAILED}
    assert ErrorCode.CLUSTER_AUTHORIZATION_FAILED not in allowed
