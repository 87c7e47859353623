"""The audit of requests that were answered with an error: who sent them, what they asked for, and how often."""

import pytest

from _wire.errors import ErrorCode
from coordinator.audit import rejected_requests, schema
from coordinator.core.causes import REASON_CHARACTERS_MAX, Cause
from coordinator.core.stored import Producer
from tests.audit.stories import subscription, sync
from tests.simulation.simulation import SESSION_TIMEOUT_MS, Simulation

PRODUCER = Producer(7, 1)


@pytest.fixture
def sim() -> Simulation:
    return Simulation()


@pytest.fixture
def removed(sim) -> str:
    """A member whose session has expired; another one has joined since."""
    sim.join("old", metadata=subscription("t"))
    old: str
    (old,) = sim.group.members
    sync(sim, {old: {"t": [0]}})
    sim.advance(SESSION_TIMEOUT_MS + 1)
    sim.join("new", metadata=subscription("t"))
    (new,) = sim.group.members
    sync(sim, {new: {"t": [0]}})
    return old


def rejected(sim: Simulation) -> list[schema.RequestRejected]:
    return [event for event in sim.audited() if isinstance(event, schema.RequestRejected)]


def test_a_commit_of_a_removed_member_is_reported(sim, removed):
    assert sim.commit(removed, generation_id=1).error is ErrorCode.UNKNOWN_MEMBER_ID
    (event,) = rejected(sim)
    assert (event.api, event.error) == ("OffsetCommit", "UNKNOWN_MEMBER_ID")
    assert (event.member.member_id, event.member.client_id) == (removed, "client")
    assert (event.request_generation_id, event.generation_id) == (1, sim.group.generation_id)


def test_a_commit_of_an_old_generation_is_reported(sim, removed):
    (member,) = sim.group.members
    assert sim.commit(member, generation_id=1).error is ErrorCode.ILLEGAL_GENERATION
    assert [(each.error, each.request_generation_id) for each in rejected(sim)] == [("ILLEGAL_GENERATION", 1)]


@pytest.mark.parametrize(
    ("is_member", "error"), [(False, ErrorCode.UNKNOWN_MEMBER_ID), (True, ErrorCode.ILLEGAL_GENERATION)]
)
def test_a_stale_transactional_commit_is_reported(sim, removed, is_member, error):
    (member,) = sim.group.members
    sent = sim.commit_in_transaction(PRODUCER, member_id=member if is_member else removed, generation_id=1)
    assert sent.error is error
    (event,) = rejected(sim)
    assert (event.api, event.error, event.request_generation_id) == ("TxnOffsetCommit", error.name, 1)
    assert event.member.member_id == (member if is_member else removed)


def test_a_transactional_commit_of_a_fenced_member_names_who_has_the_instance_id(sim):
    sim.join("one", instance_id="i", version=5, metadata=subscription("t"))
    (first,) = sim.group.members
    sync(sim, {first: {}})
    sim.join("two", instance_id="i", version=5, metadata=subscription("t"))
    (second,) = sim.group.members
    sent = sim.commit_in_transaction(PRODUCER, member_id=first, instance_id="i", generation_id=1)
    assert sent.error is ErrorCode.FENCED_INSTANCE_ID
    (event,) = rejected(sim)
    assert event.holder is not None
    assert (event.api, event.member.member_id, event.holder.member_id) == ("TxnOffsetCommit", first, second)


def test_a_transactional_commit_that_is_accepted_is_no_rejection(sim, removed):
    (member,) = sim.group.members
    generation_id = sim.group.generation_id
    assert sim.commit_in_transaction(PRODUCER, member_id=member, generation_id=generation_id).error is ErrorCode.NONE
    assert rejected(sim) == []


def test_rejections_that_go_on_are_reported_again_after_ten_minutes(sim, removed):
    (member,) = sim.group.members
    sim.commit(member, generation_id=sim.group.generation_id)  # without offsets the group would be removed
    for _ in range(3):
        sim.commit(removed, generation_id=1)
    assert [each.count for each in rejected(sim)] == [1]
    sim.advance(schema.REJECTION_APART_MS)
    for _ in range(3):
        sim.commit(removed, generation_id=1)
    assert [each.count for each in rejected(sim)] == [1, 4]


def test_a_join_without_a_common_assignor_names_both_sides(sim):
    sim.join("a", protocols=("range", "sticky"))
    sim.join("b", protocols=("cooperative-sticky",))
    (event,) = rejected(sim)
    assert (event.error, event.member.client_id) == ("INCONSISTENT_GROUP_PROTOCOL", "b")
    assert (event.protocol_type, event.protocols) == ("consumer", ["cooperative-sticky"])
    assert (event.group_protocol_type, event.group_protocols) == ("consumer", ["range", "sticky"])


def test_very_many_and_very_long_assignors_are_cut(sim):
    sim.join("a", protocols=("range",))
    sim.join("b", protocols=tuple("x" * 30_000 + str(each) for each in range(50)))
    (event,) = rejected(sim)
    assert [len(protocol) for protocol in event.protocols] == [REASON_CHARACTERS_MAX] * schema.PROTOCOLS_NAMED_MAX


def test_deleted_offsets_are_told_with_what_they_were(sim):
    sim.commit(offset=40)
    sim.delete_group()
    (deleted,) = (event for event in sim.audited() if isinstance(event, schema.OffsetsDeleted))
    assert (deleted.cause, deleted.offsets, deleted.partitions) == (
        Cause.GROUP_REMOVED,
        {"t": [[0, 40]]},
        {"t": [0]},
    )


def test_offsets_that_were_only_pending_are_told_as_none(sim):
    sim.commit_in_transaction(PRODUCER, offset=40)
    sim.delete_topic("t")
    (deleted,) = (event for event in sim.audited() if isinstance(event, schema.OffsetsDeleted))
    assert deleted.offsets == {"t": [[0, -1]]}


def test_of_very_many_assignors_of_a_group_some_are_searched(sim, monkeypatch):
    """A member may have 200,000 of them, and each client that is rejected has an event of its own."""
    monkeypatch.setattr(rejected_requests, "PROTOCOLS_SEARCHED_MAX", 3)
    sim.join("a", protocols=tuple(f"assignor-{each}" for each in range(8)))
    sim.join("b", protocols=("range",))
    (event,) = rejected(sim)
    assert len(event.group_protocols) == 3


# ---- members that were removed and live


def expire(sim: Simulation, member_id: str) -> None:
    """The others send heartbeats, and rejoin, until this one is removed."""
    others = [member for member in sim.group.members if member != member_id]
    while member_id in sim.group.members:
        sim.advance(1_000)
        for other in others:
            sim.heartbeat(other)


def test_a_removed_member_that_asks_again_is_told_of_once(sim):
    _, b = sim.stable_with("a", "b")
    expire(sim, b)
    assert sim.heartbeat(b).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert sim.heartbeat(b).error is ErrorCode.UNKNOWN_MEMBER_ID
    (event,) = rejected(sim)
    assert (event.api, event.error, event.member.member_id) == ("Heartbeat", "UNKNOWN_MEMBER_ID", b)


def test_invented_member_ids_and_those_that_left_are_not_told_of(sim):
    _, b = sim.stable_with("a", "b")
    sim.leave(b)
    for member_id in (b, "invented", ""):
        assert sim.heartbeat(member_id).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert rejected(sim) == []
