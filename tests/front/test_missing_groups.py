"""What members and administrators are told of groups that do not exist, or are of another kind: as Kafka 4.3.1 does."""

from typing import Any

import pytest

from _wire.errors import NONE, ErrorCode
from _wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from _wire.messages.describe_groups import DescribeGroupsRequest
from _wire.messages.share_group_describe import ShareGroupDescribeRequest
from _wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from _wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from _wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from tests.wire_client import WireClient

KINDS: dict[str, tuple[Any, Any, int]] = {
    "consumer": (ConsumerGroupHeartbeatRequest, ConsumerGroupDescribeRequest, 1),
    "share": (ShareGroupHeartbeatRequest, ShareGroupDescribeRequest, 1),
    "streams": (StreamsGroupHeartbeatRequest, StreamsGroupDescribeRequest, 0),
}
CONSUMERS = "consumers-of-another-kind"
NOT_FOUND = ErrorCode.GROUP_ID_NOT_FOUND


@pytest.fixture
def client(server):
    """There is a consumer group, CONSUMERS."""
    with WireClient(server.bootstrap) as client:
        join: dict[str, Any] = {"rebalance_timeout_ms": 30_000, "subscribed_topic_names": ["t"], "topic_partitions": []}
        member = ConsumerGroupHeartbeatRequest(group_id=CONSUMERS, member_id="m" * 22, member_epoch=0, **join)
        assert client.request(member, 1).error_code == NONE
        yield client


def heard(client: WireClient, kind: str, group_id: str, epoch: int) -> tuple[int, str]:
    heartbeat, _, version = KINDS[kind]
    answer = client.request(heartbeat(group_id=group_id, member_id="m", member_epoch=epoch), version)
    return answer.error_code, answer.error_message


def described(client: WireClient, kind: str, group_id: str) -> tuple[int, str]:
    _, describe, version = KINDS[kind]
    (group,) = client.request(describe(group_ids=[group_id]), version).groups
    return group.error_code, group.error_message


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_no_such_group(client, kind):
    assert heard(client, kind, "nobody", 5) == (NOT_FOUND, f"{kind.capitalize()} group nobody not found.")
    assert heard(client, kind, "nobody", -1) == (NOT_FOUND, "Group nobody not found.")
    assert described(client, kind, "nobody") == (NOT_FOUND, "Group nobody not found.")


@pytest.mark.parametrize("kind", ["share", "streams"])
def test_the_group_is_of_another_kind(client, kind):
    other = (NOT_FOUND, f"Group {CONSUMERS} is not a {kind} group.")
    assert heard(client, kind, CONSUMERS, 5) == heard(client, kind, CONSUMERS, -1) == other
    assert described(client, kind, CONSUMERS) == other


def test_a_consumer_group_is_no_classic_group(client):
    (group,) = client.request(DescribeGroupsRequest(groups=[CONSUMERS]), 6).groups
    assert (group.error_code, group.error_message) == (NOT_FOUND, f"Group {CONSUMERS} is not a classic group.")
    (group,) = client.request(DescribeGroupsRequest(groups=[CONSUMERS]), 5).groups
    assert (group.error_code, group.group_state) == (NONE, "Dead")


def test_the_group_has_no_such_member(client):
    unknown = (ErrorCode.UNKNOWN_MEMBER_ID, f"Member m is not a member of group {CONSUMERS}.")
    assert heard(client, "consumer", CONSUMERS, 5) == heard(client, "consumer", CONSUMERS, -1) == unknown
