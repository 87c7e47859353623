"""Requests of members that are rejected, and what the rejection leaves behind."""

from typing import Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from _wire.messages.sync_group import SyncGroupRequest
from coordinator.core.classic import members
from coordinator.core.classic.group import Member, Protocol
from coordinator.core.classic.rebalance import advance
from coordinator.core.groups.rejections import PROTOCOLS_KEPT_MAX, rejection
from coordinator.core.groups.states import COMPLETING_REBALANCE, GroupState
from coordinator.core.kinds import operations
from tests.core.deciding import context, group_with
from tests.simulation.simulation import GROUP_ID, Sent, Simulation

LONG_MS: Final = 600_000


def test_a_pending_member_that_finds_the_group_full_is_pending_no_longer():
    sim = Simulation({"group.max.size": "1"})
    pending = sim.join("b", version=4).response.member_id
    sim.make_stable([sim.join("a")])
    assert sim.join("b", pending, version=4).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert sim.group.pending_members == {}
    assert sim.sessions.members(GROUP_ID) == list(sim.group.members)
    assert sim.join("b", pending, version=4).error is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_member_that_finds_the_group_full_has_no_session_any_more():
    sim = Simulation({"group.max.size": "2"})
    first, late = sim.stable_with("a", "b")
    sim.join("a", first)
    sim.join("c")
    assert sim.join("b", late).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert late not in sim.group.members
    assert set(sim.sessions.members(GROUP_ID)) == sim.group.members.keys()


def test_a_member_id_has_to_fit_into_the_protocol_in_utf_8():
    sim = Simulation()
    assert sim.join("é" * 16_000).error is ErrorCode.NONE
    assert sim.join("é" * 17_000).error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert len(sim.group.members) == 1


def test_a_known_member_has_to_share_a_protocol_with_the_others():
    sim = Simulation()
    _, follower = sim.stable_with("a", "b")
    rejected = sim.join("b", follower, protocols=("other",))
    assert rejected.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert sim.group.state is GroupState.STABLE
    assert sim.group.members[follower].protocols[0].name == "range"


def test_a_new_member_has_to_share_one_protocol_with_all_others():
    sim = Simulation()
    first = sim.join("a", protocols=("range", "sticky")).response.member_id
    sim.join("b", protocols=("sticky", "other"))
    sim.join("a", first, protocols=("range", "sticky"))
    sim.sync_all()
    assert sim.join("c", protocols=("range", "other")).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert sim.group.state is GroupState.STABLE


@pytest.mark.parametrize(
    ("protocol_type", "protocol_name", "error"),
    [
        ("consumer", "range", ErrorCode.NONE),
        ("consumer", "other", ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ("connect", "range", ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_sync_group_has_to_name_the_protocol_of_its_generation(protocol_type, protocol_name, error):
    sim = Simulation()
    (member_id,) = sim.stable_with("a")
    request = SyncGroupRequest(
        group_id=GROUP_ID,
        generation_id=1,
        member_id=member_id,
        protocol_type=protocol_type,
        protocol_name=protocol_name,
    )
    asked = Sent()
    sim.submit(operations.SYNC_GROUP, GROUP_ID, request, asked, "a", 5)
    assert asked.error is error


def test_a_sync_that_is_rejected_with_the_assignment_is_answered_once():
    """The rebalance that follows finds no member that waits."""
    group = group_with(GROUP_ID, state=COMPLETING_REBALANCE, generation_id=1, protocol_name="range")
    member = Member("leader", None, "c", "/h", 10_000, 60_000, (Protocol("range", b""),), awaiting_sync=7)
    group.membership.add_member(member)
    asking = context()
    decision = members.reject_assignment(group, SyncGroupRequest(group_id=GROUP_ID, member_id="leader"), asking)
    assert sorted(reply.request_id for reply in decision.replies) == [1, 7]
    for event in decision.events:
        event.apply(group)
    followed = advance(group.membership, asking)
    assert followed.events
    assert followed.replies == ()


def test_the_time_to_sync_is_that_of_the_slowest_member_of_the_generation():
    """A static member that did not rejoin is one of them."""
    sim = Simulation()
    joins = [
        sim.join("a", session_timeout_ms=LONG_MS),
        sim.join("b", instance_id="b", session_timeout_ms=LONG_MS, rebalance_timeout_ms=120_000),
    ]
    dynamic, static = sim.make_stable(joins)
    sim.join("a", dynamic, metadata=b"other", session_timeout_ms=LONG_MS)
    sim.advance(120_000)
    assert (sim.group.state, list(sim.group.members)) == (COMPLETING_REBALANCE, [dynamic, static])
    assert sim.timers.deadline_ms(GROUP_ID) == sim.now_ms + 120_000


def test_of_very_many_assignors_of_a_rejected_request_the_first_are_kept():
    offered = [JoinGroupRequestProtocol(name=f"assignor-{each}") for each in range(2 * PROTOCOLS_KEPT_MAX)]
    request = JoinGroupRequest(group_id=GROUP_ID, protocol_type="consumer", protocols=offered)
    event = rejection(group_with(), "JoinGroup", request, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, context())
    assert event.protocols == tuple(each.name for each in offered[:PROTOCOLS_KEPT_MAX])
