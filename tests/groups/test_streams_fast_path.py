"""StreamsGroupHeartbeats that sessions answer without the core: which they are. `tests/core/streams/test_histories.py`
compares both ways in random histories."""

from typing import Final

import pytest

from _wire.errors import NONE, ErrorCode
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from coordinator.core.streams import target
from coordinator.core.streams.workers import COMPUTE_STREAMS_TARGET
from tests.core.consumer.delayed_work import DelayedWork
from tests.core.streams.world import NO_TASKS, StreamsWorld, part, topology
from tests.simulation.simulation import GROUP_ID

INTERVAL_MS: Final = 500
SESSION_MS: Final = 45_000
ENDPOINT: Final = ("host", 1)


def settle(world: StreamsWorld, *names: str, endpoint_epoch: int = 0) -> None:
    """Each member tells what it has until nothing changes, and then says nothing once."""
    for _ in range(3):
        for name in names:
            world.streams_beat(name, epoch_of(world, name), owned=world.has(name), endpoint_epoch=endpoint_epoch)
    for name in names:
        world.streams_beat(name, epoch_of(world, name), endpoint_epoch=endpoint_epoch)


def settled(*names: str) -> StreamsWorld:
    world = StreamsWorld(topics={"t": 3})
    for name in names:
        world.streams_enter(name)
    settle(world, *names)
    return world


def epoch_of(world: StreamsWorld, name: str) -> int:
    return world.streams.members[name].current.epoch


def test_a_settled_member_needs_the_core_no_more_and_its_session_goes_on():
    world = settled("a", "b")
    written, epoch = world.written(), epoch_of(world, "a")
    for _ in range(3):
        world.advance(SESSION_MS - 1)
        assert world.streams_fast("a", epoch) == world.streams_fast("b", epoch) == INTERVAL_MS
    assert world.written() == written
    world.advance(SESSION_MS)
    assert world.streams_fast("a", epoch) == -1 and not world.streams.members


def test_the_heartbeat_that_brings_tasks_is_for_the_core():
    world = StreamsWorld(topics={"t": 3})
    epoch = world.streams_enter("a").member_epoch
    assert world.streams_fast("a", epoch) == -1
    settle(world, "a")
    assert world.streams_fast("a", epoch_of(world, "a")) == INTERVAL_MS


def test_what_the_member_has_not_sent_before_is_for_the_core():
    world = settled("a")
    epoch = epoch_of(world, "a")
    assert world.streams_fast("a", epoch) == INTERVAL_MS
    for answered in (
        world.streams_fast("a", epoch + 1),
        world.streams_fast("a", epoch - 1),
        world.streams_fast("a", 0),
        world.streams_fast("a", -1),
        world.streams_fast("nobody", epoch),
        world.streams_fast("a", epoch, client_id="another"),
        world.streams_fast("a", epoch, host="/10.0.0.1"),
        world.streams_fast("a", epoch, endpoint_epoch=1),
    ):
        assert answered == -1


def test_a_heartbeat_of_another_protocol_is_for_the_core_which_rejects_it():
    world = settled("a")
    epoch = epoch_of(world, "a")
    assert world.streams_fast("a", epoch, api_key=ConsumerGroupHeartbeatRequest.API_KEY) == -1
    assert world.beat("a", epoch).error_code == ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("change", ["join", "leave", "shutdown", "tags", "topic", "restart", "connection"])
def test_what_changes_the_group_closes_the_heartbeats(change: str):
    world = settled("a", "b")
    epoch = epoch_of(world, "a")
    assert world.streams_fast("a", epoch) == INTERVAL_MS
    if change == "join":
        world.streams_enter("c")
    elif change == "leave":
        assert world.streams_beat("b", -1).error_code == NONE
    elif change == "shutdown":
        world.streams_beat("b", epoch, shuts_down=True)
    elif change == "tags":
        world.streams_beat("b", epoch, tags={"zone": "1"})
    elif change == "topic":
        world.fixed.grow("t", 5)
        world.topics_changed()
    elif change == "connection":
        world.sessions.await_clients([(GROUP_ID, "a")])
    else:
        world.restart()
    assert world.streams_fast("a", epoch) == -1


def test_who_is_told_a_status_asks_the_core():
    """Of internal topics that cannot be created it changes with the time alone."""
    world = StreamsWorld(topics={"t": 3})
    world.creation.fails["log"] = "no room"
    world.streams_enter("a", runs=topology(part("0", changelogs=["log"])))
    settle(world, "a")
    assert world.streams_fast("a", epoch_of(world, "a")) == -1
    del world.creation.fails["log"]
    world.advance(2_000)
    settle(world, "a")
    assert world.streams_fast("a", epoch_of(world, "a")) == INTERVAL_MS


def test_an_older_topology_is_told_so_by_the_core():
    world = StreamsWorld(topics={"t": 3})
    world.streams_enter("a", runs=topology(epoch=1))
    world.streams_enter("b", runs=topology(epoch=0))
    settle(world, "a", "b")
    assert world.streams_fast("a", epoch_of(world, "a")) == INTERVAL_MS
    assert world.streams_fast("b", epoch_of(world, "b")) == -1


def test_members_that_are_to_give_up_tasks_or_wait_for_them_need_the_core_when_one_has_given_up():
    world = settled("a")
    world.streams_enter("b")
    world.streams_beat("a", epoch_of(world, "a"))
    for name in "abab":
        world.streams_beat(name, epoch_of(world, name))
    assert {world.streams_fast(name, epoch_of(world, name)) for name in "ab"} == {INTERVAL_MS}
    world.streams_beat("a", epoch_of(world, "a"), owned=world.has("a"))
    assert world.streams_fast("b", epoch_of(world, "b")) == -1
    assert world.streams_beat("b", epoch_of(world, "b")).active_tasks


def test_members_that_wait_for_the_assignment_interval_ask_the_core():
    world = StreamsWorld({"group.streams.assignment.interval.ms": "1000"}, topics={"t": 3})
    world.streams_enter("a")
    settle(world, "a")
    world.streams_enter("b")
    world.streams_beat("a", epoch_of(world, "a"))
    assert world.streams.epoch > world.streams.target_epoch
    assert world.streams_fast("a", epoch_of(world, "a")) == -1


def test_members_of_a_target_that_is_computed_beside_the_requests_ask_the_core(monkeypatch):
    monkeypatch.setattr(target, "PLACES_AT_ONCE", 1)
    world = StreamsWorld(topics={"t": 3})
    work = DelayedWork(world, (COMPUTE_STREAMS_TARGET,))
    world.streams_enter("a")
    settle(world, "a")
    assert world.streams_fast("a", epoch_of(world, "a")) == -1
    work.finish()
    settle(world, "a")
    assert world.streams_fast("a", epoch_of(world, "a")) == INTERVAL_MS


def test_a_member_that_knows_the_endpoints_needs_the_core_no_more_until_they_change():
    world = StreamsWorld(topics={"t": 3})
    world.streams_enter("b")
    world.streams_enter("a", endpoint=ENDPOINT)
    settle(world, "a", "b")
    known = world.streams.endpoint_epoch
    assert known > 0
    settle(world, "a", "b", endpoint_epoch=known)
    assert world.streams_fast("a", epoch_of(world, "a"), endpoint_epoch=known) == INTERVAL_MS
    assert world.streams_fast("a", epoch_of(world, "a"), endpoint_epoch=known - 1) == -1
    world.streams_enter("c", endpoint=("other", 2))
    assert world.streams_fast("a", epoch_of(world, "a"), endpoint_epoch=known) == -1


def test_who_asks_for_the_endpoints_is_told_them_by_the_core_each_time():
    """A member that has not heard of their epoch: the answer has them, and that is no heartbeat that says nothing."""
    world = settled("a")
    world.streams_beat("a", epoch_of(world, "a"), endpoint_epoch=-1)
    assert world.streams_fast("a", epoch_of(world, "a"), endpoint_epoch=-1) == -1
    assert world.streams_beat("a", epoch_of(world, "a"), endpoint_epoch=-1).partitions_by_user_endpoint == []


def test_a_member_without_tasks_needs_the_core_no_more():
    world = StreamsWorld(topics={"t": 1})
    world.streams_enter("a")
    world.streams_enter("b", owned=(NO_TASKS, NO_TASKS))
    settle(world, "a", "b")
    assert {world.streams_fast(name, epoch_of(world, name)) for name in "ab"} == {INTERVAL_MS}
