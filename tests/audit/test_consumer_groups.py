"""What the audit tells of consumer groups (KIP-848): epochs, target assignments, and each member's reconciliation."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeVar

import pytest

from coordinator.audit import schema
from coordinator.core.causes import Cause
from coordinator.core.consumer.member import LEAVE_EPOCH
from tests.audit.consumer_stories import named
from tests.core.consumer.classic_bytes import assignment
from tests.core.consumer.test_migration import classic_group, join, mixed_group
from tests.core.consumer.world import World

Event = TypeVar("Event", bound=schema.AuditEvent)


@pytest.fixture
def world() -> World:
    return named(World())


@pytest.fixture
def pair(world: World) -> World:
    """Stable in epoch 3: `a` has t-0 and t-1, `b` has t-2."""
    world.enter("a")
    world.enter("b")
    world.beat("a", 2)
    world.beat("a", 2, owned={"t": [0, 1]})
    world.beat("b", 3)
    assert last(world, schema.GenerationStable).generation_id == 3
    return world


def told(world: World, kind: type[Event]) -> list[Event]:
    return [event for event in world.audited() if isinstance(event, kind)]


def last(world: World, kind: type[Event]) -> Event:
    return told(world, kind)[-1]


def named_by(triggers: list[schema.Trigger]) -> list[str]:
    """The member ids of triggers that all have a member."""
    return [trigger.member.member_id for trigger in triggers if trigger.member is not None]


def kinds_since(world: World, act: Callable[[], object]) -> list[str]:
    before = len(world.audited())
    act()
    return [str(event.__struct_config__.tag) for event in world.audited()[before:]]


def test_a_first_member_is_a_whole_generation(world):
    assert kinds_since(world, lambda: world.enter("a")) == [
        "group.created",
        "member.joined",
        "rebalance.started",
        "generation.started",
        "member.reconciled",
        "generation.stable",
    ]
    (created,) = told(world, schema.GroupCreated)
    assert created.group_type == "consumer"
    started = last(world, schema.GenerationStarted)
    assert (started.generation_id, started.protocol_name, started.leader) == (2, "uniform", "")
    assert [trigger.cause for trigger in started.triggers] == [Cause.NEW_MEMBER]
    assert last(world, schema.MemberReconciled).gained == {"t": [0, 1, 2]}


def test_a_reconciliation_tells_who_gives_up_what_and_who_waits_for_it(world):
    world.enter("a")
    world.advance(1_000)
    world.enter("b")
    waiting = last(world, schema.MemberReconciled)
    assert (waiting.member.member_id, waiting.member_state) == ("b", "UNRELEASED_PARTITIONS")
    assert [(wait.member.member_id, wait.partitions) for wait in waiting.waits_for] == [("a", {"t": [2]})]
    world.advance(200)
    world.beat("a", 2)
    asked = last(world, schema.MemberReconciled)
    assert (asked.member_epoch, asked.member_state, asked.revoking) == (2, "UNREVOKED_PARTITIONS", {"t": [2]})
    assert (asked.lost, asked.kept, asked.reconcile_ms) == ({"t": [2]}, {"t": [0, 1]}, 200)
    world.advance(300)
    world.beat("a", 2, owned={"t": [0, 1]})
    gave_up = last(world, schema.MemberReconciled)
    assert (gave_up.member_epoch, gave_up.member_state, gave_up.revoking) == (3, "STABLE", {})
    world.advance(500)
    world.beat("b", 3)
    stable = last(world, schema.GenerationStable)
    assert (stable.partitions, stable.partitions_moved, stable.unowned_partition_ms) == (3, 1, 500)
    assert (stable.join_ms, stable.sync_ms, stable.rebalance_ms) == (0, 1_000, 1_000)
    assert stable.slowest_member is not None
    assert stable.slowest_member.member_id == "b"


def test_who_has_to_give_up_partitions_first_is_not_said_to_wait_for_others() -> None:
    world = named(World(topics={"t": 2, "u": 2}))
    world.enter("a", "t")
    world.enter("b", "u")
    world.beat("a", world.epoch("a"), names=["u"])
    asked = [each for each in told(world, schema.MemberReconciled) if each.member.member_id == "a"][-1]
    assert (asked.member_state, asked.revoking) == ("UNREVOKED_PARTITIONS", {"t": [0, 1]})
    assert asked.waits_for == []


def test_a_downgrade_tells_who_is_gone() -> None:
    world = named(mixed_group())
    world.depart("a")
    departed = last(world, schema.GroupConverted).departed
    assert [(each.cause, each.member and each.member.member_id) for each in departed] == [(Cause.MEMBER_LEFT, "a")]


def test_an_epoch_that_rises_before_the_group_is_stable_supersedes_the_one_before(world):
    world.enter("a")
    world.enter("b")
    world.advance(100)
    assert kinds_since(world, lambda: world.enter("c"))[:3] == [
        "member.joined",
        "rebalance.superseded",
        "rebalance.started",
    ]
    superseded = last(world, schema.RebalanceSuperseded)
    assert (superseded.generation_id, superseded.state, superseded.rebalance_ms) == (3, "Reconciling", 100)
    assert last(world, schema.RebalanceStarted).generation_id == 4


def test_a_member_that_is_silent_is_removed_with_when_it_was_last_heard(pair):
    heard_ms = pair.now_ms
    for _ in range(10):
        pair.advance(5_000)
        pair.beat("a", 3)
    removed = last(pair, schema.MemberRemoved)
    assert (removed.member.member_id, removed.cause, removed.last_heard_ms) == ("b", Cause.SESSION_EXPIRED, heard_ms)
    assert last(pair, schema.RebalanceStarted).cause is Cause.SESSION_EXPIRED
    stable = last(pair, schema.GenerationStable)
    assert (stable.silent_partition_ms, stable.unowned_partition_ms) == (45_000, 0)


@pytest.mark.parametrize(
    ("owned", "unclaimed"), [({"t": [0, 1]}, {"t": [2]}), ({"t": [0, 1, 2]}, {}), ({}, {"t": [0, 1, 2]}), (None, {})]
)
def test_what_a_member_was_told_of_and_does_not_own_by_its_own_account(pair, owned, unclaimed):
    pair.beat("b", LEAVE_EPOCH)
    pair.beat("a", 3)
    assert last(pair, schema.MemberReconciled).gained == {"t": [2]}
    pair.enter("c")
    pair.beat("a", 4, owned=owned)
    step = last(pair, schema.MemberReconciled)
    assert (step.member.member_id, step.unclaimed) == ("a", unclaimed)


def test_a_member_that_does_not_give_up_in_time_is_removed_for_that(world):
    world.enter("a", timeout_ms=2_000)
    world.enter("b")
    world.beat("a", 2)
    world.advance(2_000)
    assert last(world, schema.MemberRemoved).cause is Cause.REBALANCE_TIMEOUT


def test_topics_that_change_are_the_cause_of_the_next_epoch(pair):
    pair.fixed.grow("t", 4)
    pair.beat("a", 3)
    started = last(pair, schema.RebalanceStarted)
    assert (started.cause, started.member, started.topic_changes) == (Cause.TOPICS_CHANGED, None, {"t": [3, 4]})


def test_another_subscription_is_told_with_its_topics(pair):
    pair.beat("b", 3, names=["u"])
    changed = last(pair, schema.MemberRejoined)
    assert (changed.metadata_changed, changed.subscribed_topics) == (True, ["u"])
    assert last(pair, schema.RebalanceStarted).cause is Cause.METADATA_CHANGED


def test_what_a_regular_expression_matches_is_told(world):
    world.enter("a", pattern="[tu]")
    assert last(world, schema.PatternsResolved).patterns == {"[tu]": ["t", "u"]}
    assert last(world, schema.MemberJoined).subscribed_pattern == "[tu]"
    assert last(world, schema.RebalanceStarted).cause is Cause.TOPICS_CHANGED


def test_who_waits_for_what_a_regular_expression_matches_raises_no_epoch_until_then(world):
    world.enter("a", pattern="t")
    world.enter("b", pattern="[tu]")  # found at the next look at all names, which is not due
    assert last(world, schema.PatternsResolved).patterns == {"t": ["t"]}
    world.advance(2_000)
    world.enter("c")
    assert named_by(last(world, schema.RebalanceStarted).triggers) == ["c"]
    world.advance(10_000)
    world.beat("b", world.epoch("b"))
    assert last(world, schema.PatternsResolved).patterns == {"t": ["t"], "[tu]": ["t", "u"]}
    started = last(world, schema.RebalanceStarted)
    assert (started.cause, named_by(started.triggers)) == (Cause.TOPICS_CHANGED, ["b"])


def test_the_first_request_after_a_load_changes_what_its_member_subscribes_to(world):
    world.enter("a", pattern="t")
    world.advance(20_000)
    world.start(clean=True)
    world.beat("a", world.epoch("a"), pattern="none")
    started = last(world, schema.RebalanceStarted)
    assert (started.cause, started.member and started.member.member_id) == (Cause.METADATA_CHANGED, "a")


def test_a_static_member_leaves_for_a_moment_and_comes_back(world):
    world.enter("a", instance_id="i")
    world.depart("a", -2, "i")
    left = last(world, schema.MemberReconciled)
    assert (left.member_epoch, left.partitions) == (-2, {"t": [0, 1, 2]})
    world.enter("b", instance_id="i")
    replaced = last(world, schema.StaticMemberReplaced)
    assert (replaced.old_member_id, replaced.member.member_id) == ("a", "b")
    assert len(told(world, schema.RebalanceStarted)) == 1, "the group epoch stays"


def test_the_last_member_that_leaves_empties_the_group(world):
    world.enter("a")
    world.depart("a")
    emptied = last(world, schema.GroupEmptied)
    assert (emptied.generation_id, emptied.state) == (3, "Empty")
    assert [trigger.cause for trigger in emptied.triggers] == [Cause.MEMBER_LEFT]


def test_an_empty_classic_group_is_converted(world):
    (member_id,) = world.stable_with("old")
    world.leave(member_id)
    world.enter("a")
    assert last(world, schema.GroupConverted).group_type == "consumer"


def test_each_event_begins_in_the_state_that_the_one_before_left(world):
    """Several events may tell of one change: only the first of them begins in the state before it."""
    world.enter("a")
    world.enter("b")
    world.beat("a", 2, owned={"t": [0, 1]})
    world.beat("b", 3)
    world.depart("a")
    world.depart("b")
    events = world.audited()
    for before, after in pairwise(events):
        assert (after.state_before, after.generation_id_before) == (before.state, before.generation_id), after
    assert {event.state for event in events} == {"Empty", "Assigning", "Reconciling", "Stable"}


def test_a_group_that_became_a_classic_one_is_loaded_as_it_was_stored(world):
    """A rebalance that a kill cut off is void; the conversion before it is not."""
    world.enter("a")
    world.depart("a")
    world.join("old", version=3)
    (converted,) = told(world, schema.GroupConverted)
    (loaded,) = after_restart(world)
    assert (loaded.state, loaded.lost, loaded.void_from_seq) == ("Empty", False, converted.seq + 1)


# ---- restarts


def after_restart(world: World) -> list[Any]:
    before = len(world.audited())
    world.restart()
    events = world.audited()
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    return events[before:]


def start_again(world: World, *, is_ordered: bool) -> None:
    """A start reads the snapshots that an ordered stop leaves, or else the events themselves."""
    if is_ordered:
        world.stop()
    world.restart()
    named(world)
    assert bool(told(world, schema.GroupSnapshot)) is is_ordered
    world.advance(1_000)


def stored_bytes(world: World) -> bytearray:
    (path,) = (path for path in world.disk.paths() if path.match("__consumer_offsets-0/*.log"))
    return world.disk.content(path)


def test_nothing_is_told_of_a_group_that_is_as_audited(pair):
    assert after_restart(pair) == []


def test_nothing_is_told_of_a_group_that_is_as_audited_in_the_middle_of_a_reconciliation(world):
    world.enter("a")
    world.enter("b")
    world.beat("a", 2)
    assert after_restart(world) == []
    named(world)
    world.beat("a", 2, owned={"t": [0, 1]})
    world.beat("b", 3)
    assert last(world, schema.GenerationStable).generation_id == 3


def test_a_step_of_one_member_that_was_audited_and_not_stored_is_void(world):
    """Epoch, state and members are the stored ones: only the member itself is not."""
    world.enter("a")
    world.enter("b")
    world.enter("c")
    world.beat("a", 2)
    stored, seq = len(stored_bytes(world)), world.audited()[-1].seq
    world.beat("a", 2, owned={"t": [0]})
    assert isinstance(world.audited()[-1], schema.MemberReconciled)
    assert world.audited()[-1].state == "Reconciling"
    del stored_bytes(world)[stored:]
    (loaded,) = after_restart(world)
    assert isinstance(loaded, schema.GroupLoaded)
    assert (loaded.void_from_seq, loaded.lost, loaded.group_type) == (seq + 1, False, "consumer")
    assert loaded.progress["a"].member_state == "UNREVOKED_PARTITIONS"


def test_a_start_from_a_checkpoint_knows_how_far_the_members_are(world):
    world.checkpoint_records = 1
    world.restart()
    named(world)
    world.enter("a")
    world.enter("b")
    world.beat("a", 2)
    for _ in range(3):
        world.end_iteration()
        world.advance(1_000)
    assert told(world, schema.GroupSnapshot)
    assert not [each for each in after_restart(world) if isinstance(each, schema.GroupLoaded)]


@pytest.mark.parametrize("is_ordered", [True, False], ids=["stop", "kill"])
def test_an_epoch_that_waits_for_its_target_at_a_start_began_when_it_rose(is_ordered):
    world = named(World(settings={"group.consumer.assignment.interval.ms": "10000"}))
    world.enter("a")
    world.advance(500)
    world.enter("b")
    assert world.audited()[-1].state == "Assigning"
    began = last(world, schema.RebalanceStarted)
    start_again(world, is_ordered=is_ordered)
    world.advance(2_000)
    world.enter("c")
    superseded = next(each for each in told(world, schema.RebalanceSuperseded) if each.seq > began.seq)
    assert superseded.rebalance_ms == superseded.time_ms - began.time_ms


def test_how_long_an_epoch_took_is_null_if_nothing_tells_when_it_rose():
    world = named(World(settings={"group.consumer.assignment.interval.ms": "10000"}))
    world.enter("a")
    world.enter("b")
    assert world.audited()[-1].state == "Assigning"
    for path in [path for path in world.disk.paths() if path.match("__group_audit-*/*")]:
        world.disk.remove(path)
    world.restart()
    named(world)
    world.enter("c")
    assert last(world, schema.RebalanceSuperseded).rebalance_ms is None


@pytest.mark.parametrize("is_ordered", [True, False], ids=["stop", "kill"])
def test_an_epoch_is_stable_once_also_if_a_static_member_is_away_at_a_start(is_ordered):
    world = named(World())
    world.enter("a", instance_id="one")
    world.depart("a", -2, instance_id="one")
    assert world.audited()[-1].state == "Reconciling"
    start_again(world, is_ordered=is_ordered)
    world.enter("again", instance_id="one")
    assert world.audited()[-1].state == "Stable"
    assert len(told(world, schema.GenerationStable)) == 1


def test_each_epoch_has_its_own_triggers_and_the_target_has_those_of_all() -> None:
    world = named(World(settings={"group.consumer.assignment.interval.ms": "1000"}))
    world.enter("a")
    world.enter("b")
    world.enter("c")
    second, third = told(world, schema.RebalanceStarted)[1:]
    assert (named_by(second.triggers), named_by(third.triggers)) == (["b"], ["c"])
    assert (third.cause, third.member) == (Cause.NEW_MEMBER, third.triggers[0].member)
    world.advance(1_000)
    world.beat("a", 2)
    computed = last(world, schema.GenerationStarted)
    assert named_by(computed.triggers) == ["b", "c"]


def test_the_target_names_100_triggers_and_counts_the_others() -> None:
    world = named(World(settings={"group.consumer.assignment.interval.ms": "1000"}))
    for number in range(103):
        world.enter(f"member-{number}")
    newest = last(world, schema.RebalanceStarted)
    assert named_by(newest.triggers) == ["member-102"]
    world.advance(1_000)
    world.beat("member-0", 2)
    computed = last(world, schema.GenerationStarted)
    assert len(computed.triggers) == schema.TRIGGERS_NAMED_MAX
    assert (named_by(computed.triggers)[0], computed.unnamed_triggers) == ("member-1", 2)


def test_a_conversion_names_the_software_of_the_members_that_came_along():
    world = World()
    world.client_software = "librdkafka"
    joined = join(world, "").response
    world.sync(joined.member_id, {joined.member_id: assignment({"t": [0, 1, 2]})})
    world.enter("a")
    world.depart("a")
    assert [
        [(member.member.member_id, member.member.client_software_name) for member in converted.members]
        for converted in told(world, schema.GroupConverted)
    ] == [[(joined.member_id, "librdkafka")], [(joined.member_id, "librdkafka")]]


def test_what_a_member_says_of_itself_later_is_told(world):
    world.enter("a", timeout_ms=2_000)
    world.beat("a", 2, timeout_ms=7_000, assignor="range", rack_id="rack-1")
    changed = last(world, schema.MemberRejoined)
    assert (changed.metadata_changed, changed.rebalance_timeout_ms, changed.session_timeout_ms) == (False, 7_000, None)
    assert (changed.protocols, changed.rack_id) == (["range"], "rack-1")


def test_a_classic_member_offers_its_assignors_in_a_consumer_group(world):
    world.enter("a")
    join(world, "b", session_timeout_ms=10_000)
    assert last(world, schema.MemberJoined).protocols == ["range"]
    join(world, "b", session_timeout_ms=11_000)
    changed = last(world, schema.MemberRejoined)
    assert (changed.session_timeout_ms, changed.protocols) == (11_000, ["range"])


def test_a_conversion_tells_how_far_the_members_are_that_came_along():
    world, classic_id = classic_group()
    named(world)
    world.enter("a")
    (converted,) = told(world, schema.GroupConverted)
    assert converted.progress == {classic_id: schema.MemberProgress(1, "STABLE", 3)}


def test_a_static_member_that_returns_with_other_topics_is_the_first_trigger(world):
    world.enter("a", instance_id="i")
    world.depart("a", -2, "i")
    world.enter("b", "u", instance_id="i")
    started = last(world, schema.RebalanceStarted)
    assert [trigger.cause for trigger in started.triggers] == [Cause.STATIC_REPLACED, Cause.METADATA_CHANGED]
    assert named_by(started.triggers) == ["b", "b"]
    assert started.cause is Cause.STATIC_REPLACED
