"""What the audit says beside the bare event: who owned what, who gained and lost it, how long it took."""

import json
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.audit import schema
from coordinator.audit.embedded import assigned_partitions, count_claimed, subscribed_topics
from tests.audit.stories import assigned, assignment, rejoin, stable, subscription, sync
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
    told = assigned(events)
    assert (told[a].gained, told[a].lost, told[a].kept) == ({}, {"t": [1]}, {"t": [0]})
    assert (told[b].gained, told[b].lost, told[b].kept) == ({"t": [1, 3]}, {}, {"t": [2]})
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
    told = stable(sync(sim, {a: {"t": [0, 1]}, b: {"t": [2]}}))
    assert (told.join_ms, told.sync_ms, told.rebalance_ms) == (300, 20, 320)
    assert told.unowned_partition_ms == 3 * 320


def test_what_members_claim_to_keep_was_never_without_an_owner(sim, pair):
    a, b = pair
    claims = {a: {"t": [0, 1]}, b: {"t": [2]}}
    sim.join("a", a, metadata=subscription("t", owned=claims[a]))
    sim.advance(100)
    sim.join("b", b, metadata=subscription("t", owned=claims[b]))
    told = stable(sync(sim, {a: {"t": [0]}, b: {"t": [1, 2]}}))
    assert told.unowned_partition_ms == 1 * 100, "t-1 alone: its new owner did not claim it"


@pytest.mark.parametrize("data", [b"\x00", b"not an assignment", b"\xff\xff" + bytes(10), assignment({"t": [0]})[:-5]])
def test_an_assignment_that_cannot_be_read_is_told_as_such(sim, pair, data):
    a, b = pair
    rejoin(sim)
    events = sync(sim, {a: data, b: {"t": [2]}})
    told = assigned(events)
    assert not told[a].readable
    assert told[a].partitions == {}
    assert told[a].lost == {"t": [0, 1]}
    assert told[b].readable
    assert stable(events).partitions == 1


def test_no_assignment_at_all_is_readable_and_empty(sim, pair):
    a, b = pair
    rejoin(sim)
    told = assigned(sync(sim, {b: {"t": [2]}}))
    assert (told[a].readable, told[a].partitions) == (True, {})


@given(st.binary(max_size=60))
def test_no_bytes_of_a_client_break_the_audit(data):
    for read in (assigned_partitions, subscribed_topics):
        read("consumer", data)
    count_claimed("consumer", data, {("t", 0)})
    sim = Simulation()
    member_id = sim.join("a", metadata=data).response.member_id
    sync(sim, {member_id: data})
    assert sim.shard.is_active


@given(PLANS)
@settings(max_examples=40, deadline=None)
def test_any_series_of_plans_is_told_as_a_naive_reader_would(plans):
    sim = Simulation()
    ids = dict(zip("ab", sim.stable_with("a", "b"), strict=True))
    owned: dict[str, set[int]] = {"a": set(), "b": set()}
    last_owner: dict[int, str] = {}
    for plan in plans:
        rejoin(sim)
        now = {name: {index for index, to in zip(PARTITIONS, plan, strict=True) if to == name} for name in "ab"}
        events = sync(sim, {ids[name]: {"t": sorted(now[name])} for name in "ab"})
        for name in "ab":
            event = assigned(events)[ids[name]]
            told = [set(part.get("t", [])) for part in (event.partitions, event.gained, event.lost, event.kept)]
            assert told == [now[name], now[name] - owned[name], owned[name] - now[name], now[name] & owned[name]]
        moved = sum(1 for name in "ab" for index in now[name] if last_owner.get(index, name) != name)
        assert stable(events).partitions_moved == moved
        owned = now
        last_owner |= {index: name for name in "ab" for index in now[name]}


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
