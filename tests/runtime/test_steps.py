"""Steps that follow from one operation without time passing: as many as a group needs, and never without end."""

import pytest
from structlog.testing import capture_logs

from _wire.errors import ErrorCode
from coordinator.core.classic_group import ClassicGroup
from coordinator.core.decision import Decision, OperationContext
from coordinator.core.events import JoinPhaseExtended
from coordinator.core.rebalance import JOIN_EXTENSION_MS_MIN
from coordinator.core.states import GroupState
from coordinator.runtime import group_state_machine
from tests.simulation.simulation import Simulation


def test_a_member_without_time_to_sync_comes_and_goes_in_one_batch():
    sim = Simulation()
    joined = sim.join("a", rebalance_timeout_ms=0)
    assert joined.error is ErrorCode.NONE
    assert [type(event).__name__ for event in sim.events] == [
        "GroupCreated",
        "MemberJoined",
        "RebalanceStarted",
        "GenerationStarted",
        "MemberRemoved",
        "RebalanceStarted",
        "GroupEmptied",
    ]
    assert (sim.group.state, sim.group.generation_id, sim.shard.is_active) == (GroupState.EMPTY, 2, True)
    sim.restart()
    assert (sim.group.state, sim.group.generation_id) == (GroupState.EMPTY, 2)


def test_silent_static_members_without_a_rebalance_timeout_are_waited_for_a_while_at_a_time():
    sim = Simulation()
    joins = [sim.join("a"), sim.join("b", instance_id="static", rebalance_timeout_ms=0)]
    dynamic, static = sim.make_stable(joins)
    sim.join("b", static, instance_id="static", rebalance_timeout_ms=0)
    sim.leave(dynamic)
    assert sim.group.state is GroupState.PREPARING_REBALANCE
    assert sim.shard.is_active
    assert sim.timers.deadline_ms(sim.group.group_id) == sim.now_ms + JOIN_EXTENSION_MS_MIN


def test_steps_that_do_not_end_fail_the_batch_and_what_is_queued_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    sim = Simulation()
    sim.stable_with("a")
    waiting = sim.join("b")
    assert sim.group.state is GroupState.PREPARING_REBALANCE

    def extend(group: ClassicGroup, context: OperationContext) -> Decision:
        return Decision(
            (
                JoinPhaseExtended(
                    group_id=group.group_id,
                    at_ms=context.now_ms,
                    deadline_ms=context.now_ms,
                    delay_ms=0,
                    remaining_delay_ms=0,
                ),
            )
        )

    monkeypatch.setattr(group_state_machine, "advance", extend)
    with capture_logs() as logs, sim.one_turn():
        joining, queued = sim.join("c"), sim.commit()
    for asked in (waiting, joining, queued):
        assert asked.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert not sim.shard.is_active
    (line,) = logs
    assert (line["log_level"], bool(line["exc_info"])) == ("error", True)
