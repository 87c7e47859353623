"""What the audit says beside the bare event: who owned what, who gained and lost it, how long it took."""

import json
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.audit import schema
from coordinator.core.offsets.events import DeletionCause, OffsetsDeleted
from coordinator.core.stored import Producer
from coordinator.core.topic_partition import TopicPartition
from tests.audit.stories import assigned, assignment, created, rejoin, stable, subscription, sync
from tests.examples import examples
from tests.simulation.server import START_MS
from tests.simulation.simulation import GROUP_ID, NEWEST_JOIN, Simulation

PARTITIONS = range(4)
PLANS = st.lists(
    st.lists(st.sampled_from(["a", "b", None]), min_size=len(PARTITIONS), max_size=len(PARTITIONS)), max_size=4
)
"""Generations; each says to whom a partition goes, or to nobody."""


@pytest.fixture
def sim() -> Simulation:
    return Simulation()


@pytest.fixture
def pair(sim) -> list[str]:
    """The ids of a leader and a follower, with a first generation in which they own t-0, t-1 and t-2."""
    sim.join("a", metadata=subscription("t"))
    (leader,) = sim.group.members
    sync(sim, {leader: {}})
    sim.join("b", metadata=subscription("t"))
    sim.join("a", leader, metadata=subscription("t"))
    ids = list(sim.group.members)
    sync(sim, {ids[0]: {"t": [0, 1]}, ids[1]: {"t": [2]}})
    return ids


def test_a_first_assignment_is_gained_and_nothing_moved(sim):
    joined = sim.join("a", metadata=subscription("t")).response
    events = sync(sim, {joined.member_id: {"t": [1, 0], "s": [3]}})
    event = assigned(events)[joined.member_id]
    assert event.readable
    assert event.partitions == event.gained == {"s": [3], "t": [0, 1]}
    assert event.lost == event.kept == {}
    assert (stable(events).partitions, stable(events).partitions_moved) == (3, 0)


def test_what_is_gained_lost_and_kept_compares_with_the_last_generation(sim, pair):
    a, b = pair
    rejoin(sim)
    events = sync(sim, {a: {"t": [0]}, b: {"t": [1, 2, 3]}})
    result = assigned(events)
    assert (result[a].gained, result[a].lost, result[a].kept) == ({}, {"t": [1]}, {"t": [0]})
    assert (result[b].gained, result[b].lost, result[b].kept) == ({"t": [1, 3]}, {}, {"t": [2]})
    assert (stable(events).partitions, stable(events).partitions_moved) == (4, 1), "t-3 had no owner before"


def test_a_partition_that_nobody_had_for_a_generation_still_moved(sim, pair):
    """As with cooperative assignors: revoked in one generation, given in the next."""
    a, b = pair
    rejoin(sim)
    assert stable(sync(sim, {a: {"t": [0]}, b: {"t": [2]}})).partitions_moved == 0
    rejoin(sim)
    assert stable(sync(sim, {a: {"t": [0]}, b: {"t": [1, 2]}})).partitions_moved == 1


def test_a_partition_that_comes_back_to_its_last_owner_did_not_move(sim, pair):
    a, b = pair
    rejoin(sim)
    sync(sim, {a: {}, b: {"t": [2]}})
    rejoin(sim)
    assert stable(sync(sim, {a: {"t": [0, 1]}, b: {"t": [2]}})).partitions_moved == 0


def test_partitions_of_a_member_that_left_moved_to_who_has_them_now(sim, pair):
    a, b = pair
    sim.leave(b)
    rejoin(sim)
    events = sync(sim, {a: {"t": [0, 1, 2]}})
    assert assigned(events)[a].gained == {"t": [2]}
    assert stable(events).partitions_moved == 1


def test_eager_members_leave_all_partitions_without_an_owner(sim, pair):
    a, b = pair
    sim.join("a", a, metadata=subscription("t"))
    sim.advance(300)
    sim.join("b", b, metadata=subscription("t"))
    sim.advance(20)
    result = stable(sync(sim, {a: {"t": [0, 1]}, b: {"t": [2]}}))
    assert (result.join_ms, result.sync_ms, result.rebalance_ms) == (300, 20, 320)
    assert result.unowned_partition_ms == 3 * 320


def test_what_members_claim_to_keep_was_never_without_an_owner(sim, pair):
    a, b = pair
    claims = {a: {"t": [0, 1]}, b: {"t": [2]}}
    sim.join("a", a, metadata=subscription("t", owned=claims[a]))
    sim.advance(100)
    sim.join("b", b, metadata=subscription("t", owned=claims[b]))
    result = stable(sync(sim, {a: {"t": [0]}, b: {"t": [1, 2]}}))
    assert result.unowned_partition_ms == 1 * 100, "t-1 alone: its new owner did not claim it"


@pytest.mark.parametrize("data", [b"\x00", b"not an assignment", b"\xff\xff" + bytes(10), assignment({"t": [0]})[:-5]])
def test_an_assignment_that_cannot_be_read_is_told_as_such(sim, pair, data):
    a, b = pair
    rejoin(sim)
    events = sync(sim, {a: data, b: {"t": [2]}})
    result = assigned(events)
    assert not result[a].readable
    assert result[a].partitions == {}
    assert result[a].lost == {"t": [0, 1]}
    assert result[b].readable
    assert stable(events).partitions == 1


def test_no_assignment_at_all_is_readable_and_empty(sim, pair):
    a, b = pair
    rejoin(sim)
    result = assigned(sync(sim, {b: {"t": [2]}}))
    assert (result[a].readable, result[a].partitions) == (True, {})


@given(st.binary(max_size=60))
def test_no_bytes_of_a_client_break_the_audit(data):
    sim = Simulation()
    member_id = sim.join("a", metadata=data).response.member_id
    sync(sim, {member_id: data})
    assert sim.shard.is_active


@given(PLANS)
@settings(max_examples=examples(40), deadline=None)
def test_any_series_of_plans_is_told_as_a_naive_reader_would(plans):
    sim = Simulation()
    ids = dict(zip("ab", sim.stable_with("a", "b"), strict=True))
    owned: dict[str, set[int]] = {"a": set(), "b": set()}
    last_owner: dict[int, str] = {}
    unassigned: set[int] = set()
    for plan in plans:
        rejoin(sim)
        now = {name: {index for index, to in zip(PARTITIONS, plan, strict=True) if to == name} for name in "ab"}
        events = sync(sim, {ids[name]: {"t": sorted(now[name])} for name in "ab"})
        for name in "ab":
            event = assigned(events)[ids[name]]
            result = [set(part.get("t", [])) for part in (event.partitions, event.gained, event.lost, event.kept)]
            assert result == [now[name], now[name] - owned[name], owned[name] - now[name], now[name] & owned[name]]
        moved = sum(1 for name in "ab" for index in now[name] if last_owner.get(index, name) != name)
        assert stable(events).partitions_moved == moved
        owned = now
        last_owner |= {index: name for name in "ab" for index in now[name]}
        unassigned_before, unassigned = unassigned, last_owner.keys() - now["a"] - now["b"]
        for index in unassigned & unassigned_before:
            del last_owner[index]


def test_a_static_member_that_restarts_keeps_what_it_owns(sim):
    first = sim.join("a", instance_id="one", version=5, metadata=subscription("t")).response.member_id
    sync(sim, {first: {"t": [0, 1]}})
    again = sim.join("a", instance_id="one", version=NEWEST_JOIN, metadata=subscription("t")).response.member_id
    replaced = sim.audited()[-1]
    assert isinstance(replaced, schema.StaticMemberReplaced)
    assert (replaced.old_member_id, replaced.member.member_id) == (first, again)
    assert (replaced.generation_id, replaced.state) == (1, "Stable")
    rejoin(sim)
    events = sync(sim, {again: {"t": [0, 1]}})
    assert assigned(events)[again].kept == {"t": [0, 1]}
    assert stable(events).partitions_moved == 0


def test_a_member_is_named_with_what_its_client_said(sim):
    sim.join("a", instance_id="one", version=8, metadata=subscription("t", "s"), reason="why not")
    joined = next(event for event in sim.audited() if isinstance(event, schema.MemberJoined))
    assert joined.subscribed_topics == ["s", "t"]
    assert (joined.member.client_id, joined.member.client_host) == ("a", "/127.0.0.1")
    assert joined.member.group_instance_id == "one"
    assert joined.protocols == ["range"]


def test_an_overtaken_rebalance_is_told_as_superseded(sim, pair):
    a, _ = pair
    rejoin(sim)
    sim.advance(50)
    sim.leave(a)
    kinds = sim.kinds()
    at = kinds.index("rebalance.superseded")
    superseded, started = sim.audited()[at : at + 2]
    assert kinds[at + 1] == "rebalance.started"
    assert (superseded.state_before, superseded.state) == ("CompletingRebalance", "CompletingRebalance")
    assert superseded.rebalance_ms == 50
    assert started.state_before == "CompletingRebalance"


def test_each_event_says_where_the_group_was_and_is(sim, pair):
    events = sim.audited()
    for earlier, later in pairwise(events):
        assert (later.state_before, later.generation_id_before) == (earlier.state, earlier.generation_id)
        assert later.seq == earlier.seq + 1
        assert later.time_ms >= earlier.time_ms


def test_records_carry_cloudevents_headers(sim, pair):
    records = list(sim.replay_audit())
    assert len(records) == len(sim.audited())
    for seq, (key, value, headers) in enumerate(records, start=1):
        assert key == GROUP_ID.encode()
        said = dict(headers)
        assert len(said) == len(headers)
        assert said.pop("ce_type").decode() == json.loads(value)["kind"]
        assert said == {
            "ce_specversion": b"1.0",
            "ce_id": f"{GROUP_ID}/{seq}".encode(),
            "ce_source": b"/kafka-group-coordinator/nodes/1",
            "ce_time": datetime.fromtimestamp(START_MS / 1000, UTC).isoformat(timespec="milliseconds").encode(),
            "content-type": b"application/json",
        }


# ---- incarnations


def test_a_group_that_is_created_again_goes_on_from_a_larger_number(sim):
    sim.commit()
    sim.delete_group()
    sim.commit()
    sim.join("a")
    first, second = [event for event in sim.audited() if isinstance(event, schema.GroupCreated)]
    assert (first.seq, first.created_seq) == (1, 1)
    offset = sim.audited().index(second)
    assert second.seq == second.created_seq == offset + 1
    after = sim.audited()[offset:]
    assert [event.seq for event in after] == list(range(offset + 1, offset + 1 + len(after)))
    assert {event.created_seq for event in after} == {second.created_seq}


def test_nothing_is_remembered_of_a_group_that_is_gone(sim):
    sim.commit()
    assert sim.shard.projection.groups.keys() == {GROUP_ID}
    sim.delete_group()
    assert sim.shard.projection.groups == {}
    sim.restart()
    assert sim.shard.projection.groups == {}


def test_a_group_gets_its_number_from_the_offset_of_its_record_in_a_batch_with_others(sim):
    with sim.one_turn():
        sim.commit()
        sim.queue_events("other", created)
    seqs = [(event.group_id, event.seq) for event in sim.audited()]
    assert seqs == [(GROUP_ID, 1), ("other", 2)]


def test_a_partition_that_is_given_up_forgets_its_groups(sim):
    sim.commit()
    sim.coordinator.unload(0)
    assert sim.shard.projection.groups == {}


# ---- bounds


def test_a_subscription_of_too_many_topics_is_counted(sim):
    topics = [f"t{index:04d}" for index in range(schema.TOPICS_NAMED_MAX + 1)]
    sim.join("a", metadata=subscription(*topics[1:]))
    sim.join("b", metadata=subscription(*topics))
    a, b = [event for event in sim.audited() if isinstance(event, schema.MemberJoined)]
    assert (a.subscribed_topics, a.unnamed_topics) == (topics[1:], 0)
    assert (b.subscribed_topics, b.unnamed_topics) == ([], len(topics))


def test_a_generation_of_too_many_partitions_names_as_many_as_it_may(sim, pair):
    a, b = pair
    rejoin(sim)
    most = list(range(schema.PARTITIONS_NAMED_MAX - 1))
    events = sync(sim, {a: {"t": most}, b: {"u": [0, 1]}})
    result = assigned(events)
    assert (result[a].partitions, result[a].unnamed_partitions) == ({"t": most}, 0)
    assert (result[b].partitions, result[b].lost, result[b].unnamed_partitions) == ({}, {}, 2)
    assert stable(events).partitions == len(most) + 2
    rejoin(sim)
    result = assigned(sync(sim, {a: {"t": most}, b: {"u": [0]}}))
    assert (result[b].gained, result[b].unnamed_partitions) == ({"u": [0]}, 0)


def test_what_was_not_named_is_not_named_after_a_restart_either(sim, pair):
    a, b = pair
    rejoin(sim)
    sync(sim, {a: {"t": list(range(schema.PARTITIONS_NAMED_MAX + 1))}, b: {"u": [0]}})
    sim.restart()
    members = sim.shard.projection.groups[GROUP_ID].members
    assert (members[a].owned, members[a].unnamed_partitions) == ((), schema.PARTITIONS_NAMED_MAX + 1)
    assert (members[b].owned, members[b].unnamed_partitions) == ((("u", 0),), 0)


@pytest.mark.parametrize(
    ("cause", "kind"), [(DeletionCause.EXPIRED, "offsets.expired"), (DeletionCause.REQUESTED, "offsets.deleted")]
)
def test_deleted_offsets_are_reported_once_by_their_cause(sim, cause, kind):
    partitions = (TopicPartition("t", 0),)
    sim.commit()
    sim.queue_events(
        GROUP_ID,
        lambda group_id, now_ms: (OffsetsDeleted(group_id=group_id, at_ms=now_ms, cause=cause, partitions=partitions),),
    )
    before = sim.kinds()
    sim.coordinator.drain(sim.now_ms)
    assert sim.kinds() == [*before, kind]


def test_too_many_deleted_offsets_are_counted(sim):
    def deletes(count: int) -> schema.OffsetsDeleted:
        partitions = tuple(TopicPartition("t", index) for index in range(count))
        cause = DeletionCause.REQUESTED
        sim.queue_events(
            GROUP_ID,
            lambda group_id, now_ms: (
                OffsetsDeleted(group_id=group_id, at_ms=now_ms, cause=cause, partitions=partitions),
            ),
        )
        sim.coordinator.drain(sim.now_ms)
        deleted = sim.audited()[-1]
        assert isinstance(deleted, schema.OffsetsDeleted)
        return deleted

    sim.commit()
    event = deletes(schema.PARTITIONS_NAMED_MAX)
    assert (len(event.partitions["t"]), event.unnamed_partitions) == (schema.PARTITIONS_NAMED_MAX, 0)
    event = deletes(schema.PARTITIONS_NAMED_MAX + 1)
    assert (event.partitions, event.unnamed_partitions) == ({}, schema.PARTITIONS_NAMED_MAX + 1)


# ---- offset commits


def reports(sim: Simulation) -> list[schema.OffsetsCommitted]:
    return [event for event in sim.audited() if isinstance(event, schema.OffsetsCommitted)]


def test_offset_commits_are_reported_once_per_interval(sim):
    for offset in range(3):
        sim.commit(offset=offset)
    sim.advance(59_999)
    assert reports(sim) == []
    sim.advance(1)
    (report,) = reports(sim)
    assert (report.interval_ms, report.commits, report.partitions) == (60_000, 3, 3)
    assert (report.first_log_offset, report.last_log_offset) == (0, sim.offsets_log.log_end_offset - 1)
    assert (report.state_before, report.state) == ("Empty", "Empty")
    sim.advance(60_000)
    assert len(reports(sim)) == 1, "nothing was committed"
    end = sim.offsets_log.log_end_offset
    sim.commit_in_transaction(Producer(7, 0))
    sim.advance(60_000)
    second = reports(sim)[1]
    assert (second.commits, second.first_log_offset, second.last_log_offset) == (1, end, end)
    assert second.seq == report.seq + 1


def test_the_interval_is_a_setting():
    sim = Simulation({"group.audit.offsets.interval.ms": "2000"})
    sim.commit()
    sim.advance(2_000)
    assert [report.interval_ms for report in reports(sim)] == [2_000]


def test_commits_of_a_group_that_is_gone_are_not_reported_for_its_successor(sim):
    sim.commit()
    sim.delete_group()
    sim.queue_events(GROUP_ID, created)
    sim.advance(60_000)
    assert reports(sim) == []
    sim.commit()
    sim.advance(60_000)
    assert [report.commits for report in reports(sim)] == [1]


def test_commits_before_a_crash_are_not_reported(sim):
    sim.commit()
    sim.restart()
    sim.advance(60_000)
    assert reports(sim) == []


def test_commits_before_a_clean_stop_are_reported(sim):
    sim.commit()
    sim.advance(10)
    sim.stop()
    sim.restart(clean=True)
    assert [(report.interval_ms, report.commits) for report in reports(sim)] == [(10, 1)]
