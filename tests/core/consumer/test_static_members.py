"""Static members keep their place, whoever speaks for them."""

from _wire.errors import NONE, ErrorCode
from coordinator.core.consumer.member import LEAVE_STATIC_EPOCH
from coordinator.core.groups.states import RECONCILING, STABLE
from tests.core.consumer.world import World


def static_group() -> World:
    world = World()
    world.enter("a", instance_id="i")
    return world


def test_a_static_member_leaves_for_a_moment_and_comes_back_under_another_id() -> None:
    world = static_group()
    assert world.depart("a", -2, "i") == NONE
    assert world.epoch("a") == LEAVE_STATIC_EPOCH
    assert (world.consumer.state, world.consumer.epoch) == (RECONCILING, 2)
    assert world.beat("a", 2, instance_id="i").error_code == ErrorCode.FENCED_MEMBER_EPOCH
    written = len(world.written())
    back = world.enter("a2", instance_id="i")
    assert (back.member_epoch, world.given(back)) == (2, {"t": [0, 1, 2]})
    assert world.consumer.epoch == 2
    replaced = [(8, False), (7, False), (5, False), (5, True), (7, True), (8, True)]
    assert world.written()[written:] == [*replaced, (5, True), (8, True)]
    assert list(world.consumer.members) == ["a2"]
    assert world.consumer.state is STABLE


def test_a_static_member_comes_back_under_its_own_id() -> None:
    world = static_group()
    world.depart("a", -2, "i")
    assert world.enter("a", instance_id="i").member_epoch == 2
    assert world.assigned("a") == {"t": [0, 1, 2]}
    world.restart()
    assert world.assigned("a") == {"t": [0, 1, 2]}


def test_an_instance_id_in_use_is_not_released() -> None:
    world = static_group()
    assert world.enter("b", instance_id="i").error_code == ErrorCode.UNRELEASED_INSTANCE_ID
    assert world.enter("a", instance_id="i").error_code == ErrorCode.UNRELEASED_INSTANCE_ID
    assert world.beat("b", 2, instance_id="i").error_code == ErrorCode.FENCED_INSTANCE_ID
    assert world.beat("a", 2, instance_id="j").error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.depart("b", -2, "i") == ErrorCode.FENCED_INSTANCE_ID
    assert world.depart("a", -2, "j") == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_member_may_leave_for_good_without_its_instance_id() -> None:
    world = static_group()
    assert world.depart("a") == NONE
    assert not world.consumer.members
    assert not world.consumer.static_members


def test_a_static_member_that_does_not_come_back_is_removed() -> None:
    world = static_group()
    world.advance(20_000)
    world.depart("a", -2, "i")
    world.advance(25_000)
    assert not world.consumer.members


def test_a_restart_with_other_topics_raises_the_epoch() -> None:
    world = static_group()
    world.depart("a", -2, "i")
    back = world.enter("a2", "u", instance_id="i")
    assert back.member_epoch == 3
    assert world.assigned("a2") == {"u": [0, 1]}


def test_a_member_becomes_static() -> None:
    world = World()
    world.enter("a")
    assert world.enter("a", instance_id="i").member_epoch == 2
    assert world.consumer.static_members == {"i": "a"}


def test_a_member_takes_the_place_of_another_one() -> None:
    """The id of the one that comes is that of a member with partitions of its own: those are free then."""
    world = static_group()
    world.enter("b", "u")
    world.beat("b", 3, owned=world.assigned("b"))
    world.depart("a", -2, "i")
    world.enter("b", "u", instance_id="i")
    assert list(world.consumer.members) == ["b"]
    world.beat("b", world.epoch("b"), owned={})
    assert world.assigned("b") == {"u": [0, 1]}
    world.restart()
    assert world.assigned("b") == {"u": [0, 1]}


def test_away_with_partitions_to_give_up() -> None:
    world = static_group()
    world.enter("b")
    world.beat("a", 2, owned={"t": [0, 1, 2]})
    world.depart("a", -2, "i")
    assert not world.pending_of("a")
    world.advance(40_000)
    world.beat("b", 3)
    assert "a" in world.consumer.members, "its time to revoke has ended with its leaving"


def test_what_a_member_kept_while_it_was_away_counts_from_epoch_0() -> None:
    world = static_group()
    world.depart("a", -2, "i")
    world.enter("a2", instance_id="i")
    epochs = {
        epoch for of_topic in world.consumer.members["a2"].current.assigned.values() for epoch in of_topic.values()
    }
    assert epochs == {0}
    assert world.commit_offsets("a2", 1, {0: 4}) == {NONE}
