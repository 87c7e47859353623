"""What attacks on consumer groups cost a turn of the event loop, in calls of functions instead of time."""

import pytest

from _wire.headers import encode_request
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from _wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from _wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tests.hostile.in_process import LENGTH_BYTES, InProcessServer, Peer

CALLS_OF_A_TURN_MAX = 100_000
"""About 13 ms; the slices of a turn take half of it."""
MEMBERS = 600
NAMES = 60_000
SETTINGS = {"group.consumer.assignment.interval.ms": "0"}
"""A target for each member that joins: with the default most members get the same one."""


@pytest.fixture
def server():
    with InProcessServer(SETTINGS) as running:
        yield running


def joining(member_id: str, *names: str) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id=member_id,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=list(names),
        topic_partitions=[],
    )


def create(peer: Peer, name: str, partitions: int) -> None:
    topics = [CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)]
    assert peer.request(CreateTopicsRequest(topics=topics), 7).topics[0].error_code == 0


def join_together(server: InProcessServer) -> None:
    """By one connection, all at once: each answer is followed by the next request."""
    peer = Peer(server)
    requests = [encode_request(7, "client", joining(f"m{number}", "t"), 1) for number in range(MEMBERS)]
    peer.send(b"".join(requests))
    server.turn_until(lambda: answers(peer) == MEMBERS)


def answers(peer: Peer) -> int:
    """How many frames the peer has received."""
    count = place = 0
    while place < len(peer.received):
        place += LENGTH_BYTES + int.from_bytes(peer.received[place : place + LENGTH_BYTES], "big")
        count += 1
    return count


def test_members_that_join_together(server):
    create(Peer(server), "t", 500)
    server.calls_max = 0
    join_together(server)
    assert server.calls_max < CALLS_OF_A_TURN_MAX


def test_all_members_leave_with_one_request_each_named_many_times(server):
    peer = Peer(server)
    join_together(server)
    server.calls_max = 0
    named = [MemberIdentity(member_id=f"m{number}") for number in range(MEMBERS)] * 40
    left = peer.request(LeaveGroupRequest(group_id="g", members=named), 5)
    assert {member.error_code for member in left.members} == {0}
    assert server.calls_max < CALLS_OF_A_TURN_MAX


def test_very_many_names(server):
    peer = Peer(server)
    create(peer, "t", 1)
    server.calls_max = 0
    names = [f"n{number}" for number in range(NAMES)]
    assert peer.request(joining("m", "t", *names), 1).member_epoch == 2
    assert peer.request(joining("other", "t"), 1).member_epoch == 3
    assert server.calls_max < CALLS_OF_A_TURN_MAX
