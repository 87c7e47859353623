"""ShareGroupHeartbeats that sessions answer without the core: which they are. `tests/core/share/test_histories.py`
compares both ways in random histories."""

from typing import Final

import pytest

from _wire.errors import NONE, ErrorCode
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from coordinator.core.share.workers import INITIALIZE_STATES
from tests.core.consumer.delayed_work import DelayedWork
from tests.core.share.world import ShareWorld
from tests.simulation.simulation import GROUP_ID

INTERVAL_MS: Final = 500
SESSION_MS: Final = 45_000


def settled(*names: str) -> ShareWorld:
    """A group whose members have read that they have all partitions."""
    world = ShareWorld()
    for name in names:
        world.share_enter(name, "t")
    for _ in range(3):
        for name in names:
            world.share_beat(name, world.share.members[name].current.epoch)
    return world


def epoch_of(world: ShareWorld, name: str) -> int:
    return world.share.members[name].current.epoch


def test_a_settled_member_needs_the_core_no_more_and_its_session_goes_on():
    world = settled("a", "b")
    written, epoch = world.written(), epoch_of(world, "a")
    for _ in range(3):
        world.advance(SESSION_MS - 1)
        assert world.share_fast("a", epoch) == world.share_fast("b", epoch) == INTERVAL_MS
    assert world.written() == written
    world.advance(SESSION_MS)
    assert world.share_fast("a", epoch) == -1 and not world.share.members


def test_the_heartbeat_that_brings_an_assignment_is_for_the_core():
    world = ShareWorld()
    epoch = world.share_enter("a", "t").member_epoch
    assert world.share_fast("a", epoch) == -1
    world.share_beat("a", epoch)
    assert world.share_fast("a", epoch_of(world, "a")) == INTERVAL_MS


def test_what_the_member_has_not_sent_before_is_for_the_core():
    world = settled("a")
    epoch = epoch_of(world, "a")
    assert world.share_fast("a", epoch) == INTERVAL_MS
    for answered in (
        world.share_fast("a", epoch + 1),
        world.share_fast("a", epoch - 1),
        world.share_fast("a", 0),
        world.share_fast("a", -1),
        world.share_fast("nobody", epoch),
        world.share_fast("a", epoch, client_id="another"),
        world.share_fast("a", epoch, host="/10.0.0.1"),
    ):
        assert answered == -1


def test_a_heartbeat_of_the_other_protocol_is_for_the_core_which_rejects_it():
    world = settled("a")
    epoch = epoch_of(world, "a")
    assert world.share_fast("a", epoch, api_key=ConsumerGroupHeartbeatRequest.API_KEY) == -1
    answer = world.beat("a", epoch)
    assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_commit_with_the_epoch_of_a_member_is_for_the_core():
    world = settled("a")
    assert NONE not in world.commit_offsets("a", epoch_of(world, "a"), {0: 5})
    assert world.steady_commits == 0


@pytest.mark.parametrize("change", ["join", "leave", "subscribe", "topic", "restart", "connection"])
def test_what_changes_the_group_closes_the_heartbeats(change: str):
    world = settled("a", "b")
    epoch = epoch_of(world, "a")
    assert world.share_fast("a", epoch) == INTERVAL_MS
    if change == "join":
        world.share_enter("c", "t")
    elif change == "leave":
        assert world.share_beat("b", -1).error_code == NONE
    elif change == "subscribe":
        world.share_beat("b", epoch, "u")
    elif change == "topic":
        world.fixed.grow("t", 5)
        world.topics_changed()
    elif change == "connection":
        world.sessions.await_clients([(GROUP_ID, "a")])
    else:
        world.restart()
    assert world.share_fast("a", epoch) == -1


def test_a_member_whose_partitions_are_being_initialized_asks_the_core():
    """After a time they are begun again, which no event says."""
    world = ShareWorld()
    work = DelayedWork(world, (INITIALIZE_STATES,))
    world.share_beat("a", 0, "t")
    for _ in range(3):
        epoch = world.share_beat("a", epoch_of(world, "a")).member_epoch
        assert world.share_fast("a", epoch) == -1
    work.finish()
    for _ in range(3):
        epoch = world.share_beat("a", epoch_of(world, "a")).member_epoch
    assert world.share_fast("a", epoch) == INTERVAL_MS


def test_members_that_wait_for_the_assignment_interval_ask_the_core():
    world = ShareWorld({"group.share.assignment.interval.ms": "1000"})
    world.share_enter("a", "t")
    world.advance(1000)
    for _ in range(3):
        world.share_beat("a", epoch_of(world, "a"))
    world.share_enter("b", "t")
    epoch = world.share_beat("a", epoch_of(world, "a")).member_epoch
    assert world.share.epoch > world.share.target_epoch
    assert world.share_fast("a", epoch) == -1


def test_a_member_that_has_just_changed_its_subscription_asks_the_core_when_the_interval_is_over():
    world = ShareWorld({"group.share.assignment.interval.ms": "1000"})
    world.share_enter("a", "t")
    world.advance(1000)
    for _ in range(3):
        world.share_beat("a", epoch_of(world, "a"))
    world.advance(1)
    epoch = world.share_beat("a", epoch_of(world, "a"), "t", "u").member_epoch
    assert world.share.epoch > world.share.target_epoch
    assert world.share_fast("a", epoch) == -1
