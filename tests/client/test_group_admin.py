"""Changes of groups that an administrator asks for, against a real server."""

from collections.abc import Iterator

import pytest

from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from _wire.messages.delete_topics import DeleteTopicsRequest
from _wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from coordinator.client.cluster import EARLIEST
from coordinator.client.group_admin import (
    OffsetChange,
    OffsetsMoved,
    Target,
    change_offsets,
    delete_group,
    plan_delete_group,
    plan_delete_offsets,
    plan_reset,
    remove_members,
)
from coordinator.client.wire import ClientError
from tests.servers import RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient


@pytest.fixture
def consumer_group(server: RunningServer) -> str:
    """A consumer group with the member `only`."""
    with WireClient(server.bootstrap) as client:
        joining = ConsumerGroupHeartbeatRequest(
            group_id="administered",
            member_id="only",
            rebalance_timeout_ms=30_000,
            subscribed_topic_names=["administered"],
            topic_partitions=[],
        )
        assert client.request(joining, 1).error_code == 0
    return "administered"


def test_the_members_of_a_consumer_group_are_in_a_plan(server: RunningServer, consumer_group: str) -> None:
    (member,) = plan_delete_group(server.bootstrap, consumer_group).members
    assert (member.member_id, member.partitions, member.member_epoch) == ("only", {}, 2)
    remove_members(server.bootstrap, consumer_group, ["only"], "a test")


def test_a_member_of_a_consumer_group_is_removed(server: RunningServer, consumer_group: str) -> None:
    remove_members(server.bootstrap, consumer_group, ["only"], "a test")
    assert plan_delete_group(server.bootstrap, consumer_group).members == []


def test_one_that_is_no_member_is_not_removed(server: RunningServer, consumer_group: str) -> None:
    with pytest.raises(ClientError, match="group administered has no member other; nobody was removed"):
        remove_members(server.bootstrap, consumer_group, ["only", "other"], "a test")
    remove_members(server.bootstrap, consumer_group, ["only"], "a test")


@pytest.fixture
def share_group(server: RunningServer) -> Iterator[str]:
    """A share group that reads the two partitions of `queued`, from where its first fetch is to say."""
    with WireClient(server.bootstrap) as client:
        client.create_topic("queued", 2)
        for epoch in (0, -1):
            beat = ShareGroupHeartbeatRequest(
                group_id="queue", member_id="only", member_epoch=epoch, subscribed_topic_names=["queued"]
            )
            assert client.request(beat, 1).error_code == 0
    wait_for(lambda: plan_delete_group(server.bootstrap, "queue").offsets, 10, "states of the share group")
    yield "queue"
    delete_group(server.bootstrap, "queue")
    assert plan_delete_group(server.bootstrap, "queue").offsets == []
    with WireClient(server.bootstrap) as client:
        deleted = client.request(DeleteTopicsRequest(topic_names=["queued"], timeout_ms=5000), 5)
        assert deleted.responses[0].error_code == 0


def test_a_share_group_is_reset_and_forgets_a_topic(server: RunningServer, share_group: str) -> None:
    plan = plan_reset(server.bootstrap, share_group, Target(timestamp=EARLIEST))
    assert plan.offsets == [OffsetChange("queued", each, None, 0) for each in (0, 1)]
    assert plan.members == []
    change_offsets(server.bootstrap, share_group, plan.offsets[:1])
    with pytest.raises(OffsetsMoved):
        change_offsets(server.bootstrap, share_group, plan.offsets)
    lost = plan_delete_offsets(server.bootstrap, share_group, "queued").offsets
    assert lost == [OffsetChange("queued", 0, 0, None), OffsetChange("queued", 1, None, None)]
    change_offsets(server.bootstrap, share_group, lost)
    with pytest.raises(ClientError, match="has no offsets of it"):
        plan_delete_offsets(server.bootstrap, share_group, "queued")


def test_a_share_group_with_members_is_not_reset(server: RunningServer, share_group: str) -> None:
    def beat(epoch: int) -> int:
        request = ShareGroupHeartbeatRequest(
            group_id=share_group, member_id="only", member_epoch=epoch, subscribed_topic_names=["queued"]
        )
        with WireClient(server.bootstrap) as client:
            error: int = client.request(request, 1).error_code
            return error

    assert beat(0) == 0
    plan = plan_reset(server.bootstrap, share_group, Target(offset=0))
    assert [member.member_id for member in plan.members] == ["only"]
    with pytest.raises(ClientError, match="NON_EMPTY_GROUP"):
        change_offsets(server.bootstrap, share_group, plan.offsets)
    assert beat(-1) == 0
