"""Regular expressions of subscriptions."""

from _wire.errors import NONE, ErrorCode
from coordinator.core.consumer.events import PatternResolutionStarted
from tests.core.consumer.delayed_work import DelayedWork
from tests.core.consumer.world import World


def test_a_pattern_is_resolved_after_the_heartbeat_that_brings_it() -> None:
    world = World(topics={"t1": 2, "t2": 1, "x": 1})
    joined = world.enter("a", pattern="t.*")
    assert (joined.member_epoch, world.given(joined)) == (1, {})
    answer = world.beat("a", 1)
    assert (answer.member_epoch, world.given(answer)) == (2, {"t1": [0, 1], "t2": [0]})
    world.restart()
    assert world.consumer.patterns["t.*"].topics == ("t1", "t2")
    assert world.consumer.patterns["t.*"].version == 7


def test_a_pattern_is_asked_for_once() -> None:
    world = World()
    DelayedWork(world)
    world.enter("a", pattern="t")
    world.beat("a", 1)
    assert sum(isinstance(event, PatternResolutionStarted) for event in world.events) == 1


def test_a_resolved_pattern_raises_the_epoch_at_once_for_a_second_member() -> None:
    world = World()
    world.enter("a", pattern="t")
    world.beat("a", 1)
    assert world.enter("b", pattern="t").member_epoch == 3


def test_topics_made_later_are_found_after_10_seconds() -> None:
    world = World(topics={"t1": 1})
    world.enter("a", pattern="t.*")
    world.beat("a", 1)
    world.fixed.create("t2", 1)
    world.beat("a", 2)
    assert world.consumer.epoch == 2
    world.advance(10_001)
    world.beat("a", 2)
    answer = world.beat("a", 2)
    assert (answer.member_epoch, world.given(answer)) == (3, {"t1": [0], "t2": [0]})


def test_a_pattern_that_is_given_up_is_forgotten() -> None:
    world = World()
    world.enter("a", pattern="t")
    world.beat("a", 1)
    answer = world.beat("a", 2, pattern="", names=["u"], owned={})
    assert world.given(answer) == {"u": [0, 1]}
    assert world.written().count((16, False)) == 1
    assert not world.consumer.patterns
    world.restart()
    assert not world.consumer.patterns


def test_the_last_member_of_a_pattern_takes_it_along() -> None:
    world = World()
    world.enter("a", pattern="t")
    world.beat("a", 1)
    world.depart("a")
    assert not world.consumer.patterns
    assert not world.consumer.pattern_topics
    assert world.consumer.metadata_hash == 0


def test_names_and_patterns_add_up() -> None:
    world = World()
    world.enter("a", "u", pattern="t")
    answer = world.beat("a", 2)
    assert world.given(answer) == {"t": [0, 1, 2], "u": [0, 1]}


def test_a_pattern_that_is_invalid_changes_nothing() -> None:
    world = World()
    world.enter("a")
    world.events.clear()
    assert world.beat("a", 2, pattern="(?=x)").error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert world.consumer.members["a"].metadata.pattern == ""
    assert world.beat("a", 2).error_code == NONE


def test_a_pattern_in_place_of_another_raises_the_epoch_when_its_topics_are_known() -> None:
    """Topics that the group does not subscribe to come and go meanwhile: Kafka does not look at the hash for them."""
    world = World(topics={"t": 1, "u": 1})
    world.enter("a", pattern="t")
    world.beat("a", 1)
    world.fixed.create("x", 1)
    answer = world.beat("a", 2, pattern="u", owned={})
    assert (answer.member_epoch, world.given(answer), world.consumer.epoch) == (2, {}, 2)
    world.fixed.delete("x")
    assert world.beat("a", 2).member_epoch == 2
    answer = world.beat("a", 2)
    assert (answer.member_epoch, world.given(answer)) == (3, {"u": [0]})


def test_a_topic_that_the_group_subscribed_to_until_now_is_deleted_meanwhile() -> None:
    world = World(topics={"t": 1, "u": 1})
    world.enter("a", pattern="t")
    world.beat("a", 1)
    world.fixed.delete("t")
    assert world.beat("a", 2, pattern="u", owned={}).member_epoch == 3


def test_who_leaves_while_a_pattern_waits_for_its_topics_leaves_the_hash_of_the_others() -> None:
    world = World(topics={"t": 1, "u": 1})
    world.enter("a", pattern="t")
    world.enter("b", "none")
    world.enter("c", "none")
    world.beat("a", world.epoch("a"), pattern="x", owned={})
    assert world.consumer.metadata_hash != 0
    world.depart("c")
    assert world.consumer.metadata_hash == 0


def test_the_members_subscribe_to_the_same_as_of_the_last_change_of_a_member() -> None:
    """The topics of a regular expression come and go without one; only a record of a member makes Kafka look again."""
    world = World(topics={"t": 2, "u": 2})
    world.enter("a")
    world.enter("b", pattern="u")
    world.beat("b", 2)
    world.depart("b")
    assert not world.consumer.pattern_topics
    assert not world.consumer.is_homogeneous
    world.restart()
    assert not world.consumer.is_homogeneous
    world.beat("a", 2, owned={})
    assert world.consumer.is_homogeneous
