"""The story of a group epoch whose target came after the epoch had risen again, by the coordinator's own events."""

import pytest

from coordinator.core.consumer import large_targets
from coordinator.core.consumer.failed_work import RETRY_MS_AT_FIRST
from coordinator.explain.fold.rebalances import EPOCHS_AWAITED_MAX
from coordinator.explain.generation import Outcome
from coordinator.explain.history import GroupHistory
from coordinator.explain.memory import packed, unpacked
from coordinator.explain.story import sentence
from tests.audit.consumer_stories import late_target, named, settle
from tests.core.consumer.delayed_work import DelayedTargets
from tests.core.consumer.world import World
from tests.simulation.simulation import GROUP_ID

BEGAN = "group epoch 3 began 22:13:21 UTC because client-b (127.0.0.1) joined."
ROSE = "It never became stable: after 500 ms the group epoch rose again before its target assignment was computed."
CAME = "At 22:13:23 UTC the target assignment of group epoch 3 was computed"


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(large_targets, "WORK_AT_ONCE", 0)
    return named(World())


@pytest.fixture
def targets(world: World) -> DelayedTargets:
    return DelayedTargets(world)


def history_of(world: World) -> GroupHistory:
    return GroupHistory.of(GROUP_ID, world.audited())


def told(world: World, epoch: int) -> str:
    history = history_of(world)
    generation = history.generation(epoch)
    assert generation is not None
    return sentence(history, generation)


def ended(world: World) -> list[tuple[int, Outcome, bool]]:
    """Each generation as it ends: its epoch, its outcome, and whether its target was there."""
    history, found = GroupHistory(GROUP_ID), []
    for event in world.audited():
        history = unpacked(packed(history))
        history.apply(event)
        found += [(each.generation_id, each.outcome, each.generation_started_ms is not None) for each in history.ended]
    return found


def test_the_epoch_that_was_superseded_has_started_after_all(world, targets):
    late_target(world, targets)
    assert told(world, 3) == (
        f"{BEGAN} {ROSE} That came 1.5 s later, for members to reconcile with until a newer one is there."
    )


def test_the_epoch_in_progress_says_what_members_reconcile_with(world, targets):
    late_target(world, targets)
    assert f"{CAME}: members reconcile with it until that of this epoch is there." in told(world, 4)
    targets.finish()
    settle(world)
    assert f"{CAME}, and members reconciled with it first." in told(world, 4)


def test_a_late_target_that_nobody_got_to_is_not_told_in_the_end(world, targets):
    world.enter("a", instance_id="i")
    world.depart("a", -2, "i")
    world.enter("b", "u")
    targets.finish()
    assert "the target assignment of group epoch 2 was computed: members reconcile" in told(world, 3)
    world.enter("c", "u")
    targets.finish()
    assert "the target assignment of group epoch 2 was computed" not in told(world, 3)


def test_before_the_target_is_there_nothing_is_said_of_it(world, targets):
    world.enter("a")
    targets.finish()
    world.beat("a", 1)
    world.advance(1_000)
    world.enter("b")
    world.advance(500)
    world.enter("c")
    assert told(world, 3) == f"{BEGAN} {ROSE}"


def test_an_epoch_ends_when_its_target_is_there(world, targets):
    late_target(world, targets)
    targets.finish()
    settle(world)
    assert ended(world) == [
        (2, Outcome.STABLE, True),
        (3, Outcome.SUPERSEDED, True),
        (4, Outcome.STABLE, True),
    ]


def test_an_epoch_whose_target_failed_ends_with_the_next_target(world, targets):
    world.enter("a")
    world.enter("b")
    targets.finish(fails=True)
    world.advance(RETRY_MS_AT_FIRST)
    world.beat("a", 1)
    assert ended(world) == []
    targets.finish()
    assert ended(world) == [(2, Outcome.SUPERSEDED, False)]


def test_an_epoch_ends_when_its_group_is_emptied(world, targets):
    world.enter("a")
    world.depart("a")
    assert ended(world) == [(2, Outcome.SUPERSEDED, False), (3, Outcome.EMPTIED, False)]


def test_nobody_waits_for_ever_for_a_target(world, targets):
    world.enter("a")
    for number in range(EPOCHS_AWAITED_MAX + 1):
        world.enter(f"member-{number}")
    assert (2, Outcome.SUPERSEDED, False) in ended(world)


def test_members_have_their_target_only_when_they_are_there(world, targets):
    """`a` and `b` have got to epoch 3, which is not the epoch of the group."""
    late_target(world, targets)
    latest = history_of(world).latest
    assert latest is not None
    assert latest.generation_id == 4
    assert {part.sync_ms for part in latest.members.values()} == {None}
