"""The audit over restarts: no gap, and what never took effect is said to be void."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from coordinator.audit import schema
from coordinator.audit.resume import AuditReplay
from coordinator.audit.schema import MemberRef, MemberRemoved
from coordinator.audit.schema import Record as AuditRecord
from coordinator.audit.schema.observed import ObservedEvent, Place, Source, encode_observed
from coordinator.core.causes import Cause
from coordinator.core.groups.states import GroupState
from coordinator.core.offsets.events import DeletionCause, OffsetsDeleted
from coordinator.core.stored import Stored
from coordinator.core.topic_partition import TopicPartition
from coordinator.runtime.interfaces import StoreError
from coordinator.runtime.shard import ShardState
from tests.audit.stories import assigned, rejoin, removed, stable, subscription, sync
from tests.simulation.simulation import GROUP_ID, NEWEST_JOIN, Simulation


@pytest.fixture
def sim() -> Simulation:
    return Simulation()


@pytest.fixture
def member_id(sim) -> str:
    """The one member of a Stable group of generation 1, who owns t-0."""
    member_id = sim.join("a", metadata=subscription("t")).response.member_id
    sync(sim, {member_id: {"t": [0]}})
    return str(member_id)


def after_restart(sim: Simulation) -> list[Any]:
    """The events of the restart itself; all events of the group are still in order, without a gap."""
    before = len(sim.audited())
    sim.restart()
    events = sim.audited()
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    return events[before:]


def content_of(sim: Simulation, topic: str) -> bytearray:
    (path,) = (path for path in sim.disk.paths() if path.match(f"{topic}-0/*.log"))
    return sim.disk.content(path)


def crash_between_appends(sim: Simulation, act: Callable[[], object]) -> list[Any]:
    """What `act` does is in the audit, but its records of __consumer_offsets are not."""
    stored_bytes = len(content_of(sim, "__consumer_offsets"))
    act()
    del content_of(sim, "__consumer_offsets")[stored_bytes:]
    return after_restart(sim)


def test_nothing_is_told_of_a_group_that_is_as_audited(sim, member_id):
    assert after_restart(sim) == []
    assert after_restart(sim) == []


def test_a_group_that_is_loaded_again_by_a_fault_is_told_though_it_is_as_audited(sim, member_id):
    before = len(sim.audited())
    sim.coordinator.unload(0)
    sim.coordinator.load([0], Cause.FAULT)
    while sim.shard.state is ShardState.LOADING:
        sim.coordinator.drain(sim.now_ms)
    (loaded,) = sim.audited()[before:]
    assert (loaded.cause, loaded.state, loaded.lost) == (Cause.FAULT, "Stable", False)
    assert loaded.void_from_seq == loaded.seq, "nothing of it is void"


def test_seq_goes_on_after_a_restart(sim, member_id):
    last = sim.audited()[-1].seq
    sim.restart()
    sim.leave(member_id)
    new_events = sim.audited()[last:]
    assert [event.seq for event in new_events] == list(range(last + 1, last + 1 + len(new_events)))
    assert new_events[0].member.client_id == "a", "who it was is still known"


def test_owners_are_known_after_a_restart(sim, member_id):
    sim.restart()
    rejoin(sim)
    events = sync(sim, {member_id: {"t": [0, 1]}})
    assert (assigned(events)[member_id].kept, assigned(events)[member_id].gained) == ({"t": [0]}, {"t": [1]})
    assert stable(events).partitions_moved == 0


def test_a_rebalance_that_a_crash_cut_off_is_void(sim, member_id):
    stable_seq = sim.audited()[-1].seq
    sim.join("b", metadata=subscription("t"))
    assert sim.group.state is GroupState.PREPARING_REBALANCE
    (loaded,) = after_restart(sim)
    assert isinstance(loaded, schema.GroupLoaded)
    assert (loaded.void_from_seq, loaded.lost) == (stable_seq + 1, False)
    assert (loaded.state_before, loaded.state, loaded.generation_id) == ("PreparingRebalance", "Stable", 1)
    (snapshot,) = loaded.members
    assert (snapshot.member.member_id, snapshot.partitions) == (member_id, {"t": [0]})
    assert (snapshot.subscribed_topics, loaded.leader, loaded.protocol_name) == (["t"], member_id, "range")
    assert after_restart(sim) == [], "once is enough"


def test_a_generation_that_was_audited_and_not_stored_is_void(sim, member_id):
    stable_seq = sim.audited()[-1].seq
    rejoin(sim)
    (loaded,) = crash_between_appends(sim, lambda: sync(sim, {member_id: {"t": [0, 1]}}))
    assert (loaded.void_from_seq, loaded.generation_id_before, loaded.generation_id) == (stable_seq + 1, 2, 1)
    assert loaded.members[0].partitions == {"t": [0]}
    assert sim.group.generation_id == 1


def test_a_group_that_the_audit_alone_knows_is_removed(sim):
    sim.commit()
    sim.leave("nobody")
    del content_of(sim, "__consumer_offsets")[:]
    (removed,) = after_restart(sim)
    assert isinstance(removed, schema.GroupRemoved)
    assert (removed.cause, removed.state_before, removed.state) == ("not_stored", "Empty", "Dead")
    assert after_restart(sim) == []
    sim.join("a")
    new_events = sim.audited()
    assert [event.seq for event in new_events] == list(range(1, len(new_events) + 1))


def test_a_deleted_group_stays_silent(sim, member_id):
    sim.leave(member_id)
    sim.delete_group()
    assert sim.kinds()[-1] == "group.removed"
    assert after_restart(sim) == []


def test_a_group_whose_audit_is_gone_is_told_whole(sim, member_id):
    """As time retention does when it removes the last event of a group that is still there."""
    del content_of(sim, "__group_audit")[:]
    sim.restart()
    (loaded,) = sim.audited()
    assert (loaded.seq, loaded.void_from_seq, loaded.lost) == (1, None, False)
    assert (loaded.state_before, loaded.state, loaded.generation_id) == ("Dead", "Stable", 1)


def replace_static(sim: Simulation, instance_id: str = "one") -> str:
    joined = sim.join("a", instance_id=instance_id, version=NEWEST_JOIN, metadata=subscription("t"))
    return str(joined.response.member_id)


@pytest.fixture
def static_id(sim) -> str:
    """As `member_id`, but a static member."""
    joined = sim.join("a", instance_id="one", version=5, metadata=subscription("t"))
    sync(sim, {joined.response.member_id: {"t": [0]}})
    return str(joined.response.member_id)


def test_a_replaced_static_member_is_stored_with_its_new_id(sim, static_id):
    new_id = replace_static(sim)
    assert after_restart(sim) == []
    assert list(sim.group.members) == [new_id]


def test_a_replacement_that_was_audited_and_not_stored_is_void(sim, static_id):
    """Generation and state are the same before and after it; the member is not."""
    stable_seq = sim.audited()[-1].seq
    (loaded,) = crash_between_appends(sim, lambda: replace_static(sim))
    assert loaded.void_from_seq == stable_seq + 1
    assert [member.member.member_id for member in loaded.members] == [static_id]
    assert after_restart(sim) == []


def test_of_two_replacements_only_the_one_not_stored_is_void(sim, static_id):
    first = replace_static(sim)
    first_seq = sim.audited()[-1].seq
    (loaded,) = crash_between_appends(sim, lambda: replace_static(sim))
    assert loaded.void_from_seq == first_seq + 1
    assert list(sim.group.members) == [first]


def test_what_follows_a_replacement_that_was_not_stored_is_void_with_it(sim, static_id):
    stable_seq = sim.audited()[-1].seq

    def replace_and_leave() -> None:
        new_id = replace_static(sim)
        sim.join("b", metadata=subscription("t"))
        assert new_id in sim.group.members

    (loaded,) = crash_between_appends(sim, replace_and_leave)
    assert loaded.void_from_seq == stable_seq + 1


def test_a_stored_replacement_stands_when_the_next_generation_was_not_stored(sim, static_id):
    new_id = replace_static(sim)
    replaced_seq = sim.audited()[-1].seq
    rejoin(sim)
    (loaded,) = crash_between_appends(sim, lambda: sync(sim, {new_id: {"t": [0]}}))
    assert (loaded.void_from_seq, loaded.generation_id) == (replaced_seq + 1, 1)
    assert list(sim.group.members) == [new_id]


def test_a_replacement_of_an_earlier_generation_is_no_matter_any_more(sim, static_id):
    new_id = replace_static(sim)
    sim.join("b", metadata=subscription("t"), instance_id="two", version=5)
    rejoin(sim)
    sync(sim, {})
    sim.leave("", instance_id="one")
    rejoin(sim)
    sync(sim, {})
    assert new_id not in sim.group.members
    assert after_restart(sim) == []


def fail_to_store(sim: Simulation) -> None:
    """The next batch is audited, but its records of __consumer_offsets are refused."""

    store = sim.shard.store

    def append_audit_alone(
        audit: list[AuditRecord], stored: Sequence[Stored], now_ms: int, completed: Callable[[StoreError | None], None]
    ) -> None:
        type(store).append(store, audit, [], now_ms, lambda _: completed(StoreError("no room")))

    store.append = append_audit_alone  # type: ignore[method-assign, assignment]


def reload(sim: Simulation) -> list[schema.AuditEvent]:
    """What is audited when the partition is loaded again after the failure."""
    assert not sim.shard.is_active
    del sim.shard.store.append
    before = len(sim.audited())
    sim.advance(100)
    assert sim.shard.is_active
    return sim.audited()[before:]


def test_a_group_that_is_loaded_again_after_a_failed_append_says_so(sim, member_id):
    stable_seq = sim.audited()[-1].seq
    rejoin(sim)
    fail_to_store(sim)
    sim.sync(member_id, {})
    (loaded,) = reload(sim)
    assert isinstance(loaded, schema.GroupLoaded)
    assert (loaded.cause, loaded.void_from_seq) == ("store_failed", stable_seq + 1)
    rejoin(sim)
    (loaded,) = after_restart(sim)
    assert loaded.cause is None, "a start is no failed append"


def test_a_group_whose_creation_could_not_be_stored_is_removed_for_that_reason(sim):
    fail_to_store(sim)
    sim.commit()
    (removed,) = reload(sim)
    assert isinstance(removed, schema.GroupRemoved)
    assert removed.cause == "store_failed"


def test_a_removal_that_was_not_stored_is_void(sim):
    """The group goes on in the same incarnation."""
    sim.commit()
    seq = sim.audited()[-1].seq
    (loaded,) = crash_between_appends(sim, sim.delete_group)
    assert isinstance(loaded, schema.GroupLoaded)
    assert (loaded.created_seq, loaded.state_before, loaded.void_from_seq) == (1, "Dead", seq + 1)
    assert after_restart(sim) == []


def test_a_removal_and_a_creation_that_were_not_stored_are_void(sim, member_id):
    sim.leave(member_id)
    seq = sim.audited()[-1].seq

    def create_again() -> None:
        with sim.one_turn():
            sim.queue_events(GROUP_ID, removed)
            sim.join("a")

    (loaded,) = crash_between_appends(sim, create_again)
    assert isinstance(loaded, schema.GroupLoaded)
    assert (loaded.void_from_seq, loaded.state, loaded.lost) == (seq + 1, "Empty", False)


def test_what_happened_to_offsets_is_not_void(sim, member_id):
    """Expired offsets are gone, also when a crash cuts the next rebalance off."""
    partitions = (TopicPartition("t", 0),)
    sim.queue_events(
        GROUP_ID,
        lambda group_id, now_ms: (
            OffsetsDeleted(group_id=group_id, at_ms=now_ms, cause=DeletionCause.EXPIRED, partitions=partitions),
        ),
    )
    sim.coordinator.drain(sim.now_ms)
    expired_seq = sim.audited()[-1].seq
    sim.join("b", metadata=subscription("t"))
    (loaded,) = after_restart(sim)
    assert loaded.void_from_seq == expired_seq + 1


def test_what_was_seen_of_a_group_of_another_kafka_is_passed_over():
    """A node that watches groups of its cluster writes it beside its own: no group of this coordinator is gone."""
    removed = MemberRemoved(
        group_id="g",
        seq=7,
        created_seq=1,
        time_ms=1,
        generation_id=3,
        state="",
        generation_id_before=3,
        state_before="",
        coordinator_epoch=0,
        node_id=0,
        member=MemberRef(member_id="m"),
        cause=Cause.MEMBER_LEFT,
        reason="",
    )
    observed = ObservedEvent(removed, (Place(Source.NODE, "node 1", 1),))
    read = AuditReplay(0)
    for _ in read.apply([(b"g", encode_observed(observed), ())]):
        pass
    assert read.cursors == {}
