"""What is answered before the group is asked, so also where the group is not coordinated or not loaded yet."""

from typing import Any, Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.heartbeat import HeartbeatRequest
from _wire.messages.join_group import JoinGroupRequest
from _wire.messages.leave_group import LeaveGroupRequest
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.offset_fetch import OffsetFetchRequest
from _wire.messages.sync_group import SyncGroupRequest
from coordinator.core.kinds import operations
from coordinator.core.offsets import commit as offset_commit
from coordinator.core.operation import Operation
from tests.core.deciding import context, group_with
from tests.simulation.simulation import GROUP_ID, Sent, Simulation

NONE: Final = ErrorCode.NONE
UNKNOWN_PARTITION: Final = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

REJECTED: Final = {
    "JoinGroup without a group id": (
        operations.JOIN_GROUP,
        JoinGroupRequest(group_id="", session_timeout_ms=10_000),
        5,
        ErrorCode.INVALID_GROUP_ID,
    ),
    "JoinGroup with a session timeout that is too short": (
        operations.JOIN_GROUP,
        JoinGroupRequest(group_id=GROUP_ID, session_timeout_ms=0),
        5,
        ErrorCode.INVALID_SESSION_TIMEOUT,
    ),
    "SyncGroup without a group id": (
        operations.SYNC_GROUP,
        SyncGroupRequest(group_id=""),
        4,
        ErrorCode.INVALID_GROUP_ID,
    ),
    "SyncGroup version 5 without a protocol type": (
        operations.SYNC_GROUP,
        SyncGroupRequest(group_id=GROUP_ID, protocol_name="range"),
        5,
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    ),
    "SyncGroup version 5 without a protocol name": (
        operations.SYNC_GROUP,
        SyncGroupRequest(group_id=GROUP_ID, protocol_type="consumer"),
        5,
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    ),
    "Heartbeat without a group id": (
        operations.HEARTBEAT,
        HeartbeatRequest(group_id=""),
        4,
        ErrorCode.INVALID_GROUP_ID,
    ),
    "LeaveGroup without a group id": (
        operations.LEAVE_GROUP,
        LeaveGroupRequest(group_id=""),
        5,
        ErrorCode.INVALID_GROUP_ID,
    ),
    "OffsetCommit version 0": (
        operations.OFFSET_COMMIT,
        OffsetCommitRequest(
            group_id=GROUP_ID,
            topics=[OffsetCommitRequestTopic(name="t", partitions=[OffsetCommitRequestPartition(partition_index=0)])],
        ),
        0,
        ErrorCode.UNSUPPORTED_VERSION,
    ),
    "OffsetFetch version 0": (
        operations.OFFSET_FETCH,
        OffsetFetchRequest(group_id=GROUP_ID),
        0,
        ErrorCode.UNSUPPORTED_VERSION,
    ),
}


@pytest.mark.parametrize("case", REJECTED.values(), ids=REJECTED)
def test_some_requests_are_rejected_even_where_the_group_is_not_coordinated(
    case: tuple[Operation, Any, int, ErrorCode],
) -> None:
    operation, request, version, error = case
    sim = Simulation()
    sim.coordinator.unload(0)
    asked = Sent()
    sim.submit(operation, GROUP_ID, request, asked, "client", version)
    assert asked.error is error


def test_before_version_5_sync_group_need_not_name_its_protocol():
    request = SyncGroupRequest(group_id=GROUP_ID)
    assert operations.SYNC_GROUP.prepare is not None
    assert operations.SYNC_GROUP.prepare(request, context(version=4)) is request


# ---- OffsetCommit of partitions that do not exist


def commit_of(*topics: tuple[str, list[int]]) -> OffsetCommitRequest:
    return OffsetCommitRequest(
        group_id=GROUP_ID,
        topics=[
            OffsetCommitRequestTopic(
                name=name, partitions=[OffsetCommitRequestPartition(partition_index=index) for index in partitions]
            )
            for name, partitions in topics
        ],
    )


def errors_of(response: Any) -> list[tuple[str, list[tuple[int, int]]]]:
    """Topic and (partition, error), in the order of the response."""
    return [
        (topic.name, [(partition.partition_index, partition.error_code) for partition in topic.partitions])
        for topic in response.topics
    ]


def answer_to(request: OffsetCommitRequest) -> Any:
    sim = Simulation()
    sim.topics.missing.add("gone")
    asked = Sent()
    sim.submit(operations.OFFSET_COMMIT, GROUP_ID, request, asked, "client", 8)
    return asked.response


def test_unknown_partitions_are_answered_each_time_they_are_named_and_their_topic_once():
    response = answer_to(commit_of(("gone", [0]), ("t", [-1]), ("gone", [0, 1]), ("t", [-1])))
    assert errors_of(response) == [
        ("gone", [(0, UNKNOWN_PARTITION), (0, UNKNOWN_PARTITION), (1, UNKNOWN_PARTITION)]),
        ("t", [(-1, UNKNOWN_PARTITION), (-1, UNKNOWN_PARTITION)]),
    ]


def test_known_partitions_of_a_topic_are_committed_though_others_are_unknown():
    response = answer_to(commit_of(("t", [0, -1, 1]), ("gone", [0])))
    assert errors_of(response) == [
        ("t", [(-1, UNKNOWN_PARTITION), (0, NONE), (1, NONE)]),
        ("gone", [(0, UNKNOWN_PARTITION)]),
    ]


def test_an_error_of_the_group_is_that_of_the_known_partitions_alone():
    asking = context(version=8)
    request = commit_of(("t", [0, -1]))
    request.member_id, request.generation_id_or_member_epoch = "nobody", 1
    prepared = offset_commit.prepare(request, asking)
    assert isinstance(prepared, offset_commit.ExistingTopics)
    (reply,) = offset_commit.commit(group_with(GROUP_ID), prepared, asking).replies
    assert errors_of(reply.response) == [("t", [(-1, UNKNOWN_PARTITION), (0, ErrorCode.UNKNOWN_MEMBER_ID)])]
