from typing import Any

import pytest

from _wire.errors import ErrorCode
from coordinator.audit import schema
from coordinator.core.causes import Cause
from coordinator.core.classic.events import GroupEmptied, JoinPhaseExtended, MemberRemoved, RebalanceStarted
from coordinator.core.classic.group import Member, Protocol
from coordinator.core.classic.rebalance import select_protocol
from coordinator.core.groups.connection_at_removal import ConnectionAtRemoval
from coordinator.core.groups.events import RequestRejected
from coordinator.core.groups.states import GroupState
from tests.simulation.simulation import REBALANCE_TIMEOUT_MS, Simulation


def voter(name: str, *protocols: str) -> Member:
    offered = tuple(Protocol(protocol, b"") for protocol in protocols)
    return Member(name, None, "", "", 10_000, 60_000, offered)


def test_the_vote_goes_to_what_most_members_prefer_among_what_all_have():
    members = [voter("a", "x", "range", "sticky"), voter("b", "sticky", "range"), voter("c", "sticky", "range")]
    assert select_protocol(members) == "sticky"


def test_a_tie_is_broken_by_name():
    assert select_protocol([voter("a", "sticky", "range"), voter("b", "range", "sticky")]) == "range"


def test_those_who_stay_rejoin_when_a_member_leaves():
    sim = Simulation()
    a, b = sim.stable_with("a", "b")
    sim.leave(b, reason="closing")
    removed, started = sim.events[-2:]
    assert removed == MemberRemoved(
        group_id="orders",
        at_ms=sim.now_ms,
        member_id=b,
        cause=Cause.MEMBER_LEFT,
        reason="closing",
        last_heard_ms=sim.now_ms,
    )
    assert isinstance(started, RebalanceStarted)
    assert (started.rebalance_reason.cause, started.rebalance_reason.member_id) == (Cause.MEMBER_LEFT, b)
    rejoined = sim.join("a", a)
    assert rejoined.response.generation_id == 3


def test_who_does_not_rejoin_in_time_is_removed():
    sim = Simulation()
    a, b = sim.stable_with("a", "b")
    sim.join("a", a)
    for _ in range(11):
        sim.advance(REBALANCE_TIMEOUT_MS // 12)
        sim.heartbeat(b)
    assert b in sim.group.members
    sim.advance(REBALANCE_TIMEOUT_MS // 12)
    assert set(sim.group.members) == {a}
    assert (
        MemberRemoved(
            group_id="orders",
            at_ms=sim.now_ms,
            member_id=b,
            cause=Cause.REBALANCE_TIMEOUT,
            reason="",
            last_heard_ms=sim.now_ms - REBALANCE_TIMEOUT_MS // 12,
            connection=ConnectionAtRemoval(is_open=True),
            coordinator_paused_ms=0,
        )
        in sim.events
    )


def test_a_leader_that_does_not_come_back_is_replaced_by_one_who_did():
    sim = Simulation()
    a, b = sim.stable_with("a", "b")
    sim.leave(a)
    assert sim.join("b", b).response.leader == b


def test_emptying_a_group_uses_up_a_generation():
    sim = Simulation()
    (a,) = sim.stable_with("a")
    sim.leave(a)
    assert isinstance(sim.events[-1], GroupEmptied)
    assert (sim.group.state, sim.group.generation_id) == (GroupState.EMPTY, 2)
    assert sim.join("b").response.generation_id == 3


def test_silent_static_members_hold_the_join_phase_open():
    sim = Simulation()
    static: dict[str, Any] = {"instance_id": "one", "session_timeout_ms": 600_000, "version": 5}
    a = sim.join("a", **static).response.member_id
    sim.sync_all()
    joining = sim.join("b")
    (b,) = set(sim.group.members) - {a}
    sim.leave(b)
    assert joining.error is ErrorCode.UNKNOWN_MEMBER_ID
    extended = []
    for _ in range(2):
        sim.advance(REBALANCE_TIMEOUT_MS)
        extended.append(
            JoinPhaseExtended(
                group_id="orders",
                at_ms=sim.now_ms,
                deadline_ms=sim.now_ms + REBALANCE_TIMEOUT_MS,
                delay_ms=REBALANCE_TIMEOUT_MS,
                remaining_delay_ms=0,
            )
        )
        assert [event for event in sim.events if isinstance(event, JoinPhaseExtended)] == extended
        assert sim.group.state is GroupState.PREPARING_REBALANCE
        assert list(sim.group.members) == [a]
    rejoined = sim.join("a", a, **static).response
    assert (rejoined.generation_id, rejoined.leader, rejoined.member_id) == (2, a, a)


def test_a_dynamic_member_that_leaves_silent_static_ones_alone_has_no_session_any_more():
    sim = Simulation()
    static: dict[str, Any] = {"instance_id": "one", "session_timeout_ms": 600_000, "version": 5}
    one = sim.join("a", **static).response.member_id
    sim.sync_all()
    joined = sim.join("b")
    sim.join("a", one, **static)
    b = joined.response.member_id
    sim.sync_all()
    joining = sim.join("c")
    (c,) = set(sim.group.members) - {one, b}
    sim.leave(c)
    assert joining.error is ErrorCode.UNKNOWN_MEMBER_ID
    for _ in range(12):
        sim.advance(REBALANCE_TIMEOUT_MS // 12)
        sim.heartbeat(b)
    changes = [event for event in sim.events if not isinstance(event, RequestRejected)]
    assert isinstance(changes[-1], JoinPhaseExtended)
    assert list(sim.group.members) == [one]
    assert sim.sessions.timeout_ms("orders", b) is None
    assert sim.heartbeat(b).error is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("rebalance_timeout_ms", [-(2**31), -1, 0, 1, 2**31 - 1])
def test_silent_static_members_of_any_rebalance_timeout_keep_the_group_but_never_the_loop(rebalance_timeout_ms):
    sim = Simulation()
    joins = [sim.join(name, instance_id=name, version=5) for name in ("one", "two")]
    sim.make_stable(joins)
    timeouts = {"session_timeout_ms": 600_000, "rebalance_timeout_ms": rebalance_timeout_ms, "version": 9}
    one, two = (sim.join(name, instance_id=name, **timeouts).response.member_id for name in ("one", "two"))
    assert sim.group.state is GroupState.STABLE
    sim.leave(two, instance_id="two")
    assert sim.group.state is GroupState.PREPARING_REBALANCE
    turns = sim.turns
    sim.advance(5_000)
    assert list(sim.group.members) == [one]
    assert sim.turns - turns <= 51, "once per 100 ms at most"
    generation_id = sim.group.generation_id
    assert sim.join("one", one, instance_id="one", version=5).response.generation_id == generation_id + 1


@pytest.mark.parametrize("rebalance_timeout_ms", [-(2**31), -1, 0])
def test_a_member_without_time_to_sync_is_removed_as_soon_as_it_has_joined(rebalance_timeout_ms):
    """As Kafka 4.3.1 does: the JoinGroup is answered, and the SyncGroup comes too late."""
    sim = Simulation()
    joined = sim.join("a", rebalance_timeout_ms=rebalance_timeout_ms)
    assert (joined.error, joined.response.generation_id) == (ErrorCode.NONE, 1)
    assert (sim.group.state, sim.group.generation_id) == (GroupState.EMPTY, 2)
    assert sim.sync(joined.response.member_id, generation_id=1).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_follower_that_never_syncs_is_dropped_even_in_stable_and_despite_heartbeats():
    sim = Simulation()
    a = sim.join("a").response.member_id
    b_joined = sim.join("b")
    sim.join("a", a)
    b = b_joined.response.member_id
    sim.sync(a, {a: b"x", b: b"y"})
    assert sim.group.state is GroupState.STABLE
    for _ in range(12):
        sim.advance(REBALANCE_TIMEOUT_MS // 12)
        sim.heartbeat(a)
        sim.heartbeat(b)
    assert b not in sim.group.members
    assert (
        MemberRemoved(
            group_id="orders",
            at_ms=sim.now_ms,
            member_id=b,
            cause=Cause.SYNC_TIMEOUT,
            reason="",
            last_heard_ms=sim.now_ms - REBALANCE_TIMEOUT_MS // 12,
            connection=ConnectionAtRemoval(is_open=True),
            coordinator_paused_ms=0,
        )
        in sim.events
    )


def test_a_leader_that_never_syncs_is_dropped_and_waiting_followers_rejoin():
    sim = Simulation()
    a = sim.join("a").response.member_id
    b_joined = sim.join("b")
    sim.join("a", a)
    b = b_joined.response.member_id
    waiting = sim.sync(b)
    for _ in range(12):
        sim.advance(REBALANCE_TIMEOUT_MS // 12)
        sim.heartbeat(a)
    assert set(sim.group.members) == {b}
    assert waiting.error.name == "REBALANCE_IN_PROGRESS"


def test_a_rebalance_that_overtakes_another_drops_the_assignments():
    sim = Simulation()
    a, b = sim.stable_with("a", "b")
    sim.join("a", a)
    sim.join("b", b)
    assert sim.group.members[a].assignment, "kept while the leader computes the next one"
    sim.join("c")
    assert {member.assignment for member in sim.group.members.values()} == {b""}


def test_a_rebalance_that_overtakes_another_is_told_as_superseding_it():
    sim = Simulation()
    sim.join("a")
    sim.advance(25)
    sim.join("b")
    superseded, started = sim.audited()[-2:]
    assert isinstance(superseded, schema.RebalanceSuperseded) and isinstance(started, schema.RebalanceStarted)
    assert (superseded.generation_id, superseded.rebalance_ms) == (1, 25)
    assert (superseded.state, started.state_before) == ("CompletingRebalance", "CompletingRebalance")


def test_the_first_of_a_batch_that_leaves_is_the_reason_of_the_rebalance():
    sim = Simulation()
    _, second, third = sim.stable_with("a", "b", "c")
    sim.leave(second, third, reason="done")
    assert sim.group.rebalance is not None
    assert sim.group.rebalance.reason.member_id == second
