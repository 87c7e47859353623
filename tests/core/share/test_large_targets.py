"""Targets of large share groups are computed beside the heartbeats."""

from coordinator.core.share.workers import COMPUTE_SHARE_TARGET
from tests.core.consumer.delayed_work import DelayedWork
from tests.core.share.world import ShareWorld

LARGE = {"t": 600}


def large_world() -> tuple[ShareWorld, DelayedWork]:
    world = ShareWorld(topics=LARGE)
    world.share_beat("a", 0, "t")
    return world, DelayedWork(world, (COMPUTE_SHARE_TARGET,))


def test_the_heartbeat_that_asks_is_answered_with_what_the_member_has() -> None:
    world, work = large_world()
    asked = world.share_beat("a", 2)
    assert (asked.member_epoch, asked.assignment, world.share.epoch) == (2, None, 3)
    assert world.share_beat("a", 2).member_epoch == 2
    assert len(work.asked) == 1
    work.finish()
    assert world.share.target_epoch == 3
    got = world.share_beat("a", 2)
    assert (got.member_epoch, world.read_by(got)) == (3, {"t": list(range(600))})


def test_a_target_that_comes_late_is_taken_and_the_next_one_follows() -> None:
    world, work = large_world()
    world.share_beat("a", 2)
    world.share_beat("b", 0, "t")
    assert world.share.epoch == 4
    work.finish()
    assert (world.share.target_epoch, world.share_beat("a", 2).member_epoch) == (3, 3)
    work.finish()
    assert world.share.target_epoch == 4
    world.share_beat("a", 3)
    world.share_beat("b", 2)
    assert sorted(world.assigned_to("a")["t"] + world.assigned_to("b")["t"]) == list(range(600))


def test_members_that_left_meanwhile_get_nothing() -> None:
    world, work = large_world()
    world.share_beat("b", 0, "t")
    world.share_beat("b", -1)
    work.finish()
    assert world.share.targets.keys() == {"a"}


def test_a_group_without_members_needs_no_target() -> None:
    world, work = large_world()
    world.share_beat("a", 2)
    world.share_beat("a", -1)
    work.finish()
    assert (world.share.target_epoch, world.share.computing) == (2, None)


def test_a_computation_that_fails_is_tried_again_with_the_next_heartbeat() -> None:
    world, work = large_world()
    world.share_beat("a", 2)
    work.finish(fails=True)
    assert world.share.computing is None
    world.share_beat("a", 2)
    work.finish()
    assert world.share_beat("a", 2).member_epoch == 3
