"""Who sends a request of a consumer group: one of four."""

from coordinator.core.consumer.identification import JOINS, Displaces, Existing, Replaces, existing_or_new, replacing
from tests.core.consumer.world import World


def test_a_member_is_known_and_another_one_joins() -> None:
    world = World()
    world.enter("a")
    group = world.consumer
    assert existing_or_new(group, "a") == Existing(group.members["a"])
    assert existing_or_new(group, "b") is JOINS


def test_who_replaces_a_static_member_may_have_been_another_one_until_then() -> None:
    world = World()
    world.enter("a", instance_id="i")
    world.enter("b")
    group = world.consumer
    holder, other = group.members["a"], group.members["b"]
    assert type(replacing(group, "c", holder)) is Replaces
    assert type(replacing(group, "a", holder)) is Replaces, "under its own id"
    assert replacing(group, "b", holder) == Displaces(holder, other)


def test_a_member_that_takes_the_place_of_another_one_is_gone_under_its_own_id() -> None:
    world = World()
    world.enter("a", "t", instance_id="i")
    world.enter("b", "u")
    world.depart("a", -2, "i")
    answer = world.beat("b", 0, names=["t", "u"], owned={}, timeout_ms=1_000, instance_id="i")
    assert answer.error_code == 0
    assert list(world.consumer.members) == ["b"]
    assert world.consumer.static_members == {"i": "b"}
    assert world.consumer.named_topics.counts.keys() == {"t", "u"}
