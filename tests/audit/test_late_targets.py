"""What the audit tells of a target that is computed beside the requests, and comes after the epoch has risen again."""

import pytest

from coordinator.audit import schema
from coordinator.core.causes import Cause
from coordinator.core.consumer import large_targets
from coordinator.core.consumer.failed_work import RETRY_MS_AT_FIRST
from tests.audit.consumer_stories import late_target, named, settle
from tests.audit.test_consumer_groups import last, named_by, told
from tests.core.consumer.delayed_work import DelayedTargets
from tests.core.consumer.test_migration import classic_group
from tests.core.consumer.world import World


@pytest.fixture(autouse=True)
def all_targets_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_targets, "WORK_AT_ONCE", 0)


@pytest.fixture
def world() -> World:
    return named(World())


@pytest.fixture
def targets(world: World) -> DelayedTargets:
    return DelayedTargets(world)


def test_a_late_target_is_told_with_its_own_epoch(world, targets):
    late_target(world, targets)
    (superseded,) = told(world, schema.RebalanceSuperseded)
    assert (superseded.generation_id, superseded.awaits_target) == (3, True)
    started = [(each.target_epoch, each.generation_id, each.state) for each in told(world, schema.GenerationStarted)]
    assert started == [(2, 2, "Reconciling"), (3, 4, "Assigning")]
    late = last(world, schema.GenerationStarted)
    assert (named_by(late.triggers), late.join_ms) == (["b"], 2_000)
    reconciled = [each for each in told(world, schema.MemberReconciled) if each.seq > late.seq]
    assert {each.member_epoch for each in reconciled} == {2, 3}


def test_the_next_target_has_the_triggers_since_the_late_one(world, targets):
    late_target(world, targets)
    world.advance(300)
    targets.finish()
    computed = last(world, schema.GenerationStarted)
    assert (computed.target_epoch, computed.generation_id, named_by(computed.triggers)) == (4, 4, ["c"])
    assert computed.join_ms == 1_800
    settle(world)
    stable = last(world, schema.GenerationStable)
    assert (stable.generation_id, stable.join_ms) == (4, 1_800)


def test_an_epoch_whose_target_nobody_computes_awaits_none(world, targets):
    world.enter("a")
    world.enter("b")
    world.enter("c")
    assert [each.awaits_target for each in told(world, schema.RebalanceSuperseded)] == [True, False]
    targets.finish()
    assert last(world, schema.GenerationStarted).target_epoch == 2


def test_the_triggers_of_a_computation_that_failed_are_those_of_the_next(world, targets):
    world.enter("a")
    world.enter("b")
    targets.finish(fails=True)
    world.advance(RETRY_MS_AT_FIRST)
    world.beat("a", 1)
    world.enter("c")
    targets.finish()
    late = last(world, schema.GenerationStarted)
    assert (late.target_epoch, named_by(late.triggers)) == (3, ["a", "b"])
    world.beat("a", 1)
    targets.finish()
    assert named_by(last(world, schema.GenerationStarted).triggers) == ["c"]


def test_a_group_that_was_emptied_has_the_triggers_of_the_target_that_was_computed(world, targets):
    world.enter("a")
    world.depart("a")
    emptied = last(world, schema.GroupEmptied)
    assert [trigger.cause for trigger in emptied.triggers] == [Cause.NEW_MEMBER, Cause.MEMBER_LEFT]
    world.enter("b")
    targets.finish()
    late = last(world, schema.GenerationStarted)
    assert (late.target_epoch, late.generation_id, late.triggers) == (2, 4, [])


def test_a_late_target_names_100_triggers_and_those_after_it_are_counted_anew(world, targets):
    world.enter("member-0")
    for number in range(1, 203):
        world.enter(f"member-{number}")
    targets.finish()
    assert named_by(last(world, schema.GenerationStarted).triggers) == ["member-0"]
    world.beat("member-0", 1)
    targets.finish()
    computed = last(world, schema.GenerationStarted)
    assert (len(computed.triggers), computed.unnamed_triggers) == (schema.TRIGGERS_NAMED_MAX, 102)
    assert named_by(computed.triggers)[0] == "member-1"


def test_topics_that_grow_while_a_target_is_computed_are_told_with_the_epoch_that_they_raise(world, targets):
    world.enter("a")
    world.fixed.grow("t", 4)
    targets.finish()
    world.beat("a", 1)
    started = last(world, schema.RebalanceStarted)
    assert (started.cause, started.topic_changes) == (Cause.TOPICS_CHANGED, {"t": [3, 4]})


def test_a_conversion_gives_up_the_target_that_was_computed(monkeypatch):
    monkeypatch.setattr(large_targets, "WORK_AT_ONCE", 1_500)
    world, _ = classic_group()
    named(world)
    monkeypatch.setattr(large_targets, "WORK_AT_ONCE", 0)
    targets = DelayedTargets(world)
    world.enter("a")
    world.depart("a")
    started = last(world, schema.RebalanceStarted)
    assert (started.state, started.cause) == ("PreparingRebalance", Cause.MEMBER_LEFT)
    targets.finish()
    assert not told(world, schema.GenerationStarted)[1:]
    assert Cause.NEW_MEMBER in {trigger.cause for trigger in started.triggers}


def test_after_a_restart_the_next_request_asks_again(world, targets):
    world.enter("a")
    world.enter("b")
    before = len(world.audited())
    world.restart()
    named(world)
    again = DelayedTargets(world)
    world.beat("a", 1)
    again.finish()
    events = world.audited()[before:]
    assert [event.target_epoch for event in events if isinstance(event, schema.GenerationStarted)] == [3]
