from typing import Any

import pytest

from _wire.errors import ErrorCode
from coordinator.core.causes import Cause
from coordinator.core.classic import joining
from coordinator.core.classic.events import StaticMemberReplaced
from coordinator.core.decision import NOTHING
from coordinator.core.groups.requests import JoinAsInstance
from coordinator.core.groups.states import GroupState
from tests.core.deciding import context
from tests.simulation.simulation import NEWEST_JOIN, SESSION_TIMEOUT_MS, Simulation

STATIC: dict[str, Any] = {"version": 5}


@pytest.fixture
def sim():
    """A Stable group of the static members "one" (leader) and "two"."""
    sim = Simulation()
    one = sim.join("a", instance_id="one", **STATIC).response.member_id
    sim.join("b", instance_id="two", **STATIC)
    sim.join("a", one, instance_id="one", **STATIC)
    sim.sync_all()
    return sim


def member_of(sim, instance_id):
    return sim.group.static_members[instance_id]


def test_a_restart_of_a_follower_keeps_generation_and_assignment(sim):
    old, generation_id = member_of(sim, "two"), sim.group.generation_id
    back = sim.join("b2", instance_id="two", **STATIC).response
    assert (back.generation_id, back.leader, back.members) == (generation_id, member_of(sim, "one"), [])
    assert back.member_id != old
    assert sim.group.state is GroupState.STABLE
    assert sim.sync(back.member_id).response.assignment == f"for-{old}".encode()


def test_the_old_member_id_is_fenced(sim):
    old = member_of(sim, "two")
    sim.join("b2", instance_id="two", **STATIC)
    assert sim.heartbeat(old, instance_id="two").error is ErrorCode.FENCED_INSTANCE_ID
    assert sim.heartbeat(old).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_leader_before_v9_is_shown_its_old_id_so_that_it_follows(sim):
    old = member_of(sim, "one")
    back = sim.join("a2", instance_id="one", **STATIC).response
    assert (back.leader, back.members, back.skip_assignment) == (old, [], False)
    assert sim.group.leader == back.member_id


def test_a_leader_from_v9_on_is_told_to_skip_the_assignment(sim):
    back = sim.join("a2", instance_id="one", version=NEWEST_JOIN).response
    assert (back.leader, back.skip_assignment) == (back.member_id, True)
    assert {member.member_id for member in back.members} == set(sim.group.members)


def test_another_protocol_than_the_groups_makes_it_rebalance():
    sim = Simulation()
    sim.join("a", instance_id="one", protocols=("range", "sticky"), **STATIC)
    sim.sync_all()
    back = sim.join("a2", instance_id="one", protocols=("sticky", "range"), **STATIC)
    assert back.response.generation_id == 2
    assert sim.group.protocol_name == "sticky"
    assert any(getattr(event, "cause", None) == "static_replaced" for event in sim.audited())


def test_a_lone_static_member_that_registers_again_before_its_sync_raises_the_generation_each_time():
    sim = Simulation()
    generations = [sim.join("a", instance_id="one", **STATIC).response.generation_id for _ in range(3)]
    assert generations == [1, 2, 3]


def test_what_the_old_one_waited_with_is_answered_fenced(sim):
    one = member_of(sim, "one")
    waiting = sim.join("a", one, instance_id="one", **STATIC)
    assert not waiting.answered
    sim.join("a2", instance_id="one", **STATIC)
    assert waiting.error is ErrorCode.FENCED_INSTANCE_ID


def test_one_that_came_back_while_it_waited_for_its_first_generation_counts_as_alive():
    sim = Simulation()
    sim.make_stable([sim.join("a", instance_id="one", **STATIC)])
    sim.join("b", instance_id="two", **STATIC)
    waiting = sim.join("b2", instance_id="two", **STATIC)
    for _ in range(3):
        sim.advance(SESSION_TIMEOUT_MS - 1)
        sim.heartbeat(member_of(sim, "one"))
    sim.join("a", member_of(sim, "one"), instance_id="one", **STATIC)
    assert waiting.response.generation_id == 2


@pytest.mark.parametrize("timeout_ms", [SESSION_TIMEOUT_MS // 2, SESSION_TIMEOUT_MS * 2])
def test_one_that_came_back_lives_by_its_old_session_timeout_until_it_is_heard_again(sim, timeout_ms):
    sim.join("b2", instance_id="two", session_timeout_ms=timeout_ms, **STATIC)
    sim.advance(SESSION_TIMEOUT_MS - 1)
    assert member_of(sim, "two")
    sim.advance(1)
    assert "two" not in sim.group.static_members

    sim.make_stable([sim.join("b", instance_id="two", **STATIC)])
    sim.join("b2", instance_id="two", session_timeout_ms=timeout_ms, **STATIC)
    sim.heartbeat(member_of(sim, "two"), instance_id="two")
    sim.advance(timeout_ms - 1)
    assert "two" in sim.group.static_members
    sim.advance(1)
    assert "two" not in sim.group.static_members


def test_an_administrator_removes_by_instance_id_alone(sim):
    assert sim.leave("", instance_id="two").response.members[0].error_code == ErrorCode.NONE
    assert set(sim.group.static_members) == {"one"}


def test_a_static_member_that_stays_away_expires(sim):
    sim.advance(SESSION_TIMEOUT_MS)
    assert not sim.group.static_members


def test_the_place_is_taken_over_after_a_restart_of_the_server(sim):
    old = member_of(sim, "two")
    sim.join("b2", instance_id="two", **STATIC)
    new = member_of(sim, "two")
    sim.restart()
    assert member_of(sim, "two") == new != old


def test_one_that_owes_a_sync_hands_the_debt_on():
    sim = Simulation()
    one = sim.join("a", instance_id="one", **STATIC).response.member_id
    sim.join("b", instance_id="two", **STATIC)
    sim.join("a", one, instance_id="one", **STATIC)
    sim.sync(one, {one: b"x", member_of(sim, "two"): b"y"})
    assert sim.group.state is GroupState.STABLE
    new = sim.join("b2", instance_id="two", **STATIC).response.member_id
    assert sim.group.pending_sync == {new}
    assert sim.sync(new).response.assignment == b"y"
    assert not sim.group.pending_sync


def test_a_leader_that_came_back_leads_the_next_generation_too(sim):
    new = sim.join("a2", instance_id="one", **STATIC).response.member_id
    two = member_of(sim, "two")
    rejoined = sim.join("b", two, instance_id="two", metadata=b"other", **STATIC)
    sim.join("a2", new, instance_id="one", **STATIC)
    assert list(sim.group.members) == [two, new]
    assert rejoined.response.leader == new


def test_a_leader_that_returns_while_the_group_completes_leads_the_next_generation_too():
    sim = Simulation()
    sim.make_stable([sim.join("a", instance_id="one", version=5), sim.join("b")])
    leader = sim.group.static_members["one"]
    (follower,) = sim.group.members.keys() - {leader}
    assert sim.group.leader == leader
    sim.join("a", leader, instance_id="one", version=5)
    sim.join("b", follower)
    assert sim.group.state is GroupState.COMPLETING_REBALANCE
    back = sim.join("a", instance_id="one", version=5)
    sim.join("b", follower)
    assert back.response.leader == back.response.member_id


def taken(sim, instance_id):
    """The decision that a fault takes the place of an instance."""
    request = JoinAsInstance(instance_id, Cause.FAULT, "fence")
    return joining.join_as_instance(sim.whole_group, request, context(version=9))


def test_an_instance_that_is_taken_is_told_with_the_cause_and_what_its_holder_sent(sim):
    holder = sim.group.members[member_of(sim, "two")]
    (replaced,) = taken(sim, "two").events
    assert isinstance(replaced, StaticMemberReplaced)
    assert (replaced.cause, replaced.reason, replaced.old_member_id) == (Cause.FAULT, "fence", holder.member_id)
    assert (replaced.session_timeout_ms, replaced.protocols) == (holder.session_timeout_ms, holder.protocols)
    assert replaced.rebalance_timeout_ms == holder.rebalance_timeout_ms


def test_an_instance_that_has_gone_is_not_taken(sim):
    """Nobody joins in the place of a member that is no longer there."""
    assert taken(sim, "three") is NOTHING
    assert joining.join_as_instance(None, JoinAsInstance("two", Cause.FAULT, "fence"), context(version=9)) is NOTHING
