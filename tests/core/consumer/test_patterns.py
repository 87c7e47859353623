"""Regular expressions of subscriptions."""

from _wire.errors import NONE, ErrorCode
from coordinator.core.consumer.events import PatternResolutionStarted
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
    world.resolves_patterns = False
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
