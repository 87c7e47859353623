"""A rebalance that a fault of a test asks for: the group epoch rises, and the members go on with what they have."""

from coordinator.core.causes import Cause
from coordinator.core.groups.requests import ForcedRebalance
from coordinator.core.kinds import operations
from tests.core.consumer.world import World
from tests.simulation.simulation import GROUP_ID, Sent


def force(world: World) -> None:
    world.submit(operations.FORCE_REBALANCE, GROUP_ID, ForcedRebalance(Cause.FAULT, "drill"), Sent(), "", 0)


def test_the_group_epoch_rises_and_no_partition_moves() -> None:
    world = World()
    first = world.enter("a")
    force(world)
    assert (world.consumer.epoch, world.group.state) == (first.member_epoch + 1, "Assigning")
    second = world.beat("a", first.member_epoch, owned={"t": [0, 1, 2]})
    assert second.member_epoch == first.member_epoch + 1
    assert world.assigned("a") == {"t": [0, 1, 2]}
    assert world.group.state == "Stable"


def test_a_group_whose_target_is_due_already_keeps_its_epoch() -> None:
    world = World()
    first = world.enter("a")
    force(world)
    force(world)
    assert world.consumer.epoch == first.member_epoch + 1


def test_an_empty_group_stays() -> None:
    world = World()
    first = world.enter("a")
    world.depart("a")
    epoch = world.consumer.epoch
    assert epoch > first.member_epoch
    force(world)
    assert (world.consumer.epoch, world.group.state) == (epoch, "Empty")


def test_a_forced_rebalance_survives_a_restart() -> None:
    world = World()
    first = world.enter("a")
    force(world)
    world.restart()
    assert world.consumer.epoch == first.member_epoch + 1
    assert world.beat("a", first.member_epoch, owned={"t": [0, 1, 2]}).member_epoch == first.member_epoch + 1
