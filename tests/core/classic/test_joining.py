from typing import Any

import msgspec
import pytest

from _wire.errors import ErrorCode
from _wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from coordinator.audit.schema import RebalanceStarted
from coordinator.core.classic import joining
from coordinator.core.groups.events import GroupCreated, RequestRejected
from coordinator.core.groups.states import GroupState
from tests.audit.stories import subscription, sync
from tests.core.deciding import context
from tests.simulation.simulation import NEWEST_JOIN, SESSION_TIMEOUT_MS, Simulation


def test_a_first_member_makes_the_group_and_is_its_leader():
    sim = Simulation()
    joined = sim.join("a").response
    assert (joined.error_code, joined.generation_id, joined.leader) == (0, 1, joined.member_id)
    assert [member.member_id for member in joined.members] == [joined.member_id]
    assert sim.group.state is GroupState.COMPLETING_REBALANCE


def test_from_v4_on_a_new_member_learns_its_id_first():
    sim = Simulation()
    first = sim.join("a", version=4)
    assert first.error is ErrorCode.MEMBER_ID_REQUIRED
    assert first.response.member_id.startswith("a-")
    assert sim.join("a", first.response.member_id, version=4).error is ErrorCode.NONE


def test_a_reserved_id_holds_up_the_rebalance_of_others_until_it_expires():
    sim = Simulation()
    (a,) = sim.stable_with("a")
    sim.join("b", version=4)
    rejoined = sim.join("a", a)
    assert not rejoined.answered
    sim.advance(SESSION_TIMEOUT_MS)
    assert rejoined.response.generation_id == 2


def test_an_unchanged_follower_that_rejoins_in_stable_gets_the_current_generation():
    sim = Simulation()
    leader, follower = sim.stable_with("a", "b")
    again = sim.join("b", follower).response
    assert (again.error_code, again.generation_id, again.leader, again.members) == (0, 2, leader, [])
    assert sim.group.state is GroupState.STABLE


@pytest.mark.parametrize(
    ("claimed", "assigned", "cause"),
    [
        ([0, 1, 2], [0, 1], "member_rejoined"),
        ([0, 1], [0, 1], "leader_rejoined"),
        ([0], [0, 1], "leader_rejoined"),
        (None, [0, 1], "leader_rejoined"),
    ],
    ids=["lost one", "lost none", "got one", "eager"],
)
def test_a_leader_that_gives_up_partitions_asks_for_no_new_assignment(claimed, assigned, cause):
    sim = Simulation()
    owned = None if claimed is None else {"t": claimed}
    first = sim.join("a", version=3, metadata=subscription("t", owned=owned), protocols=("cooperative-sticky",))
    sim.advance(3_000)
    leader = first.response.member_id
    sync(sim, {leader: {"t": assigned}})
    now_owned = None if claimed is None else {"t": sorted(set(claimed) & set(assigned))}
    sim.join("a", leader, version=3, metadata=subscription("t", owned=now_owned), protocols=("cooperative-sticky",))
    started = [event for event in sim.audited() if isinstance(event, RebalanceStarted)]
    assert started[-1].cause == cause


def last_started(sim: Simulation) -> RebalanceStarted:
    """The last event of the audit, which is the start of a rebalance."""
    started = sim.audited()[-1]
    assert isinstance(started, RebalanceStarted)
    return started


def test_a_leader_that_rejoins_in_stable_starts_a_rebalance():
    sim = Simulation()
    leader, _ = sim.stable_with("a", "b")
    assert not sim.join("a", leader).answered
    assert sim.group.state is GroupState.PREPARING_REBALANCE
    assert last_started(sim).cause == "leader_rejoined"


def test_changed_metadata_starts_a_rebalance_and_names_its_member():
    sim = Simulation()
    _, follower = sim.stable_with("a", "b")
    sim.join("b", follower, metadata=b"other", reason="new topic", version=8)
    started = last_started(sim)
    assert started.member is not None
    assert (started.cause, started.member.member_id, started.reason) == ("metadata_changed", follower, "new topic")


def test_a_lost_answer_is_given_again_while_the_group_completes():
    sim = Simulation()
    first = sim.join("a").response
    again = sim.join("a", first.member_id).response
    assert (again.generation_id, again.member_id, len(again.members)) == (1, first.member_id, 1)
    assert sim.group.state is GroupState.COMPLETING_REBALANCE


def test_a_repeated_join_leaves_the_first_unanswered():
    sim = Simulation()
    leader, follower = sim.stable_with("a", "b")
    first = sim.join("a", leader)
    second = sim.join("a", leader)
    sim.join("b", follower)
    assert not first.answered
    assert second.response.generation_id == 3


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"session_timeout_ms": 0}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": 2_000_000}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"protocols": ()}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_what_cannot_join_is_told_why(fields, error):
    refused = Simulation().join("a", **fields)
    assert refused.error is error
    assert refused.response.generation_id == -1


@pytest.mark.parametrize("session_timeout_ms", [6_000, 30_000])
def test_the_bounds_of_session_timeouts_are_allowed(session_timeout_ms):
    sim = Simulation({"group.min.session.timeout.ms": "6000", "group.max.session.timeout.ms": "30000"})
    assert sim.join("a", session_timeout_ms=session_timeout_ms).error is ErrorCode.NONE


def test_a_refused_first_member_leaves_an_empty_group_behind():
    sim = Simulation()
    sim.join("a", protocols=())
    assert sim.exists
    assert sim.group.state is GroupState.EMPTY


def test_members_must_share_a_protocol():
    sim = Simulation()
    sim.stable_with("a")
    assert sim.join("b", protocols=("sticky",)).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_full_group_takes_nobody_but_its_own():
    sim = Simulation({"group.max.size": "2"})
    _leader, follower = sim.stable_with("a", "b")
    assert sim.join("c").error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert sim.group.state is GroupState.STABLE
    assert sim.join("b", follower).error is ErrorCode.NONE


@pytest.mark.parametrize(
    ("max_size", "filled_size", "error", "injected"),
    [("3", 2, 81, True), ("2", 2, 81, False), ("2", 1, 81, False), ("3", None, 0, None), ("3", 3, 0, None)],
)
def test_a_group_that_a_fault_fills_takes_nobody_but_its_own(max_size, filled_size, error, injected):
    """`group.max.size` is told first, if it leaves no room either."""
    sim = Simulation({"group.max.size": max_size})
    sim.stable_with("a", "b")
    asked = context(version=3, settings={"group.max.size": max_size})
    asked.environment = msgspec.structs.replace(asked.environment, filled_size=filled_size)
    protocols = [JoinGroupRequestProtocol(name=each) for each in sim.group.protocol_support]
    request = JoinGroupRequest(
        group_id=sim.group.group_id, session_timeout_ms=10_000, protocol_type="consumer", protocols=protocols
    )
    decision = joining.join(sim.whole_group, request, asked)
    rejected = [event.injected for event in decision.events if isinstance(event, RequestRejected)]
    assert rejected == ([] if injected is None else [injected])
    responses: list[Any] = [reply.response for reply in decision.replies]
    assert [response.error_code for response in responses] == ([error] if error else [])


def test_a_late_member_loses_its_place_to_a_newcomer():
    sim = Simulation({"group.max.size": "2"})
    leader, follower = sim.stable_with("a", "b")
    rejoined = sim.join("a", leader)
    newcomer = sim.join("c")
    refused = sim.join("b", follower)
    assert refused.error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert follower not in sim.group.members
    assert not rejoined.answered, "a refusal does not end the rebalance early (4.3)"
    sim.advance(60_000)
    assert (rejoined.error, newcomer.error) == (ErrorCode.NONE, ErrorCode.NONE)


def test_the_refusal_of_a_reserved_id_does_not_end_the_rebalance_early_either():
    sim = Simulation({"group.max.size": "2"})
    (a,) = sim.stable_with("a")
    reserved = sim.join("b", version=4).response.member_id
    newcomer = sim.join("c")
    rejoined = sim.join("a", a)
    assert sim.join("b", reserved, version=4).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert not rejoined.answered
    sim.advance(60_000)
    assert (rejoined.error, newcomer.error) == (ErrorCode.NONE, ErrorCode.NONE)


def test_a_reserved_id_that_expires_ends_a_rebalance_that_a_refusal_held_up():
    sim = Simulation({"group.max.size": "2"})
    leader, follower = sim.stable_with("a", "b")
    rejoined = sim.join("a", leader)
    sim.join("never comes back", version=NEWEST_JOIN)
    newcomer = sim.join("c")
    assert sim.join("b", follower).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    sim.advance(SESSION_TIMEOUT_MS - 1)
    assert not rejoined.answered
    sim.advance(1)
    assert (rejoined.error, newcomer.error) == (ErrorCode.NONE, ErrorCode.NONE)


def test_the_first_rebalance_waits_for_others_and_is_prolonged_by_them():
    sim = Simulation({"group.initial.rebalance.delay.ms": "3000"})
    a = sim.join("a")
    sim.advance(2999)
    b = sim.join("b")
    sim.advance(1)
    assert not a.answered, "a new member came: it waits once more"
    sim.advance(2999)
    assert not a.answered
    sim.advance(1)
    assert a.response.generation_id == b.response.generation_id == 1
    assert len(sim.group.members) == 2


def test_the_initial_delay_is_prolonged_up_to_the_rebalance_timeout_only():
    sim = Simulation({"group.initial.rebalance.delay.ms": "3000"})
    first = sim.join("m0", rebalance_timeout_ms=7000)
    for number in range(1, 6):
        sim.advance(2000)
        if first.answered:
            break
        sim.join(f"m{number}", rebalance_timeout_ms=7000)
    assert first.answered
    created = sim.events[0]
    assert isinstance(created, GroupCreated)
    assert sim.now_ms - created.at_ms <= 8000


def test_skip_assignment_is_never_set_for_a_dynamic_member():
    sim = Simulation()
    first = sim.join("a", version=NEWEST_JOIN)
    joined = sim.join("a", first.response.member_id, version=NEWEST_JOIN)
    assert not joined.response.skip_assignment


def test_a_reserved_id_cannot_become_a_static_member():
    sim = Simulation()
    reserved = sim.join("a", version=4).response.member_id
    first = sim.join("a", reserved, instance_id="i", version=5).response
    assert (first.error_code, first.member_id) == (ErrorCode.UNKNOWN_SERVER_ERROR, "")
