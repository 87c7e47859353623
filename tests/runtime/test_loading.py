"""A partition is loaded and unloaded: the responses to clients meanwhile, and the state afterwards."""

import pytest
from msgspec.structs import replace

from _wire.errors import ErrorCode
from coordinator.config.settings import Config
from coordinator.core.decision import NOTHING
from coordinator.core.groups.states import GroupState
from coordinator.core.kinds import operations
from coordinator.core.kinds.table import new_group
from coordinator.core.stored import Producer
from coordinator.groups import offsets_stream
from coordinator.groups import state_machine as group_state_machine
from coordinator.runtime import coordinator_runtime
from coordinator.runtime.load_progress import LoadProgress
from coordinator.runtime.shard import ShardState
from tests.captured_logs import capture_logs
from tests.groups.failing_groups import commit_for
from tests.simulation.server import SimulatedServer
from tests.simulation.simulation import GROUP_ID, SESSION_TIMEOUT_MS, Simulation


def start_loading(sim):
    sim.coordinator.unload(0)
    sim.coordinator.load([0])


def test_requests_during_a_load_get_load_in_progress(monkeypatch):
    sim = Simulation()
    (member_id,) = sim.stable_with("a")
    start_loading(sim)
    monkeypatch.setattr(coordinator_runtime, "LOAD_SECONDS_AT_ONCE", 0)
    with sim.one_turn():
        asked = [sim.join("b"), sim.commit(), sim.heartbeat(member_id, generation_id=1)]
    loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert [each.error for each in asked] == [loading, loading, ErrorCode.NONE]
    assert sim.shard.state is ShardState.LOADING


def test_a_long_log_is_read_in_slices(monkeypatch):
    sim = Simulation()
    for offset in range(10):
        sim.commit(offset=offset)
    monkeypatch.setattr(offsets_stream, "REPLAYED_AT_ONCE", 3)
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
    monkeypatch.setattr(coordinator_runtime, "LOAD_SECONDS_AT_ONCE", 0)
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
    monkeypatch.setattr("coordinator.groups.coordinator.GROUPS_CHECKED_AT_ONCE", 2)
    sim.shard.machine.groups.update((name, new_group(name)) for name in "abcde")
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


def asked_while_sessions_begin(monkeypatch):
    """A simulation whose partition is being activated, and a commit that came in the meantime."""
    sim = Simulation()
    (member_id,) = sim.stable_with("a")
    for name in ("b", "c", "d"):
        commit_for(sim, name, "t", 1)
    monkeypatch.setattr(group_state_machine, "GROUPS_PER_STEP", 1)
    sim.slice_clock.steps_per_slice = 1
    start_loading(sim)
    refused = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    while sim.shard.state is ShardState.LOADING:
        with sim.one_turn():
            asked = sim.commit(member_id, generation_id=1, offset=2)
        if not asked.answered:
            return sim, asked
        assert asked.error is refused
    raise AssertionError("no request came while sessions began")


def test_what_is_asked_while_sessions_begin_is_answered_a_moment_later(monkeypatch):
    sim, asked = asked_while_sessions_begin(monkeypatch)
    while sim.shard.state is ShardState.LOADING:
        sim.coordinator.drain(sim.now_ms)
    assert asked.error is ErrorCode.NONE
    assert sim.offsets.by_topic["t"][0].offset == 2


def test_what_is_asked_while_sessions_begin_is_refused_when_the_partition_is_unloaded(monkeypatch):
    sim, asked = asked_while_sessions_begin(monkeypatch)
    sim.coordinator.unload(0)
    assert asked.error is ErrorCode.NOT_COORDINATOR
    assert len(sim.sessions) == 0
    assert sim.commit().error is ErrorCode.NOT_COORDINATOR


def test_partitions_share_a_slice_and_other_work_comes_between_them():
    sim = SimulatedServer(Config({}), partitions=5, steps_per_slice=2)
    for partition in range(5):
        sim.coordinator.unload(partition)
    sim.coordinator.load(range(5))
    sim.coordinator.drain(sim.now_ms)
    states = [shard.state for shard in sim.coordinator.shards]
    assert ShardState.ACTIVE in states and ShardState.LOADING in states


def test_progress_is_logged_while_a_load_takes_long():
    progress = LoadProgress("__consumer_offsets", "groups")
    with capture_logs() as lines:
        progress.begin(50, 0.0)
        for seconds, ended in ((1.0, 10), (5.5, 20), (6.0, 5), (11.0, 14)):
            for _ in range(ended):
                progress.ended(2)
            progress.report(seconds)
        progress.ended(2)
        progress.report(12.0)
        progress.report(30.0)
        progress.begin(1, 40.0)
        progress.ended(7)
        progress.report(41.0)
    told = [(line["event"], line["partitions"], line["groups"], line["seconds"]) for line in lines]
    assert told == [
        ("loading groups", "30 of 50", 60, 5.5),
        ("loading groups", "49 of 50", 98, 11.0),
        ("loaded groups", "50 of 50", 100, 12.0),
    ]
