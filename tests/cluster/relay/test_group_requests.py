"""Requests for groups of nodes are answered NOT_COORDINATOR in all versions, all others are passed on."""

from typing import Any

import pytest

from _wire.apis import APIS
from _wire.errors import ErrorCode, MalformedMessage
from _wire.headers import encode_request
from _wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from _wire.messages.delete_groups import DeleteGroupsRequest
from _wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from _wire.messages.join_group import JoinGroupRequest
from _wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.offset_delete import OffsetDeleteRequest
from _wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from _wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from _wire.structs import Message
from coordinator.cluster.relay import group_requests
from coordinator.cluster.relay.group_requests import GROUP_REQUESTS, not_coordinator_response
from coordinator.cluster.relay.responses import ASKED_AT_ONCE
from coordinator.cluster.relay.rules import INSPECTED, RULES
from coordinator.runtime.slices import at_once
from tests.cluster.relay.scripted import OWNED, FixedDirectory, decoded

CORRELATION_ID = 9
TOPIC_ID = bytes(range(16))


def requests_for(group_ids: list[str], version: int) -> dict[str, Message]:
    """A request of each API. Those for one group are for the last one."""
    group_id = group_ids[-1]
    commit = OffsetCommitRequestTopic(
        name="t", topic_id=TOPIC_ID, partitions=[OffsetCommitRequestPartition(partition_index=3)]
    )
    transactional = TxnOffsetCommitRequestTopic(
        name="t", partitions=[TxnOffsetCommitRequestPartition(partition_index=3)]
    )
    groups = [
        OffsetFetchRequestGroup(
            group_id=each, topics=[OffsetFetchRequestTopics(name="t", topic_id=TOPIC_ID, partition_indexes=[3])]
        )
        for each in group_ids
    ]
    return {
        "JoinGroup": JoinGroupRequest(group_id=group_id, member_id="m"),
        "LeaveGroup": LeaveGroupRequest(group_id=group_id, members=[MemberIdentity(member_id="m")]),
        "OffsetCommit": OffsetCommitRequest(group_id=group_id, topics=[commit]),
        "TxnOffsetCommit": TxnOffsetCommitRequest(group_id=group_id, topics=[transactional]),
        "OffsetFetch": OffsetFetchRequest(
            group_id=group_id, topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[3])], groups=groups
        ),
        "OffsetDelete": OffsetDeleteRequest(group_id=group_id),
        "DescribeGroups": DescribeGroupsRequest(groups=group_ids),
        "DeleteGroups": DeleteGroupsRequest(groups_names=group_ids),
        "ConsumerGroupHeartbeat": ConsumerGroupHeartbeatRequest(group_id=group_id, member_id="m", member_epoch=3),
        "ConsumerGroupDescribe": ConsumerGroupDescribeRequest(group_ids=group_ids),
    }


def errors_of(name: str, response: Any) -> list[int]:
    """All error codes of a response that has any."""
    if name in ("JoinGroup", "LeaveGroup", "OffsetDelete", "ConsumerGroupHeartbeat"):
        return [response.error_code]
    if name in ("OffsetCommit", "TxnOffsetCommit"):
        return [partition.error_code for topic in response.topics for partition in topic.partitions]
    if name == "DeleteGroups":
        return [result.error_code for result in response.results]
    if name in ("DescribeGroups", "ConsumerGroupDescribe") or response.groups:
        return [group.error_code for group in response.groups]
    partitions = [partition.error_code for topic in response.topics for partition in topic.partitions]
    return partitions or [response.error_code]


EVERY_VERSION = pytest.mark.parametrize(
    ("name", "version"),
    [(name, v) for name in INSPECTED for v in range(APIS.named(name).min_version, APIS.named(name).max_version + 1)],
)


def answer(name: str, version: int, group_ids: list[str], directory: FixedDirectory | None = None) -> Any:
    frame = encode_request(CORRELATION_ID, "client", requests_for(group_ids, version)[name], version)[4:]
    result = at_once(not_coordinator_response(frame, directory or FixedDirectory()))
    return None if result is None else decoded(result[4:], APIS.named(name).response, version, CORRELATION_ID)


@EVERY_VERSION
def test_a_request_for_a_group_of_a_node_is_answered(name, version):
    errors = errors_of(name, answer(name, version, [OWNED]))
    assert errors
    assert set(errors) == {ErrorCode.NOT_COORDINATOR}


@EVERY_VERSION
def test_a_request_for_other_groups_is_passed_on(name, version):
    assert answer(name, version, ["other", "another"]) is None


@EVERY_VERSION
@pytest.mark.parametrize("error", [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE])
def test_a_group_whose_owner_is_unknown_is_to_be_looked_up_again(name, version, error):
    response = answer(name, version, ["moving"], FixedDirectory(owners={"moving": error}))
    assert set(errors_of(name, response)) == {ErrorCode.NOT_COORDINATOR}


@pytest.mark.parametrize(
    ("name", "version"), [("OffsetFetch", 8), ("DescribeGroups", 5), ("DeleteGroups", 2), ("ConsumerGroupDescribe", 1)]
)
@pytest.mark.parametrize("place", [0, 1, ASKED_AT_ONCE, ASKED_AT_ONCE + 1])
def test_one_group_of_a_node_is_enough(name, version, place):
    groups = [f"group-{number}" for number in range(ASKED_AT_ONCE + 1)]
    groups.insert(place, OWNED)
    assert len(errors_of(name, answer(name, version, groups))) == len(groups)


@pytest.mark.parametrize("name", ["DescribeGroups", "DeleteGroups"])
def test_a_request_for_no_groups_is_passed_on(name):
    request = DescribeGroupsRequest() if name == "DescribeGroups" else DeleteGroupsRequest()
    frame = encode_request(CORRELATION_ID, None, request, 2)[4:]
    assert at_once(not_coordinator_response(frame, FixedDirectory())) is None


def test_all_inspected_apis_are_collected():
    assert {APIS[key].name for key in GROUP_REQUESTS} == set(INSPECTED)
    assert all(RULES[key].is_collected for key in GROUP_REQUESTS)


def test_what_follows_the_last_field_is_ignored_as_by_kafka():
    frame = encode_request(CORRELATION_ID, None, DescribeGroupsRequest(groups=[OWNED]), 4)[4:] + b"more"
    assert at_once(not_coordinator_response(frame, FixedDirectory())) is not None


def test_a_long_request_is_inspected_in_steps():
    groups = ["g" * 100] * 1_000 + [OWNED]
    frame = encode_request(CORRELATION_ID, None, DescribeGroupsRequest(groups=groups), 4)[4:]
    steps = not_coordinator_response(frame, FixedDirectory())
    assert next(steps) > len(frame)
    response = decoded((at_once(steps) or b"")[4:], DescribeGroupsResponse, 4)
    assert len(response.groups) == len(groups)


def test_the_number_of_elements_is_bounded(monkeypatch):
    monkeypatch.setattr(group_requests, "ELEMENTS_MAX", 100)
    frame = encode_request(CORRELATION_ID, None, DescribeGroupsRequest(groups=["g"] * 101), 4)[4:]
    with pytest.raises(MalformedMessage):
        at_once(not_coordinator_response(frame, FixedDirectory()))


def test_other_work_has_its_turn_between_many_groups_also_if_all_owners_are_known():
    groups = [f"group-{number}" for number in range(10 * ASKED_AT_ONCE)]
    frame = encode_request(CORRELATION_ID, "client", DescribeGroupsRequest(groups=groups), 5)[4:]
    directory, asked = FixedDirectory(), []
    owner_of = directory.owner_of
    directory.owner_of = lambda group_id, answered: (asked.append(group_id), owner_of(group_id, answered))  # type: ignore[assignment,func-returns-value]
    before = 0
    for _ in not_coordinator_response(frame, directory):
        assert len(asked) - before <= ASKED_AT_ONCE
        before = len(asked)
    assert len(asked) == len(groups)
