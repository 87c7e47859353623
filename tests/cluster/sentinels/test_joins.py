"""What a sentinel that cannot join says of its group at the cluster."""

import asyncio
from typing import Any

import pytest

from _wire.errors import ErrorCode
from _wire.messages.describe_groups import DescribedGroupMember
from coordinator.cluster.sentinels import membership, sentinels
from coordinator.cluster.sentinels.described import CONSUMER, DescribedGroup
from coordinator.cluster.sentinels.sentinels import Sentinels

MEMBERS = DescribedGroup("Stable", [DescribedGroupMember(member_id="m")], group_type=CONSUMER)


class Brokers:
    """One broker, which coordinates all groups."""

    async def coordinator_of(self, key: str, key_type: int) -> int:
        return 1

    async def connection(self, broker_id: int, purpose: str) -> Any:
        return None


def joined(monkeypatch: pytest.MonkeyPatch, error: ErrorCode, described: DescribedGroup | ErrorCode) -> Any:
    async def join(connection: Any, group_id: str, broker_id: int) -> ErrorCode:
        return error

    async def describe(connection: Any, group_id: str) -> DescribedGroup | ErrorCode:
        return described

    monkeypatch.setattr(membership, "join", join)
    monkeypatch.setattr(sentinels, "describe", describe)

    async def run() -> Any:
        opened: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        brokers: Any = Brokers()
        Sentinels(brokers).open("g", opened.set_result)
        return await opened

    return asyncio.run(run())


def test_a_consumer_group_with_members_that_fails_in_the_join_is_the_clusters(monkeypatch: pytest.MonkeyPatch):
    assert joined(monkeypatch, ErrorCode.UNKNOWN_SERVER_ERROR, MEMBERS) in sentinels.HELD_BY_CLUSTER


@pytest.mark.parametrize("described", [DescribedGroup("Empty", []), ErrorCode.GROUP_AUTHORIZATION_FAILED])
def test_another_failure_says_nothing_of_members(
    monkeypatch: pytest.MonkeyPatch, described: DescribedGroup | ErrorCode
):
    assert joined(monkeypatch, ErrorCode.UNKNOWN_SERVER_ERROR, described) is ErrorCode.UNKNOWN_SERVER_ERROR
