"""Pending members of a group that is removed: the decision ends their sessions."""

from _wire.errors import ErrorCode
from _wire.messages.delete_groups import DeleteGroupsRequest
from coordinator.core.groups import admin
from coordinator.core.groups.events import GroupRemoved
from coordinator.core.offsets import expiry as offset_expiry
from coordinator.core.sessions import SessionEnded
from tests.core.deciding import context, group_with
from tests.simulation.simulation import GROUP_ID, SESSION_TIMEOUT_MS, Simulation

PENDING = {"first": 10_000, "second": 10_000}
ENDED = (SessionEnded("first"), SessionEnded("second"))


def test_deleting_a_group_ends_the_sessions_of_its_pending_members():
    group = group_with(GROUP_ID, pending_members=dict(PENDING))
    decision = admin.delete(group, DeleteGroupsRequest(groups_names=[GROUP_ID]), context())
    assert [type(event) for event in decision.events] == [GroupRemoved]
    assert decision.effects == ENDED


def test_expiry_of_a_group_ends_the_sessions_of_its_pending_members():
    decision = offset_expiry.expire(group_with(GROUP_ID, pending_members=dict(PENDING)), None, context())
    assert [type(event) for event in decision.events] == [GroupRemoved]
    assert decision.effects == ENDED


def test_nothing_of_a_deleted_group_expires_later():
    sim = Simulation()
    pending = sim.join("a", version=4).response.member_id
    assert sim.delete_group().error is ErrorCode.NONE
    assert len(sim.sessions) == 0
    sim.advance(2 * SESSION_TIMEOUT_MS)
    assert not sim.exists
    assert sim.join("a", pending, version=4).error is ErrorCode.UNKNOWN_MEMBER_ID
