"""A partition is loaded and unloaded: the responses to clients meanwhile, and the state afterwards."""

from dataclasses import replace

import pytest

from _wire.errors import ErrorCode
from coordinator.config import Config
from coordinator.core import operations
from coordinator.core.committed_offsets import Producer
from coordinator.core.decision import NOTHING
from coordinator.core.group import Group
from coordinator.core.states import GroupState
from coordinator.runtime import group_coordinator, store
from coordinator.runtime.shard import ShardState
from tests.simulation.simulation import GROUP_ID, SESSION_TIMEOUT_MS, Simulation


def start_loading(sim):
    sim.coordinator.unload(0)
    sim.coordinator.load([0])


def test_requests_during_a_load_get_load_in_progress(monkeypatch):
    sim = Simulation()
    (member_id,) = sim.stable_with("a")
    start_loading(sim)
    monkeypatch.setattr(group_coordinator, "LOAD_SECONDS_AT_ONCE", 0)
    with sim.one_turn():
        asked = [sim.join("b"), sim.commit(), sim.heartbeat(member_id, generation_id=1)]
    loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert [each.error for each in asked] == [loading, loading, ErrorCode.NONE]
    assert sim.shard.state is ShardState.LOADING


def test_a_long_log_is_read_in_slices(monkeypatch):
    sim = Simulation()
    for offset in range(10):
        sim.commit(offset=offset)
    monkeypatch.setattr(store, "REPLAYED_AT_ONCE", 3)
    sim.slice_clock.steps_per_slice = 3
    start_loading(sim)
    turns = 0
    while sim.shard.state is ShardState.LOADING:
        sim.coordinator.drain(sim.now_ms)
        turns += 1
    assert turns > 2
    assert next(iter(sim.offsets.by_topic["t"].values())).offset == 9


def test_requests_to_an_unloaded_partition_get_not_coordinator():
    sim = Simulation()
    leader, follower = sim.stable_with("a", "b")
    waiting = sim.join("a", leader)
    with sim.one_turn():
        queued = sim.commit(follower, generation_id=2)
        sim.coordinator.unload(0)
    after = sim.heartbeat(follower, generation_id=2)
    assert [each.error for each in (waiting, queued, after)] == [ErrorCode.NOT_COORDINATOR] * 3
    assert (sim.shard.machine.groups, len(sim.sessions), sim.timers.deadline_ms(GROUP_ID)) == ({}, 0, None)


def test_a_waiting_sync_of_an_unloaded_partition_gets_not_coordinator():
    sim = Simulation()
    leader, follower = sim.stable_with("a", "b")
    sim.join("a", leader, metadata=b"x")
    sim.join("b", follower)
    waiting = sim.sync(follower)
    sim.coordinator.unload(0)
    assert waiting.error is ErrorCode.NOT_COORDINATOR


def test_a_partition_may_be_unloaded_during_its_load(monkeypatch):
    sim = Simulation()
    sim.stable_with("a")
    monkeypatch.setattr(group_coordinator, "LOAD_SECONDS_AT_ONCE", 0)
    start_loading(sim)
    sim.coordinator.drain(sim.now_ms)
    sim.coordinator.unload(0)
    sim.advance(60_000)
    assert sim.shard.state is ShardState.INACTIVE
    assert sim.commit().error is ErrorCode.NOT_COORDINATOR


def test_an_unloaded_partition_can_be_loaded_again():
    sim = Simulation()
    (member_id,) = sim.stable_with("a")
    start_loading(sim)
    sim.coordinator.drain(sim.now_ms)
    assert (sim.group.state, sim.group.generation_id) == (GroupState.STABLE, 1)
    assert sim.sessions.deadline_ms(GROUP_ID, member_id) == sim.now_ms + SESSION_TIMEOUT_MS
    assert sim.heartbeat(member_id).error is ErrorCode.NONE


def test_a_group_larger_than_allowed_by_now_rebalances_and_refuses_the_last():
    sim = Simulation()
    ids = sim.stable_with("a", "b", "c")
    sim.config = Config({"group.max.size": "2", "group.initial.rebalance.delay.ms": "0"})
    sim.restart()
    assert sim.group.state is GroupState.PREPARING_REBALANCE
    assert [event.cause for event in sim.audited() if hasattr(event, "cause")][-1] == "group_too_large"
    first, second, third = [sim.join("again", member_id) for member_id in ids]
    assert third.error is ErrorCode.GROUP_MAX_SIZE_REACHED
    sim.advance(60_000)
    assert first.answered and second.answered
    assert set(sim.group.members) == set(ids[:2])


@pytest.mark.parametrize("size", [3, 4])
def test_a_group_that_fits_stays_as_it_is(size):
    sim = Simulation()
    sim.stable_with("a", "b", "c")
    sim.config = Config({"group.max.size": str(size)})
    sim.restart()
    assert sim.group.state is GroupState.STABLE


def test_offsets_are_looked_at_once_per_interval_and_an_empty_group_goes():
    sim = Simulation({"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "50000"})
    sim.commit(offset=7)
    sim.advance(99_999)
    assert sim.exists
    sim.advance(1)
    assert not sim.exists
    assert sim.kinds() == ["group.created", "offsets.committed", "offsets.expired", "group.removed"]
    sim.restart()
    assert not sim.exists


def test_after_a_restart_there_is_still_one_look_per_interval(monkeypatch):
    sim = Simulation({"offsets.retention.check.interval.ms": "1000"})
    for _ in range(3):
        sim.disk.is_full = True
        sim.commit()
        sim.disk.is_full = False
        sim.advance(200)
    assert sim.shard.is_active
    sim.commit()
    checks = checks_of(sim, monkeypatch)
    sim.advance(10_000)
    assert len(checks) == 10


def checks_of(sim, monkeypatch):
    """Time and group id of each check of a group's offsets from now on."""
    checks = []

    def expire(group, request, context):
        checks.append((context.now_ms, group.group_id))
        return NOTHING

    monkeypatch.setattr(operations, "EXPIRE_OFFSETS", replace(operations.EXPIRE_OFFSETS, decide=expire))
    return checks


def test_many_groups_are_looked_at_in_slices(monkeypatch):
    sim = Simulation({"offsets.retention.check.interval.ms": "1000"})
    monkeypatch.setattr("coordinator.runtime.group_coordinator.GROUPS_CHECKED_AT_ONCE", 2)
    sim.shard.machine.groups.update((name, Group(name)) for name in "abcde")
    checks = checks_of(sim, monkeypatch)
    start_ms = sim.now_ms
    sim.advance(1_500)
    assert [(at_ms - start_ms, name) for at_ms, name in checks] == [
        (1000, "a"),
        (1000, "b"),
        (1001, "c"),
        (1001, "d"),
        (1002, "e"),
    ]


def test_an_empty_group_that_never_had_offsets_goes_at_the_next_look():
    sim = Simulation({"offsets.retention.check.interval.ms": "50000"})
    (member_id,) = sim.stable_with("a")
    sim.advance(20_000)
    sim.leave(member_id)
    sim.advance(29_999)
    assert sim.exists
    sim.advance(1)
    assert not sim.exists


def test_an_empty_group_stays_as_long_as_a_transaction_is_open_for_it():
    sim = Simulation({"offsets.retention.check.interval.ms": "50000"})
    producer = Producer(7, 0)
    sim.commit_in_transaction(producer)
    sim.advance(200_000)
    assert sim.exists
    sim.end_transaction(producer, committed=False)
    sim.advance(50_000)
    assert not sim.exists
