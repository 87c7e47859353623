"""An operation with much to apply: it takes several turns, and looks from outside as if it took one."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import pytest
from msgspec.structs import replace

from _wire.errors import ErrorCode
from _wire.messages.heartbeat import HeartbeatResponse
from coordinator.core.decision import Decision, OperationContext, replying
from coordinator.core.event import Event
from coordinator.groups.state_machine import EVENTS_PER_STEP, GroupStateMachine
from coordinator.runtime.batch import ProjectionWrite
from coordinator.runtime.operation_under_way import WEIGHT_OF_STEPS
from coordinator.runtime.store import LogStore
from coordinator.runtime.turns import OPERATIONS_AT_ONCE
from tests.groups.failing_groups import OTHER, commit_for, committed, offset_of, rebuild, removed
from tests.runtime.test_shard import answering, asked_for, drain
from tests.simulation.simulation import GROUP_ID, Sent, Simulation

EVENTS: Final = 2 * OPERATIONS_AT_ONCE


@pytest.fixture(params=[False, True], ids=["", "checked"])
def sim(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Simulation:
    monkeypatch.setattr("coordinator.groups.machines.checks_are_armed", lambda: request.param)
    made = Simulation()
    commit_for(made, GROUP_ID, "before", 1)
    commit_for(made, OTHER, "before", 1)
    return made


def heavy(*events: Event, weight: int = EVENTS) -> Callable[[OperationContext], Decision]:
    """Decides to commit offsets of many topics, an event for each, with the events given in their middle."""

    def decide(context: OperationContext) -> Decision:
        commits = [committed(GROUP_ID, f"t{number}", number, context.wall_ms) for number in range(EVENTS)]
        several = (*commits[: EVENTS // 2], *events, *commits[EVENTS // 2 :])
        return replace(replying(context, HeartbeatResponse(), *several), weight=weight)

    return decide


def turns_until(sim: Simulation, condition: Callable[[], bool]) -> int:
    for turn in range(100):
        if condition():
            return turn
        drain(sim)
    raise AssertionError


def test_it_takes_several_turns_and_what_comes_after_it_waits(sim: Simulation) -> None:
    asked, after = asked_for(sim, heavy()), asked_for(sim, answering, OTHER)
    written = sim.offsets_log.log_end_offset
    drain(sim)
    assert not asked.answered
    assert sim.shard.is_in_flight and not sim.shard.is_idle
    assert sim.offsets_log.log_end_offset == written
    assert turns_until(sim, lambda: asked.answered) >= 1
    assert asked.error is ErrorCode.NONE
    assert not after.answered
    assert sim.offsets_log.log_end_offset == written + EVENTS
    assert turns_until(sim, lambda: after.answered) == 1
    assert sim.shard.is_idle
    sim.restart()
    assert offset_of(sim, GROUP_ID, f"t{EVENTS - 1}") == EVENTS - 1


def test_each_step_applies_some_events(monkeypatch: pytest.MonkeyPatch) -> None:
    sim, applied = Simulation(), list[int]()
    commit_for(sim, GROUP_ID, "before", 1)
    apply = GroupStateMachine.apply

    def counting(machine: GroupStateMachine, key: str, decision: Decision, now_ms: int) -> None:
        applied.append(len(decision.events))
        apply(machine, key, decision, now_ms)

    monkeypatch.setattr(GroupStateMachine, "apply", counting)
    asked_for(sim, heavy())
    turns_until(sim, lambda: sim.shard.is_idle)
    assert max(applied) == EVENTS_PER_STEP
    assert sum(applied) == EVENTS


def test_what_is_decided_before_it_is_stored_and_answered_with_it(sim: Simulation) -> None:
    before, asked = asked_for(sim, answering, OTHER), asked_for(sim, heavy())
    drain(sim)
    assert not before.answered
    turns_until(sim, lambda: before.answered)
    assert asked.answered


def test_a_light_decision_is_applied_at_once(sim: Simulation) -> None:
    asked = asked_for(sim, heavy(weight=WEIGHT_OF_STEPS - 1))
    drain(sim)
    assert asked.answered


@pytest.mark.parametrize("turns", [1, 2])
def test_the_partition_goes_to_another_node_meanwhile(turns: int) -> None:
    sim = Simulation()
    commit_for(sim, GROUP_ID, "before", 1)
    asked, after = asked_for(sim, heavy()), asked_for(sim, answering)
    written = sim.offsets_log.log_end_offset
    for _ in range(turns):
        drain(sim)
    sim.coordinator.unload(0)
    assert asked.error is after.error is ErrorCode.NOT_COORDINATOR
    assert sim.offsets_log.log_end_offset == written
    sim.coordinator.load([0])
    turns_until(sim, lambda: sim.shard.is_idle)
    assert offset_of(sim, GROUP_ID, "t0") is None
    again = asked_for(sim, heavy())
    turns_until(sim, lambda: again.answered)
    assert again.error is ErrorCode.NONE


def test_an_event_that_breaks_an_invariant_in_a_later_step_fails_the_group_alone(sim: Simulation) -> None:
    before, asked = asked_for(sim, answering, OTHER), asked_for(sim, heavy(removed(GROUP_ID, 0, "nobody")))
    written = sim.offsets_log.log_end_offset
    lines = list[Any]()
    while not asked.answered:
        lines += drain(sim)
    assert asked.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert before.error is ErrorCode.NONE
    assert [line["key"] for line in lines] == [GROUP_ID]
    assert sim.offsets_log.log_end_offset == written
    rebuild(sim)
    assert offset_of(sim, GROUP_ID, "before") == 1
    assert offset_of(sim, GROUP_ID, "t0") is None
    assert sim.shard.is_active


def test_records_that_are_too_large_change_nothing(sim: Simulation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LogStore, "batch_bytes_max", 100)
    asked, after = asked_for(sim, heavy()), asked_for(sim, answering, OTHER)
    drain(sim)
    assert not after.answered  # its decision took the whole turn
    turns_until(sim, lambda: after.answered)
    assert asked.error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert offset_of(sim, GROUP_ID, "t0") is None


def test_a_full_disk_at_its_end_fails_all_of_it(sim: Simulation) -> None:
    asked = asked_for(sim, heavy())
    drain(sim)
    sim.disk.is_full = True
    turns_until(sim, lambda: asked.answered)
    assert asked.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert not sim.shard.is_active


def test_records_of_the_projection_come_after_it_in_a_batch_of_their_own(sim: Simulation) -> None:
    asked, seen = asked_for(sim, heavy()), list[bool]()

    def write(groups: Mapping[str, Any], now_ms: int) -> None:
        seen.append(asked.answered)

    drain(sim)
    sim.shard.submit_first(ProjectionWrite(write))
    turns_until(sim, lambda: bool(seen))
    assert seen == [True]


def test_a_failed_operation_is_answered_once(sim: Simulation) -> None:
    asked: Sent = asked_for(sim, heavy(removed(GROUP_ID, 0, "nobody")))
    turns_until(sim, lambda: asked.answered)
    sim.coordinator.unload(0)
    assert len(asked.responses) == 1
