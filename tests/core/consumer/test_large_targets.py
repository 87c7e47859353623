"""The targets of large groups: computed beside the requests, and installed when they are there."""

import pytest

from coordinator.core.consumer import large_targets
from coordinator.core.consumer.events import TargetAssignmentComputed
from coordinator.core.consumer.failed_work import RETRY_MS_AT_FIRST
from coordinator.core.consumer.large_targets import ComputedTarget
from coordinator.core.consumer.target_events import TargetComputationStarted
from coordinator.core.groups.states import ASSIGNING, STABLE
from tests.core.consumer.delayed_work import DelayedTargets
from tests.core.consumer.world import World


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """Each target counts as large."""
    monkeypatch.setattr(large_targets, "WORK_AT_ONCE", 0)
    return World()


def test_the_request_that_asks_is_answered_with_the_target_so_far(world: World) -> None:
    joined = world.enter("a")
    assert (joined.member_epoch, world.given(joined)) == (1, {})
    answer = world.beat("a", 1)
    assert (answer.member_epoch, world.given(answer)) == (2, {"t": [0, 1, 2]})
    assert world.consumer.state is STABLE
    world.restart()
    assert world.consumer.target_epoch == 2


def test_one_target_is_computed_at_a_time(world: World) -> None:
    computer = DelayedTargets(world)
    world.enter("a")
    world.enter("b")
    world.beat("a", 1)
    assert len(computer.asked) == 1
    assert world.consumer.state is ASSIGNING


def test_a_target_that_others_have_overtaken_is_installed_and_followed_by_the_next(world: World) -> None:
    computer = DelayedTargets(world)
    world.enter("a")
    world.enter("b")
    computer.finish()
    assert (world.consumer.epoch, world.consumer.target_epoch) == (3, 2)
    assert world.beat("a", 1).member_epoch == 2
    computer.finish()
    assert world.consumer.target_epoch == 3
    assert world.beat("b", 1).member_epoch == 3


def test_members_that_left_meanwhile_get_no_target(world: World) -> None:
    computer = DelayedTargets(world)
    world.enter("a")
    world.enter("b", "u")
    world.depart("a")
    computer.finish()
    assert not world.consumer.targets
    world.depart("b")
    world.enter("a")
    world.depart("a")
    computer.finish()
    assert world.consumer.computing is None
    assert world.consumer.target_epoch == 2


def test_who_took_the_place_of_a_static_member_has_its_target(world: World) -> None:
    computer = DelayedTargets(world)
    world.enter("a", instance_id="i")
    world.depart("a", -2, "i")
    world.enter("b", instance_id="i")
    computer.finish()
    answer = world.beat("b", 1, instance_id="i")
    assert (answer.member_epoch, world.given(answer)) == (2, {"t": [0, 1, 2]})


def test_a_computation_that_failed_is_asked_for_again(world: World) -> None:
    computer = DelayedTargets(world)
    world.enter("a")
    computer.finish(fails=True)
    assert world.consumer.target_epoch == 1
    world.advance(RETRY_MS_AT_FIRST)
    world.beat("a", 1)
    computer.finish()
    assert world.consumer.target_epoch == 2


def test_a_target_of_a_group_that_is_gone_is_not_installed(world: World) -> None:
    computer = DelayedTargets(world)
    world.enter("a")
    (asked,) = computer.asked
    world.depart("a")
    world.delete_group()
    assert not asked.is_needed
    world.enter("a")
    world.coordinator.work.bring_back(asked, ComputedTarget(asked.work.request, {}))
    world.coordinator.drain(world.now_ms)
    assert not any(isinstance(event, TargetAssignmentComputed) for event in world.events)


def test_members_and_partitions_make_a_group_large() -> None:
    world = World(topics={"t": large_targets.PARTITIONS_PER_MEMBER * (large_targets.WORK_AT_ONCE - 2)})
    for number in range(4):
        world.enter(f"member-{number}")
        is_large = any(isinstance(event, TargetComputationStarted) for event in world.events)
        assert is_large == (number >= 2), number
