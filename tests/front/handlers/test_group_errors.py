"""The group APIs while a partition is not served, and in old versions: the response has the form that the API and its
version require."""

from typing import Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from _wire.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from _wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from _wire.messages.join_group import JoinGroupRequest
from _wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from _wire.messages.list_groups import ListGroupsRequest
from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestTopic
from _wire.messages.offset_delete import OffsetDeleteResponse
from _wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
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
)
from tests.front.handlers.group_node import (
    SESSION_TIMEOUT_MS,
    group_in,
    load_slowly,
)
from tests.wire_client import BEFORE_MEMBER_ID_REQUIRED, join_request

GROUP: Final = group_in(0)
OTHER: Final = group_in(1)
SECOND_GENERATION: Final = 2
ERRORS: Final = {
    ShardState.INACTIVE: ErrorCode.NOT_COORDINATOR,
    ShardState.LOADING: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ShardState.FAILED: ErrorCode.COORDINATOR_NOT_AVAILABLE,
}


# ---- partitions that are not served


def described_error(error: ErrorCode) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(groups=[DescribedGroup(group_id=GROUP, error_code=error)])


ERROR_RESPONSES: Final = {
    "JoinGroup v9": (join_request(GROUP, "m"), 9, lambda error: failed_join(error, "m")),
    "SyncGroup v3": (SyncGroupRequest(group_id=GROUP, member_id="m"), 3, lambda e: SyncGroupResponse(error_code=e)),
    "LeaveGroup v2": (LeaveGroupRequest(group_id=GROUP, member_id="m"), 2, lambda e: LeaveGroupResponse(error_code=e)),
    "LeaveGroup v3": (
        LeaveGroupRequest(group_id=GROUP, members=[MemberIdentity(member_id="m")]),
        3,
        lambda e: LeaveGroupResponse(error_code=e),
    ),
    "OffsetCommit v9": (commit_request(GROUP), 9, committed),
    "OffsetCommit v10": (
        OffsetCommitRequest(
            group_id=GROUP,
            topics=[
                OffsetCommitRequestTopic(
                    topic_id=b"orders".ljust(16, b"\0"), partitions=commit_request(GROUP).topics[0].partitions
                )
            ],
        ),
        10,
        lambda error: committed(error, "", b"orders".ljust(16, b"\0")),
    ),
    "OffsetFetch v1": (fetch_request_of_one(GROUP), 1, fetched_before_v8),
    "OffsetFetch v7": (fetch_request_of_one(GROUP), 7, lambda error: OffsetFetchResponse(error_code=error)),
    "OffsetFetch v9": (
        fetch_request(GROUP),
        9,
        lambda error: OffsetFetchResponse(groups=[OffsetFetchResponseGroup(group_id=GROUP, error_code=error)]),
    ),
    "OffsetDelete v0": (delete_offsets_request(GROUP), 0, lambda error: OffsetDeleteResponse(error_code=error)),
    "DescribeGroups v6": (DescribeGroupsRequest(groups=[GROUP]), 6, described_error),
    "DeleteGroups v2": (
        DeleteGroupsRequest(groups_names=[GROUP]),
        2,
        lambda error: DeleteGroupsResponse(results=[DeletableGroupResult(group_id=GROUP, error_code=error)]),
    ),
}
"""Request, version, and error → response."""


@pytest.mark.parametrize("state", ERRORS, ids=lambda state: state.name)
@pytest.mark.parametrize(("request_", "version", "response"), ERROR_RESPONSES.values(), ids=ERROR_RESPONSES)
def test_a_partition_that_is_not_served_is_reported_in_the_form_of_the_api(
    node, monkeypatch, state, request_, version, response
):
    node.make_empty(GROUP)
    load_slowly(monkeypatch)
    node.make_unavailable(0, state)
    client = node.connect()
    assert client.request(request_, version) == response(ERRORS[state])
    assert node.coordinator.shards[0].state is state
    assert not node.pending.unanswered


@pytest.mark.parametrize(
    ("state", "error"),
    [
        (ShardState.INACTIVE, ErrorCode.NOT_COORDINATOR),
        (ShardState.LOADING, ErrorCode.NONE),
        (ShardState.FAILED, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ],
)
def test_a_heartbeat_during_a_load_succeeds(node, monkeypatch, state, error):
    """A loaded member gets a new session, so the heartbeat is as good as one after the load."""
    member_id = node.make_stable(GROUP)
    load_slowly(monkeypatch)
    node.make_unavailable(0, state)
    request = HeartbeatRequest(group_id=GROUP, generation_id=1, member_id=member_id)
    assert node.connect().request(request, 4) == HeartbeatResponse(error_code=error)
    assert node.coordinator.shards[0].state is state


@pytest.mark.parametrize("state", ERRORS, ids=lambda state: state.name)
def test_the_other_groups_of_a_request_are_not_affected(node, monkeypatch, state):
    node.make_empty(GROUP, 7)
    node.make_empty(OTHER, 8)
    load_slowly(monkeypatch)
    node.make_unavailable(0, state)
    node.server.disk.heal()
    client = node.connect()
    described = client.request(DescribeGroupsRequest(groups=[GROUP, OTHER]), 5).groups
    assert [(each.error_code, each.group_state) for each in described] == [(ERRORS[state], ""), (0, "Empty")]
    assert node.coordinator.shards[0].state is state


@pytest.mark.parametrize("state", ERRORS, ids=lambda state: state.name)
def test_offsets_of_the_other_groups_are_fetched(node, monkeypatch, state):
    node.make_empty(GROUP, 7)
    node.make_empty(OTHER, 8)
    load_slowly(monkeypatch)
    node.make_unavailable(0, state)
    response = node.connect().request(fetch_request(GROUP, OTHER), 9)
    assert [group.error_code for group in response.groups] == [ERRORS[state], ErrorCode.NONE]
    assert committed_offsets(response) == [(GROUP, []), (OTHER, [8])]


@pytest.mark.parametrize("state", ERRORS, ids=lambda state: state.name)
def test_the_other_groups_of_a_request_are_deleted(node, monkeypatch, state):
    node.make_empty(GROUP)
    node.make_empty(OTHER)
    load_slowly(monkeypatch)
    node.make_unavailable(0, state)
    node.server.disk.heal()
    results = node.connect().request(DeleteGroupsRequest(groups_names=[GROUP, OTHER]), 2).results
    assert [result.error_code for result in results] == [ERRORS[state], ErrorCode.NONE]


@pytest.mark.parametrize(
    ("state", "error"),
    [
        (ShardState.INACTIVE, ErrorCode.NONE),
        (ShardState.LOADING, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        (ShardState.FAILED, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ],
)
def test_listed_are_the_groups_of_the_partitions_that_are_led_here_and_a_missing_one_is_an_error(
    node, monkeypatch, state, error
):
    """A partition led elsewhere is none: its groups are listed by its leader."""
    node.make_empty(GROUP)
    node.make_empty(OTHER)
    load_slowly(monkeypatch)
    node.make_unavailable(0, state)
    response = node.connect().request(ListGroupsRequest(), 5)
    assert ErrorCode(response.error_code) is error
    assert [group.group_id for group in response.groups] == [OTHER]


@pytest.mark.parametrize(
    ("state", "error"),
    [
        (ShardState.INACTIVE, ErrorCode.NOT_COORDINATOR),
        (ShardState.FAILED, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ],
)
@pytest.mark.parametrize("version", [3, 9])
def test_a_join_that_waits_is_answered_when_its_partition_is_lost(node, state, error, version):
    node.make_stable(GROUP)
    newcomer = node.connect()
    joining = newcomer.send(join_request(GROUP, instance_id="static" if version == 9 else None), version)
    node.end_iteration()
    assert not newcomer.has_response()
    node.make_unavailable(0, state)
    expected = failed_join(error)
    expected.protocol_name = None if version == 9 else ""
    assert newcomer.receive(joining) == expected
    assert not node.pending.unanswered


def test_a_sync_that_waits_is_answered_when_its_partition_is_lost(node):
    member_id = node.make_stable(GROUP)
    follower, leader = node.connect(), node.connect()
    joining = follower.send(join_request(GROUP), BEFORE_MEMBER_ID_REQUIRED)
    leader.request(join_request(GROUP, member_id), BEFORE_MEMBER_ID_REQUIRED)
    joined = follower.receive(joining)
    syncing = follower.send(
        SyncGroupRequest(group_id=GROUP, generation_id=SECOND_GENERATION, member_id=joined.member_id), 3
    )
    node.end_iteration()
    assert not follower.has_response()
    node.coordinator.unload(0)
    assert follower.receive(syncing) == SyncGroupResponse(error_code=ErrorCode.NOT_COORDINATOR)


# ---- old versions


@pytest.mark.parametrize(("version", "protocol_name"), [(0, ""), (6, ""), (7, None), (9, None)])
def test_a_join_error_names_no_protocol(node, version, protocol_name):
    request = JoinGroupRequest(group_id=GROUP, session_timeout_ms=SESSION_TIMEOUT_MS, member_id=NOBODY)
    response = node.connect().request(request, version)
    assert (ErrorCode(response.error_code), response.protocol_name) == (ErrorCode.UNKNOWN_MEMBER_ID, protocol_name)


@pytest.mark.parametrize("version", range(1, 8))
def test_before_v8_the_offsets_of_the_one_group_are_in_the_response_itself(node, version):
    node.make_empty(GROUP, 7)
    response = node.connect().request(fetch_request_of_one(GROUP), version)
    partition = OffsetFetchResponsePartition(partition_index=0, committed_offset=7, metadata="")
    assert response == OffsetFetchResponse(topics=[OffsetFetchResponseTopic(name="orders", partitions=[partition])])


@pytest.mark.parametrize("version", range(2, 8))
def test_before_v8_all_offsets_of_the_one_group_are_fetched_without_topics(node, version):
    node.make_empty(GROUP, 7)
    response = node.connect().request(OffsetFetchRequest(group_id=GROUP, topics=None), version)
    assert [partition.committed_offset for topic in response.topics for partition in topic.partitions] == [7]


def test_from_v10_on_topics_are_named_by_id(node):
    node.make_empty(GROUP, 7)
    known, unknown = b"orders".ljust(16, b"\0"), bytes(16)
    topics = [OffsetFetchRequestTopics(topic_id=each, partition_indexes=[0]) for each in (known, unknown)]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=GROUP, topics=topics)])
    found = OffsetFetchResponsePartitions(partition_index=0, committed_offset=7, metadata="")
    missing = OffsetFetchResponsePartitions(
        partition_index=0, committed_offset=-1, metadata="", error_code=ErrorCode.UNKNOWN_TOPIC_ID
    )
    (group,) = node.connect().request(request, 10).groups
    assert group.topics == [
        OffsetFetchResponseTopics(topic_id=known, partitions=[found]),
        OffsetFetchResponseTopics(topic_id=unknown, partitions=[missing]),
    ]


@pytest.mark.parametrize(("version", "error"), [(0, 0), (5, 0), (6, ErrorCode.GROUP_ID_NOT_FOUND)])
def test_an_unknown_group_is_dead_and_from_v6_on_an_error(node, version, error):
    for groups in (["unknown"], ["unknown", "neither"]):
        described = node.connect().request(DescribeGroupsRequest(groups=groups), version).groups
        assert [(each.group_id, each.group_state, each.error_code) for each in described] == [
            (group_id, "Dead", error) for group_id in groups
        ]


@pytest.mark.parametrize("version", range(6))
def test_a_member_leaves_in_every_version(node, version):
    member_id = node.make_stable(GROUP)
    client = node.connect()
    batch = version >= 3
    identities = [MemberIdentity(member_id=member_id)] if batch else ()
    request = LeaveGroupRequest(group_id=GROUP, member_id="" if batch else member_id, members=identities)
    expected = LeaveGroupResponse(members=[left(member_id, ErrorCode.NONE)] if batch else [])
    assert client.request(request, version) == expected
    (group,) = client.request(DescribeGroupsRequest(groups=[GROUP]), 5).groups
    assert (group.group_state, group.members) == ("Empty", [])
