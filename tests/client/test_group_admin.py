"""Changes of groups that an administrator asks for, against a real server."""

import pytest

from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from coordinator.client.group_admin import plan_delete_group, remove_members
from coordinator.client.wire import ClientError
from tests.servers import RunningServer
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
