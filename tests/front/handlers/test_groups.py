"""The group APIs from the bytes of a request to the bytes of its response: what is answered at once, what is deferred,
what is split and merged. The rules about groups are tested in tests/core."""

from typing import Any, Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from _wire.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from _wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from _wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from _wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestTopic, OffsetCommitResponse
from _wire.messages.offset_delete import OffsetDeleteResponse
from _wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from coordinator.runtime.shard import ShardState
from tests.front.handlers.group_messages import (
    NOBODY,
    commit_request,
    committed,
    committed_offsets,
    delete_offsets_request,
    failed_join,
    fetch_request,
    fetch_request_of_one,
    fetched_before_v8,
    left,
    member_ids,
)
from tests.front.handlers.group_node import (
    PARTITIONS,
    SESSION_TIMEOUT_MS,
    group_in,
)
from tests.wire_client import BEFORE_MEMBER_ID_REQUIRED, join_request

GROUP: Final = group_in(0)
OTHER: Final = group_in(1)
SECOND_GENERATION: Final = 2


# ---- answered at once


AT_ONCE: Final = {
    "JoinGroup without a group id": (join_request("", "m"), 9, failed_join(ErrorCode.INVALID_GROUP_ID, "m")),
    "JoinGroup with a session timeout out of bounds": (
        join_request(GROUP, timeout_ms=1),
        9,
        failed_join(ErrorCode.INVALID_SESSION_TIMEOUT),
    ),
    "SyncGroup without a group id": (
        SyncGroupRequest(group_id="", member_id="m"),
        4,
        SyncGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID),
    ),
    "SyncGroup without the protocol": (
        SyncGroupRequest(group_id=GROUP, member_id="m"),
        5,
        SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ),
    "Heartbeat without a group id": (
        HeartbeatRequest(group_id="", member_id="m"),
        4,
        HeartbeatResponse(error_code=ErrorCode.INVALID_GROUP_ID),
    ),
    "LeaveGroup without a group id": (
        LeaveGroupRequest(group_id="", members=[MemberIdentity(member_id="m")]),
        5,
        LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID),
    ),
    "OffsetCommit v0": (commit_request(GROUP), 0, committed(ErrorCode.UNSUPPORTED_VERSION)),
    "OffsetCommit of an unknown topic": (
        commit_request(GROUP, topic="missing"),
        9,
        committed(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "missing"),
    ),
    "OffsetCommit of no partition": (
        OffsetCommitRequest(group_id=GROUP, topics=[OffsetCommitRequestTopic(name="orders")]),
        9,
        OffsetCommitResponse(),
    ),
    "OffsetFetch v0": (fetch_request_of_one(GROUP), 0, fetched_before_v8(ErrorCode.UNSUPPORTED_VERSION)),
    "OffsetFetch of no group": (fetch_request(), 9, OffsetFetchResponse()),
    "DescribeGroups of no group": (DescribeGroupsRequest(), 6, DescribeGroupsResponse()),
    "DeleteGroups of no group": (DeleteGroupsRequest(), 2, DeleteGroupsResponse()),
}
"""Request, version and response."""


@pytest.mark.parametrize(("request_", "version", "response"), AT_ONCE.values(), ids=AT_ONCE)
def test_what_needs_no_group_is_answered_at_once_even_by_a_node_that_coordinates_nothing(
    node, request_, version, response
):
    for partition in range(PARTITIONS):
        node.make_unavailable(partition, ShardState.INACTIVE)
    node.server.topics.missing.add("missing")
    client = node.connect()
    sent = client.send(request_, version)
    assert client.receive(sent) == response
    assert not node.pending.unanswered


# ---- deferred


DEFERRED: Final = {
    "SyncGroup": (
        SyncGroupRequest(group_id=GROUP, member_id=NOBODY),
        4,
        SyncGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID),
    ),
    "JoinGroup": (join_request(GROUP, NOBODY), 9, failed_join(ErrorCode.UNKNOWN_MEMBER_ID, NOBODY)),
    "Heartbeat": (
        HeartbeatRequest(group_id=GROUP, generation_id=1, member_id=NOBODY),
        4,
        HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID),
    ),
    "LeaveGroup": (
        LeaveGroupRequest(group_id=GROUP, members=[MemberIdentity(member_id=NOBODY)]),
        5,
        LeaveGroupResponse(members=[left(NOBODY, ErrorCode.UNKNOWN_MEMBER_ID)]),
    ),
    "OffsetCommit": (commit_request(GROUP), 9, committed(ErrorCode.NONE)),
    "OffsetFetch": (
        fetch_request(GROUP),
        9,
        OffsetFetchResponse(groups=[OffsetFetchResponseGroup(group_id=GROUP)]),
    ),
    "OffsetDelete": (
        delete_offsets_request(GROUP),
        0,
        OffsetDeleteResponse(error_code=ErrorCode.GROUP_ID_NOT_FOUND),
    ),
    "DescribeGroups": (
        DescribeGroupsRequest(groups=[GROUP]),
        5,
        DescribeGroupsResponse(groups=[DescribedGroup(group_id=GROUP, group_state="Dead")]),
    ),
    "DeleteGroups": (
        DeleteGroupsRequest(groups_names=[GROUP]),
        2,
        DeleteGroupsResponse(results=[DeletableGroupResult(group_id=GROUP, error_code=ErrorCode.GROUP_ID_NOT_FOUND)]),
    ),
    "ListGroups": (ListGroupsRequest(), 5, ListGroupsResponse()),
}
"""Request to a group that does not exist, version and response."""


@pytest.mark.parametrize(("request_", "version", "response"), DEFERRED.values(), ids=DEFERRED)
def test_a_request_is_handled_at_the_end_of_the_loop_iteration(node, request_, version, response):
    client = node.connect()
    sent = client.send(request_, version)
    assert not client.has_response()
    assert client.connection in node.pending.unanswered.values()
    node.end_iteration()
    assert client.receive(sent) == response
    assert not node.pending.unanswered


def test_each_response_goes_to_the_connection_of_its_request(node):
    first_id, second_id = node.make_stable(GROUP), node.make_stable(OTHER)
    first, second = node.connect("first"), node.connect("second")
    asked_second = second.send(DescribeGroupsRequest(groups=[OTHER]), 5)
    asked_first = first.send(DescribeGroupsRequest(groups=[GROUP]), 5)
    node.end_iteration()
    assert member_ids(first.receive(asked_first)) == {GROUP: [first_id]}
    assert member_ids(second.receive(asked_second)) == {OTHER: [second_id]}


def test_client_id_and_host_of_the_connection_reach_the_group(node):
    client = node.connect("billing-1")
    joined = client.request(join_request(GROUP), BEFORE_MEMBER_ID_REQUIRED)
    (group,) = client.request(DescribeGroupsRequest(groups=[GROUP]), 5).groups
    (member,) = group.members
    assert (member.member_id, member.client_id, member.client_host) == (joined.member_id, "billing-1", "/10.0.0.1")
    assert joined.member_id.startswith("billing-1-")


def test_a_join_waits_for_the_other_members_and_its_connection_with_it(node):
    member_id = node.make_stable(GROUP)
    newcomer, member = node.connect("newcomer"), node.connect("member")
    joining = newcomer.send(join_request(GROUP), BEFORE_MEMBER_ID_REQUIRED)
    listing = newcomer.send(ListGroupsRequest(), 5)
    node.end_iteration()
    assert not newcomer.has_response()
    rejoined = member.request(join_request(GROUP, member_id), BEFORE_MEMBER_ID_REQUIRED)
    joined = newcomer.receive(joining)
    assert joined.generation_id == rejoined.generation_id == SECOND_GENERATION
    assert (rejoined.leader, joined.leader) == (member_id, member_id)
    assert [group.group_id for group in newcomer.receive(listing).groups] == [GROUP]


# ---- connections that close


def test_a_join_whose_client_disconnects_is_forgotten_and_the_member_expires(node):
    member_id = node.make_stable(GROUP)
    gone, member = node.connect("gone"), node.connect("member")
    gone.send(join_request(GROUP), BEFORE_MEMBER_ID_REQUIRED)
    node.end_iteration()
    gone.close()
    assert not node.pending.unanswered
    rejoined = member.request(join_request(GROUP, member_id), BEFORE_MEMBER_ID_REQUIRED)
    assert (rejoined.generation_id, len(rejoined.members)) == (SECOND_GENERATION, 2)
    assert not gone.transport.written
    assert not node.pending.unanswered
    sync = member.send(SyncGroupRequest(group_id=GROUP, generation_id=SECOND_GENERATION, member_id=member_id), 3)
    node.advance(SESSION_TIMEOUT_MS)
    assert member.receive(sync).error_code == ErrorCode.NONE
    assert not gone.transport.written


@pytest.mark.parametrize(
    ("request_", "version"),
    [(DescribeGroupsRequest(groups=[GROUP, OTHER]), 5), (ListGroupsRequest(), 5), (fetch_request(GROUP, OTHER), 9)],
    ids=["DescribeGroups", "ListGroups", "OffsetFetch"],
)
def test_the_parts_of_a_request_whose_client_disconnects_lead_to_nothing(node, request_, version):
    client = node.connect()
    client.send(request_, version)
    client.close()
    node.end_iteration()
    assert not client.transport.written
    assert not node.pending.unanswered


def test_a_commit_takes_effect_though_its_client_disconnects(node):
    client = node.connect()
    client.send(commit_request(GROUP, offset=9), 9)
    client.close()
    node.end_iteration()
    assert not client.transport.written
    assert committed_offsets(node.connect().request(fetch_request(GROUP), 9)) == [(GROUP, [9])]


# ---- several groups in one request


def test_groups_are_described_in_the_order_of_the_request_as_often_as_they_are_named(node):
    ids = [group_in(2), group_in(0), group_in(1), group_in(0, 1)]
    members = {group_id: node.make_stable(group_id) for group_id in ids}
    asked = [ids[0], ids[1], ids[0], "unknown", ids[2], ids[3]]
    response = node.connect().request(DescribeGroupsRequest(groups=asked), 5)
    assert [
        (group.group_id, group.group_state, [member.member_id for member in group.members]) for group in response.groups
    ] == [(each, "Stable", [members[each]]) if each in members else (each, "Dead", []) for each in asked]


def test_every_described_group_has_its_authorized_operations(node):
    request = DescribeGroupsRequest(groups=[GROUP, OTHER], include_authorized_operations=True)
    described = node.connect().request(request, 5).groups
    assert [group.authorized_operations for group in described] == [0b1101_0100_1000] * 2


def test_offsets_of_groups_are_fetched_in_the_order_of_the_request_as_often_as_they_are_named(node):
    node.make_empty(GROUP, 7)
    node.make_empty(OTHER, 8)
    response = node.connect().request(fetch_request(OTHER, "unknown", GROUP, OTHER), 9)
    assert committed_offsets(response) == [(OTHER, [8]), ("unknown", []), (GROUP, [7]), (OTHER, [8])]


def test_each_group_is_asked_for_its_own_topics(node):
    node.make_empty(GROUP, 7)
    node.make_empty(OTHER, 8)
    groups = [
        OffsetFetchRequestGroup(
            group_id=group_id, topics=[OffsetFetchRequestTopics(name=topic, partition_indexes=[0, 1])]
        )
        for group_id, topic in ((GROUP, "orders"), (OTHER, "payments"))
    ]
    response = node.connect().request(OffsetFetchRequest(groups=groups), 9)
    assert committed_offsets(response) == [(GROUP, [7, -1]), (OTHER, [-1, -1])]


def test_groups_are_deleted_each_with_its_own_result_and_once(node):
    node.make_empty(GROUP)
    node.make_stable(OTHER)
    request = DeleteGroupsRequest(groups_names=[OTHER, GROUP, "unknown", GROUP])
    client = node.connect()
    assert [(result.group_id, ErrorCode(result.error_code)) for result in client.request(request, 2).results] == [
        (OTHER, ErrorCode.NON_EMPTY_GROUP),
        (GROUP, ErrorCode.NONE),
        ("unknown", ErrorCode.GROUP_ID_NOT_FOUND),
    ]
    assert [group.group_id for group in client.request(ListGroupsRequest(), 5).groups] == [OTHER]


def test_the_groups_of_all_partitions_are_listed(node):
    stable = [group_in(partition) for partition in range(PARTITIONS)]
    empty = group_in(1, 1)
    for group_id in stable:
        node.make_stable(group_id)
    node.make_empty(empty)
    client = node.connect()

    def listed(**filters: Any) -> dict[str, str]:
        response = client.request(ListGroupsRequest(**filters), 5)
        assert response.error_code == ErrorCode.NONE
        assert len({group.group_id for group in response.groups}) == len(response.groups)
        return {group.group_id: group.group_state for group in response.groups}

    assert listed() == dict.fromkeys(stable, "Stable") | {empty: "Empty"}
    assert listed(states_filter=["empty"]) == {empty: "Empty"}
    assert listed(types_filter=["consumer"]) == {}


def test_members_that_leave_together_have_an_error_each(node):
    member_id = node.make_stable(GROUP)
    identities = [MemberIdentity(member_id=each) for each in (NOBODY, member_id, member_id)]
    response = node.connect().request(LeaveGroupRequest(group_id=GROUP, members=identities), 5)
    assert response.error_code == ErrorCode.NONE
    assert [(member.member_id, ErrorCode(member.error_code)) for member in response.members] == [
        (NOBODY, ErrorCode.UNKNOWN_MEMBER_ID),
        (member_id, ErrorCode.NONE),
        (member_id, ErrorCode.UNKNOWN_MEMBER_ID),
    ]
