"""A group that failed comes back as it is stored, however often it fails and whatever happens meanwhile."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from _wire.errors import ErrorCode
from coordinator.config.settings import Config
from coordinator.core.classic import members
from coordinator.core.classic.events import GenerationStable
from coordinator.core.classic.group import ClassicGroup
from coordinator.core.decision import NOTHING, Decision, OperationContext
from coordinator.core.event import Event
from coordinator.core.groups.events import GroupCreated
from coordinator.core.groups.group import Group
from coordinator.core.groups.states import GroupState
from coordinator.core.kinds.stored import StoredGroups
from coordinator.core.operation import ADVANCE
from coordinator.core.stored import Producer
from coordinator.groups import offsets_stream
from coordinator.runtime.failed_keys import REBUILD_RETRY_MS_AT_FIRST, REBUILD_RETRY_MS_AT_MOST
from coordinator.runtime.interfaces import Replay, StoreError
from coordinator.runtime.shard import LOAD_RETRY_MS_AT_FIRST, ShardState
from tests.captured_logs import capture_logs
from tests.groups.failing_groups import (
    GENERATION,
    OTHER,
    break_group,
    commit_for,
    committed,
    is_taken,
    make_due,
    offset_of,
    rebuild,
    removed,
    simulation,
)
from tests.groups.kinds import change_kind
from tests.model.stored_log import groups_of, stored_in
from tests.runtime.test_asynchronous_append import DelayedSimulation
from tests.runtime.test_shard import answering, asked_for, drain
from tests.simulation.server import SimulatedServer
from tests.simulation.simulation import GROUP_ID, SESSION_TIMEOUT_MS, Sent, Simulation

RETRIES_MS = [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]


@pytest.fixture
def sim() -> Simulation:
    return simulation()


# ---- what comes back


def test_the_group_comes_back_as_it_is_stored(sim):
    leader, follower = sim.group.members
    sim.commit(leader, generation_id=GENERATION, offset=5)
    sim.commit_in_transaction(Producer(7, 0), offset=6)
    stored = sim.whole_group
    sim.advance(5_000)
    break_group(sim)
    rebuild(sim)
    assert sim.whole_group is not stored
    assert sim.whole_group == replayed(sim)
    assert (sim.group.state, sim.group.generation_id) == (GroupState.STABLE, GENERATION)
    assert list(sim.group.members) == [leader, follower]
    assert sim.offsets == stored.offsets
    assert len(sim.offsets.pending) == 1
    assert sim.sessions.deadline_ms(GROUP_ID, leader) == sim.now_ms + SESSION_TIMEOUT_MS
    assert not is_taken(sim, follower)  # the first heartbeat since a load is decided
    assert sim.heartbeat(follower).error is ErrorCode.NONE
    assert is_taken(sim, follower)
    assert sim.commit(leader, generation_id=GENERATION, offset=8).error is ErrorCode.NONE


def replayed(sim: Simulation) -> Group:
    """The group as a restart finds it."""
    return groups_of(stored_in(sim.offsets_log))[GROUP_ID]


def test_a_rebalance_that_was_under_way_is_forgotten_as_after_a_restart(sim):
    sim.join("c")
    break_group(sim)
    rebuild(sim)
    assert (sim.group.state, sim.group.generation_id, len(sim.group.members)) == (GroupState.STABLE, GENERATION, 2)
    assert sim.timers.deadline_ms(GROUP_ID) is None


def test_a_group_that_its_failing_decision_created_does_not_exist(sim):
    def events_of(group_id: str, now_ms: int) -> list[Event]:
        return [GroupCreated(group_id=group_id, at_ms=now_ms), removed(group_id, now_ms, "nobody")]

    sim.queue_events("new", events_of)
    drain(sim)
    assert set(sim.shard.failed_keys.by_key) == {"new"}
    rebuild(sim)
    assert "new" not in sim.shard.machine.groups
    assert "new" not in sim.shard.projection.groups
    commit_for(sim, "new", "t", 1)
    (created,) = [event for event in sim.audited() if event.group_id == "new"]
    assert (created.seq, created.created_seq) == (sim.audit_log.log_end_offset,) * 2


def test_a_transaction_that_ends_meanwhile_takes_effect(sim):
    producer, unfinished = Producer(7, 0), Producer(8, 0)
    sim.commit_in_transaction(producer, offset=6)
    sim.commit_in_transaction(unfinished, offset=9)
    break_group(sim)
    assert sim.end_transaction(producer).error is ErrorCode.NONE
    rebuild(sim)
    assert offset_of(sim, GROUP_ID, "t") == 6
    assert sim.whole_group == replayed(sim)


def test_a_transaction_that_ends_while_the_log_is_read_takes_effect(sim):
    producer = Producer(7, 0)
    sim.commit_in_transaction(producer, offset=6)
    break_group(sim)
    sim.slice_clock.steps_per_slice = 1
    sim.advance(REBUILD_RETRY_MS_AT_FIRST)
    slices = 0
    while sim.shard.failed_keys.by_key:
        slices += 1
        sim.end_transaction(producer if slices == 5 else Producer(slices + 100, 0))
        assert slices < 1_000
        if slices > 20:
            sim.end_iteration()
    assert slices > 5
    assert offset_of(sim, GROUP_ID, "t") == 6


def test_a_topic_that_is_deleted_meanwhile_is_forgotten_in_the_group_alone(sim):
    """Others commit to the topic of that name that is created next; theirs stay."""
    sim.commit(next(iter(sim.group.members)), generation_id=GENERATION, offset=5)
    break_group(sim)
    sim.delete_topic("t")
    sim.create_topic("t")
    commit_for(sim, OTHER, "t", 8)
    rebuild(sim)
    assert sim.offsets.by_topic == {}
    assert offset_of(sim, OTHER, "t") == 8
    assert replayed(sim).offsets.by_topic == {}


def test_a_topic_is_forgotten_before_what_is_asked_of_the_rebuilt_group(sim):
    (leader, _) = sim.group.members
    sim.commit(leader, generation_id=GENERATION, offset=5)
    break_group(sim)
    sim.delete_topic("t")
    sim.create_topic("t")
    make_due(sim)
    assert sim.commit(leader, generation_id=GENERATION, offset=9).error is ErrorCode.NONE
    assert offset_of(sim, GROUP_ID, "t") == 9


def test_a_topic_whose_deletion_broke_the_group_is_tried_once_more(sim, monkeypatch):
    sim.commit(next(iter(sim.group.members)), generation_id=GENERATION, offset=5)

    def fail(event: object, group: Group) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr("coordinator.core.offsets.events.OffsetsDeleted.apply", fail)
    with capture_logs() as logs:
        sim.delete_topic("t")
        assert set(sim.shard.failed_keys.by_key) == {GROUP_ID, OTHER}
        rebuild_ms = sim.now_ms + REBUILD_RETRY_MS_AT_FIRST
        sim.advance(REBUILD_RETRY_MS_AT_FIRST)
        assert {failed.rebuild_ms for failed in sim.shard.failed_keys.by_key.values()} == {rebuild_ms + 200}
        sim.advance(200)
    assert len([line for line in logs if line["log_level"] == "error"]) == 4
    assert offset_of(sim, GROUP_ID, "t") == 5


def test_topics_are_forgotten_though_the_rebuilt_group_fails_on_the_way(sim, monkeypatch):
    for topic in "tu":
        commit_for(sim, GROUP_ID, topic, 5)
    break_group(sim)
    for topic in "tu":
        sim.delete_topic(topic)
        sim.create_topic(topic)
    failures = failing_again(sim, monkeypatch, 1)
    sim.advance(REBUILD_RETRY_MS_AT_FIRST)
    assert len(failures) == 1
    assert offset_of_stored(sim) == {"u": 5}, "what followed the failure was missed again"
    pass_time(sim, 200)
    assert sim.offsets.by_topic == {}


def offset_of_stored(sim: Simulation) -> dict[str, int]:
    return {topic: offsets[0].offset for topic, offsets in replayed(sim).offsets.by_topic.items()}


def test_a_group_larger_than_allowed_by_now_rebalances(sim):
    break_group(sim)
    sim.coordinator.environment = msgspec.structs.replace(
        sim.environment, config=Config({"group.max.size": "1", "group.initial.rebalance.delay.ms": "0"})
    )
    rebuild(sim)
    assert sim.group.state is GroupState.PREPARING_REBALANCE
    assert sim.timers.deadline_ms(GROUP_ID) is not None


def test_groups_that_fail_together_are_rebuilt_in_one_reading(sim, monkeypatch):
    break_group(sim)
    break_group(sim, OTHER)
    readings = readings_of(sim, monkeypatch)
    rebuild(sim)
    assert set(sim.shard.machine.groups) == {GROUP_ID, OTHER}
    assert [offset for offset in readings if offset == 0] == [0]


def readings_of(sim: Simulation, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """From which offset the log is read from now on, each time."""
    readings = []
    replay = sim.shard.store.replay

    def note(target: Replay, from_offset: int = 0) -> Iterator[None]:
        readings.append(from_offset)
        return replay(target, from_offset)

    monkeypatch.setattr(sim.shard.store, "replay", note)
    return readings


def test_a_long_log_is_read_in_slices_while_others_are_served(sim, monkeypatch):
    monkeypatch.setattr(offsets_stream, "REPLAYED_AT_ONCE", 1)
    for offset in range(20):
        commit_for(sim, OTHER, "t", offset)
    break_group(sim)
    sim.slice_clock.steps_per_slice = 5
    sim.advance(REBUILD_RETRY_MS_AT_FIRST)
    turns = 0
    while sim.shard.failed_keys.by_key:
        assert asked_and_answered(sim)
        turns += 1
    assert turns > 5
    assert sim.group.state is GroupState.STABLE


def test_the_loop_goes_on_until_the_rebuild_ends(sim, monkeypatch):
    break_group(sim)
    sim.slice_clock.steps_per_slice = 1
    requested: list[None] = []
    monkeypatch.setattr(sim.coordinator, "_request_iteration", lambda: requested.append(None))
    sim.clock.advance(REBUILD_RETRY_MS_AT_FIRST)
    (timer,) = sim.wheel.advance(sim.now_ms)
    sim.coordinator.due(timer, sim.now_ms)
    iterations = 0
    while sim.shard.failed_keys.by_key:
        requested.clear()
        sim.coordinator.drain(sim.now_ms)
        iterations += 1
        assert requested
    assert iterations > 5


def asked_and_answered(sim: Simulation) -> bool:
    asked = asked_for(sim, answering, OTHER)
    sim.coordinator.drain(sim.now_ms)
    return asked.error is ErrorCode.NONE


# ---- failures that come again


def failing_again(sim: Simulation, monkeypatch: pytest.MonkeyPatch, times: int) -> list[int]:
    """When the group failed: at first, and after each of its next rebuilds at its first step."""
    failures: list[int] = []

    def fail(group: ClassicGroup, context: OperationContext) -> Decision:
        if group.group_id != GROUP_ID or len(failures) == times:
            return NOTHING
        failures.append(context.now_ms)
        raise ZeroDivisionError("a defect")

    change_kind(monkeypatch, sim.shard.machine, advance=fail)
    context = OperationContext(None, 0, "", "", sim.environment, 0, 0)
    sim.coordinator.enqueue(ADVANCE, GROUP_ID, None, context)
    sim.coordinator.drain(sim.now_ms)
    return failures


def pass_time(sim: Simulation, *delays_ms: int) -> None:
    """The loop has as many iterations as it needs after each delay."""
    for delay_ms in delays_ms:
        sim.advance(delay_ms)
        sim.end_iteration()


def test_a_group_that_fails_again_is_rebuilt_ever_more_rarely(sim, monkeypatch):
    with capture_logs() as logs:
        failures = failing_again(sim, monkeypatch, len(RETRIES_MS) + 1)
        pass_time(sim, *RETRIES_MS)
        assert [later - earlier for earlier, later in pairwise(failures)] == RETRIES_MS
        assert [line["retry_ms"] for line in logs if line["log_level"] == "error"] == [*RETRIES_MS, 10_000]
        assert sim.shard.is_active
        sim.advance(REBUILD_RETRY_MS_AT_MOST)
    assert sim.group.state is GroupState.STABLE


def test_the_delay_is_short_again_when_the_group_was_served_for_a_while(sim, monkeypatch):
    failing_again(sim, monkeypatch, 3)
    pass_time(sim, 100, 200, 400)
    assert sim.exists
    sim.advance(REBUILD_RETRY_MS_AT_MOST - 1)
    (line,) = break_group(sim)
    assert line["retry_ms"] == 800
    sim.advance(800)
    sim.advance(REBUILD_RETRY_MS_AT_MOST)
    (line,) = break_group(sim)
    assert line["retry_ms"] == 100


@pytest.mark.parametrize("problem", [StoreError("Input/output error"), ZeroDivisionError("a defect")])
def test_a_rebuild_that_cannot_read_the_log_is_tried_again(sim, monkeypatch, problem):
    break_group(sim)
    times = []

    def unreadable(groups: StoredGroups, from_offset: int = 0) -> Iterator[None]:
        times.append(sim.now_ms)
        raise problem

    failed_at = sim.now_ms
    monkeypatch.setattr(sim.shard.store, "replay", unreadable)
    with capture_logs() as logs:
        pass_time(sim, 100, 200, 400)
    assert [line["log_level"] for line in logs] == ["error"] * 3
    assert {bool(line.get("exc_info")) for line in logs} == {isinstance(problem, ZeroDivisionError)}
    assert [(line["keys"], line["count"]) for line in logs] == [([GROUP_ID], 1)] * 3
    assert times == [failed_at + 100, failed_at + 300, failed_at + 700]
    assert asked_and_answered(sim)
    monkeypatch.undo()
    sim.advance(800)
    assert sim.group.state is GroupState.STABLE


def test_a_group_that_cannot_be_served_is_rebuilt_again_without_the_others(sim, monkeypatch):
    break_group(sim)
    break_group(sim, OTHER)
    failures_left = [ZeroDivisionError("a defect")]

    def fail_once(group: ClassicGroup, environment: object) -> Any:
        if group.group_id == GROUP_ID and failures_left:
            raise failures_left.pop()
        return members.sessions_of_loaded_group(group, environment)

    change_kind(monkeypatch, sim.shard.machine, effects_of_loaded=fail_once)
    sim.advance(REBUILD_RETRY_MS_AT_FIRST)
    assert list(sim.shard.machine.groups) == [OTHER]
    sim.delete_topic("t")
    sim.advance(200)
    assert (sim.group.state, len(sim.sessions.members(GROUP_ID))) == (GroupState.STABLE, 2)


# ---- the partition goes meanwhile


@pytest.mark.parametrize("being_rebuilt", [False, True])
def test_a_partition_that_is_given_up_drops_the_rebuild(sim, being_rebuilt):
    break_group(sim)
    if being_rebuilt:
        sim.slice_clock.steps_per_slice = 1
        sim.advance(REBUILD_RETRY_MS_AT_FIRST)
        sim.end_iteration()
    sim.coordinator.unload(0)
    assert sim.timers.deadline_ms(GROUP_ID) is None
    sim.advance(60_000)
    assert sim.shard.machine.groups == {}
    assert sim.commit().error is ErrorCode.NOT_COORDINATOR
    sim.slice_clock.steps_per_slice = 100
    sim.coordinator.load([0])
    sim.end_iteration()
    assert set(sim.shard.machine.groups) == {GROUP_ID, OTHER}
    assert sim.group.state is GroupState.STABLE


def test_a_rebuild_that_was_read_is_dropped_with_the_partition(sim):
    break_group(sim)
    make_due(sim)
    assert sim.shard.failed_keys.next_slice(sim.now_ms, lambda: False)
    sim.coordinator.unload(0)
    sim.coordinator.load([0])
    sim.end_iteration()
    assert sim.shard.failed_keys.rebuilt == []
    assert set(sim.shard.machine.groups) == {GROUP_ID, OTHER}


def test_an_append_that_fails_meanwhile_brings_the_group_back_with_its_partition(sim):
    break_group(sim)
    sim.disk.is_full = True
    sim.queue_events(OTHER, lambda group_id, now_ms: [committed(group_id, "t", 9, now_ms)])
    drain(sim)
    assert sim.shard.state is ShardState.FAILED
    sim.disk.is_full = False
    sim.advance(LOAD_RETRY_MS_AT_FIRST)
    assert sim.shard.failed_keys.by_key == {}
    assert set(sim.shard.machine.groups) == {GROUP_ID, OTHER}


# ---- appends that complete later


@pytest.fixture
def delayed() -> DelayedSimulation:
    sim = DelayedSimulation()
    sim.stable_with("a", "b")
    commit_for(sim, OTHER, "t", 7)
    sim.store.is_delaying = True
    return sim


def fail_in_flight(sim: DelayedSimulation) -> Sent:
    """A batch is in flight in which the group committed, and then broke an invariant."""
    with sim.one_turn():
        first = sim.commit(next(iter(sim.group.members)), generation_id=GENERATION, offset=5)
        sim.queue_events(GROUP_ID, lambda *_: [removed(GROUP_ID, 0, "nobody")])
    return first


def test_a_rebuild_waits_until_the_batch_of_the_failure_is_appended(delayed):
    committing = fail_in_flight(delayed)
    delayed.advance(10 * REBUILD_RETRY_MS_AT_FIRST)
    assert not committing.answered
    assert delayed.shard.failed_keys.by_key
    delayed.store.is_delaying = False
    delayed.complete()
    assert committing.error is ErrorCode.NONE
    delayed.end_iteration()
    assert offset_of(delayed, GROUP_ID, "t") == 5


def test_a_batch_of_the_failure_that_cannot_be_appended_takes_the_partition_with_it(delayed):
    committing = fail_in_flight(delayed)
    delayed.disk.is_full = True
    delayed.complete()
    delayed.disk.is_full = delayed.store.is_delaying = False
    assert committing.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    delayed.advance(LOAD_RETRY_MS_AT_FIRST)
    assert delayed.offsets.by_topic == {}
    assert delayed.group.state is GroupState.STABLE


def test_no_slice_is_read_while_a_batch_is_in_flight(delayed, monkeypatch):
    """And the loop sleeps until it is appended."""
    delayed.store.is_delaying = False
    break_group(delayed)
    delayed.slice_clock.steps_per_slice = 1
    delayed.advance(REBUILD_RETRY_MS_AT_FIRST)
    delayed.store.is_delaying = True
    other = asked_for(delayed, lambda context: Decision((committed(OTHER, "t", 9, context.now_ms),)), OTHER)
    delayed.coordinator.drain(delayed.now_ms)
    slices: list[None] = []
    requested: list[None] = []
    next_slice = delayed.shard.failed_keys.next_slice

    def counted(*now: Any) -> Any:
        slices.append(None)
        return next_slice(*now)

    monkeypatch.setattr(delayed.shard.failed_keys, "next_slice", counted)
    monkeypatch.setattr(delayed.coordinator, "_request_iteration", lambda: requested.append(None))
    delayed.end_iteration()
    assert (slices, requested) == ([], [])
    delayed.store.is_delaying = False
    delayed.store.complete()
    assert requested
    while delayed.shard.failed_keys.by_key:
        delayed.end_iteration()
    assert slices
    assert not other.answered, "it was decided without a reply"
    assert delayed.group.state is GroupState.STABLE


def test_one_partition_is_rebuilt_at_a_time():
    server = SimulatedServer(Config({}), partitions=2)
    coordinator = server.coordinator
    group_ids = [next(name for name in "abcdef" if coordinator.partition_of(name) == each) for each in range(2)]
    for group_id in group_ids:
        server.queue_events(group_id, lambda group_id, now_ms: [GroupCreated(group_id=group_id, at_ms=now_ms)])
        server.queue_events(
            group_id, lambda group_id, now_ms: [GenerationStable(group_id=group_id, at_ms=now_ms, generation_id=5)]
        )
    with capture_logs():
        coordinator.drain(server.now_ms)
    server.advance(REBUILD_RETRY_MS_AT_FIRST - 1)
    server.clock.advance(1)
    server.end_iteration()
    left = []
    for _ in range(2):
        server.end_iteration()
        left.append(sum(len(shard.failed_keys.by_key) for shard in coordinator.shards))
    assert left == [1, 0]
