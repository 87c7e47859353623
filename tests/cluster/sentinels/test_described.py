"""A group at the cluster as it is described to a node: without the sentinel."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from _wire.errors import ErrorCode
from _wire.messages.describe_groups import DescribedGroup as Answer
from _wire.messages.describe_groups import DescribedGroupMember, DescribeGroupsResponse
from coordinator.cluster.sentinels.membership import INSTANCE_ID
from coordinator.cluster.sentinels.sentinels import DescribedGroup, Sentinels

A = DescribedGroupMember(member_id="a-1", client_id="a", client_host="/10.0.0.1")
SENTINEL = DescribedGroupMember(member_id="s-1", client_id="node", group_instance_id=INSTANCE_ID)


def described(answer: Answer) -> tuple[DescribedGroup | ErrorCode, bool | ErrorCode]:
    """The group, and whether it is free for the nodes."""

    async def coordinator_of(group_id: str, key_type: int) -> int:
        return 0

    async def connection(broker_id: int, purpose: str) -> Any:
        return SimpleNamespace(request=request)

    async def request(message: Any, version_max: int) -> DescribeGroupsResponse:
        return DescribeGroupsResponse(groups=[answer])

    async def ask() -> tuple[DescribedGroup | ErrorCode, bool | ErrorCode]:
        brokers: Any = SimpleNamespace(coordinator_of=coordinator_of, connection=connection)
        sentinels = Sentinels(brokers)
        return await sentinels.describe("g"), await sentinels.is_free("g")

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
    assert (found.state, [each.member_id for each in found.members]) == (
        group.state,
        [each.member_id for each in group.members],
    )
    assert (found.unnamed_members, free) == (group.unnamed_members, is_free)


def test_a_refusal_is_not_taken_for_a_group_without_members() -> None:
    refusal = ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert described(Answer(error_code=refusal)) == (refusal, refusal)
