"""A group at the cluster as it is described to a node: without the sentinel."""

import asyncio
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from _wire.errors import ErrorCode
from _wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    Member,
)
from _wire.messages.consumer_group_describe import DescribedGroup as ConsumerGroup
from _wire.messages.describe_groups import DescribedGroup as Answer
from _wire.messages.describe_groups import DescribedGroupMember, DescribeGroupsRequest, DescribeGroupsResponse
from _wire.messages.share_group_describe import DescribedGroup as ShareGroup
from _wire.messages.share_group_describe import ShareGroupDescribeRequest, ShareGroupDescribeResponse
from _wire.messages.streams_group_describe import DescribedGroup as StreamsGroup
from _wire.messages.streams_group_describe import StreamsGroupDescribeRequest, StreamsGroupDescribeResponse
from coordinator.cluster.brokers.tasks import completed
from coordinator.cluster.found import FOUND, Unknown
from coordinator.cluster.ownership import GroupOwnership
from coordinator.cluster.sentinels.described import DescribedGroup
from coordinator.cluster.sentinels.membership import INSTANCE_ID
from coordinator.cluster.sentinels.sentinels import Sentinels

A = DescribedGroupMember(member_id="a-1", client_id="a", client_host="/10.0.0.1")
NO_CONSUMER_GROUP = ConsumerGroup(error_code=ErrorCode.GROUP_ID_NOT_FOUND)
NO_SHARE_GROUP = ShareGroup(error_code=ErrorCode.GROUP_ID_NOT_FOUND)
NO_STREAMS_GROUP = StreamsGroup(error_code=ErrorCode.GROUP_ID_NOT_FOUND)
SENTINEL = DescribedGroupMember(member_id="s-1", client_id="node", group_instance_id=INSTANCE_ID)


def described(
    answer: Answer,
    of_consumers: ConsumerGroup | None = NO_CONSUMER_GROUP,
    of_share: ShareGroup | None = None,
    of_streams: StreamsGroup = NO_STREAMS_GROUP,
) -> tuple[DescribedGroup | ErrorCode, bool | Unknown]:
    """The group, and whether it is free for the nodes. `of_consumers` None: the brokers do not know KIP-848.

    `of_share` None: they know neither share groups nor streams groups.
    """
    versions = {} if of_consumers is None else {ConsumerGroupDescribeRequest.API_KEY: (0, 1)}

    if of_share is not None:
        versions |= {ShareGroupDescribeRequest.API_KEY: (1, 1), StreamsGroupDescribeRequest.API_KEY: (0, 0)}

    def supports(api_key: int, version: int) -> bool:
        lowest, highest = versions.get(api_key, (0, -1))
        return lowest <= version <= highest

    async def coordinator_of(group_id: str, key_type: int) -> int:
        return 0

    async def connection(broker_id: int, purpose: str) -> Any:
        return SimpleNamespace(request=request, requests=SimpleNamespace(supports=supports))

    async def request(message: Any, version_max: int = 99) -> Any:
        if isinstance(message, DescribeGroupsRequest):
            return DescribeGroupsResponse(groups=[answer])
        if isinstance(message, ShareGroupDescribeRequest):
            return ShareGroupDescribeResponse(groups=() if of_share is None else [of_share])
        if isinstance(message, StreamsGroupDescribeRequest):
            return StreamsGroupDescribeResponse(groups=[of_streams])
        assert of_consumers is not None, "a broker that does not know the API closes the connection"
        return ConsumerGroupDescribeResponse(groups=[of_consumers])

    async def ask() -> tuple[DescribedGroup | ErrorCode, bool | Unknown]:
        brokers: Any = SimpleNamespace(coordinator_of=coordinator_of, connection=connection)
        sentinels = Sentinels(brokers)
        found = await completed(sentinels.describe("g"))
        ownership = GroupOwnership(MagicMock(), sentinels, (), lambda: 0)
        finding = await completed(ownership._find("g"))
        return found, finding if isinstance(finding, Unknown) else finding == FOUND

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("answer", "group", "is_free"),
    [
        (Answer(group_state="Stable", members=[SENTINEL]), DescribedGroup("Stable", []), True),
        (Answer(group_state="Stable", members=[SENTINEL, A]), DescribedGroup("Stable", [A]), False),
        (Answer(group_state="PreparingRebalance"), DescribedGroup("PreparingRebalance", [], 1), False),
        (Answer(group_state="Empty"), DescribedGroup("Empty", []), True),
        (Answer(error_code=ErrorCode.GROUP_ID_NOT_FOUND), DescribedGroup("Dead", []), True),
    ],
)
def test_members_other_than_the_sentinel_hold_a_group(answer: Answer, group: DescribedGroup, is_free: bool) -> None:
    found, free = described(answer)
    assert isinstance(found, DescribedGroup)
    assert (found.state, [member.member_id for member in found.members]) == (
        group.state,
        [member.member_id for member in group.members],
    )
    assert (found.unnamed_members, free) == (group.unnamed_members, is_free)


def test_a_refusal_is_not_taken_for_a_group_without_members() -> None:
    refusal = ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert described(Answer(error_code=refusal)) == (refusal, Unknown(refusal))


@pytest.mark.parametrize("answer", [Answer(error_code=ErrorCode.GROUP_ID_NOT_FOUND), Answer(group_state="Dead")])
def test_members_of_the_consumer_protocol_hold_a_group_too(answer: Answer) -> None:
    member = Member(member_id="c-1", instance_id="i", client_id="c", client_host="/10.0.0.2")
    found, is_free = described(answer, ConsumerGroup(group_state="Stable", members=[member]))
    assert isinstance(found, DescribedGroup)
    (told,) = found.members
    assert (told.member_id, told.group_instance_id, told.client_id, told.client_host) == ("c-1", "i", "c", "/10.0.0.2")
    assert (found.state, found.group_type, is_free) == ("Stable", "consumer", False)
    assert described(answer, ConsumerGroup(group_state="Empty")) == (
        DescribedGroup("Empty", [], group_type="consumer"),
        True,
    )
    assert described(answer, None) == (DescribedGroup("Dead", []), True)
    refusal = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert described(answer, ConsumerGroup(error_code=refusal)) == (refusal, Unknown(refusal))


def test_a_group_is_free_where_the_consumer_protocol_is_switched_off() -> None:
    """Brokers offer its APIs then, and refuse them: Kafka 3.9 as it comes, and group.version=0."""
    switched_off = ConsumerGroup(error_code=ErrorCode.UNSUPPORTED_VERSION)
    assert described(Answer(group_state="Dead"), switched_off) == (DescribedGroup("Dead", []), True)


@pytest.mark.parametrize("state", ["Stable", "Empty"])
def test_share_groups_and_streams_groups_stay_with_the_cluster(state: str) -> None:
    """Also without members: the cluster lets no sentinel join them."""
    answer = Answer(group_state="Dead")
    share = ShareGroup(group_state=state)
    assert described(answer, of_share=share) == (DescribedGroup(state, [], group_type="share"), False)
    streams = StreamsGroup(group_state=state)
    found = described(answer, of_share=NO_SHARE_GROUP, of_streams=streams)
    assert found == (DescribedGroup(state, [], group_type="streams"), False)
    assert described(answer, of_share=NO_SHARE_GROUP) == (DescribedGroup("Dead", []), True)
    refusal = ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert described(answer, of_share=ShareGroup(error_code=refusal)) == (refusal, Unknown(refusal))
