"""Steps that follow from one operation without time passing: as many as a group needs."""

from _wire.errors import ErrorCode
from coordinator.core.classic.rebalance import JOIN_EXTENSION_MS_MIN
from coordinator.core.groups.states import GroupState
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
