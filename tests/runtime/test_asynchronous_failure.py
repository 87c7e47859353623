"""A store whose appends complete later: those that fail, and those of a load."""

import pytest

from _wire.errors import ErrorCode
from coordinator.core.groups.states import GroupState
from coordinator.runtime.shard import LOAD_RETRY_MS_AT_FIRST, ShardState
from tests.runtime.test_asynchronous_append import DelayedSimulation
from tests.simulation.simulation import GROUP_ID


@pytest.fixture
def sim() -> DelayedSimulation:
    return DelayedSimulation()


def fail(sim: DelayedSimulation) -> None:
    """Let the append that is in flight fail."""
    sim.disk.is_full = True
    sim.complete()
    sim.disk.is_full = sim.store.is_delaying = False


def test_requests_that_wait_fail_with_the_batch(sim):
    (leader,) = sim.stable_with("a")
    waiting = sim.join("b")
    sim.store.is_delaying = True
    in_flight = sim.commit(leader, generation_id=sim.group.generation_id)
    fail(sim)
    assert waiting.error is in_flight.error is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_requests_that_the_batch_would_have_answered_fail_with_it(sim):
    leader, follower = sim.stable_with("a", "b")
    first = sim.join("a", leader)
    sim.store.is_delaying = True
    last = sim.join("b", follower)
    assert sim.group.state is GroupState.COMPLETING_REBALANCE
    assert not first.answered
    assert not last.answered
    fail(sim)
    assert first.error is last.error is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_topics_are_not_forgotten_before_that_is_appended(sim):
    """The tombstones are lost and the topic exists again: the load that follows has to know."""
    sim.commit(offset=1)
    sim.store.is_delaying = True
    sim.delete_topic("t")
    sim.create_topic("t")
    fail(sim)
    sim.advance(LOAD_RETRY_MS_AT_FIRST)
    assert sim.shard.is_active
    assert sim.offsets.by_topic == {}


def test_an_append_that_fails_after_its_partition_was_unloaded_changes_nothing(sim):
    sim.store.is_delaying = True
    committed = sim.commit(offset=1)
    sim.coordinator.unload(0)
    fail(sim)
    sim.advance(LOAD_RETRY_MS_AT_FIRST)
    assert sim.shard.state is ShardState.INACTIVE
    assert committed.error is ErrorCode.NOT_COORDINATOR


# ---- the audit of a load


def load(sim: DelayedSimulation) -> None:
    """Load a partition whose audit ends with a rebalance that was not stored, up to the append that reports it."""
    sim.stable_with("a")
    sim.join("b")
    sim.coordinator.unload(0)
    sim.store.is_delaying = True
    sim.shard.start_loading()
    while not sim.store.in_flight:
        assert not sim.shard.load_next_slice(sim.now_ms)


def test_the_audit_of_a_load_is_appended_once_and_nothing_is_served_before(sim):
    load(sim)
    assert not sim.shard.load_next_slice(sim.now_ms)
    assert len(sim.store.in_flight) == 1
    assert sim.commit().error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    sim.store.complete()
    assert sim.shard.load_next_slice(sim.now_ms)
    assert sim.shard.is_active
    assert sim.group.state is GroupState.STABLE
    assert sim.kinds().count("group.loaded") == 1


def test_a_load_whose_audit_cannot_be_appended_fails(sim):
    load(sim)
    sim.disk.is_full = True
    sim.store.complete()
    assert sim.shard.state is ShardState.FAILED
    assert sim.shard.needs_retry


@pytest.mark.parametrize("is_full", [False, True])
def test_the_audit_of_a_load_that_was_given_up_changes_nothing(sim, is_full):
    load(sim)
    sim.coordinator.unload(0)
    sim.disk.is_full = is_full
    sim.store.complete()
    assert sim.shard.state is ShardState.INACTIVE
    assert not sim.shard.needs_retry
    assert sim.commit().error is ErrorCode.NOT_COORDINATOR


def load_by_coordinator(sim: DelayedSimulation) -> None:
    """As `load`."""
    sim.stable_with("a")
    sim.join("b")
    sim.coordinator.unload(0)
    sim.store.is_delaying = True
    sim.coordinator.load([0])
    sim.end_iteration()
    assert len(sim.store.in_flight) == 1


def test_the_coordinator_serves_the_groups_of_a_load_whose_audit_was_appended_later(sim):
    load_by_coordinator(sim)
    sim.end_iteration()
    sim.complete()
    assert sim.shard.is_active
    assert sim.group.state is GroupState.STABLE
    assert sim.kinds().count("group.loaded") == 1
    assert sim.sessions.members(GROUP_ID) == list(sim.group.members)


def test_the_coordinator_tries_a_load_again_whose_audit_could_not_be_appended(sim):
    load_by_coordinator(sim)
    fail(sim)
    sim.advance(LOAD_RETRY_MS_AT_FIRST)
    assert sim.group.state is GroupState.STABLE


def test_the_loop_sleeps_until_the_audit_of_a_load_is_appended(sim, monkeypatch):
    load_by_coordinator(sim)
    requested: list[None] = []
    monkeypatch.setattr(sim.coordinator, "_request_iteration", lambda: requested.append(None))
    sim.end_iteration()
    assert requested == []
    sim.store.complete()
    assert requested
