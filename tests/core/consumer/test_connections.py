"""What is told of the connection of a member that is removed from a consumer group (KIP-848)."""

import pytest

from coordinator.audit import schema
from coordinator.core.consumer.events import ConsumerMemberRemoved
from coordinator.core.groups.connection_at_removal import ConnectionAtRemoval
from coordinator.explain.history import GroupHistory
from coordinator.explain.sentences.advice import PROCESS_ENDED
from coordinator.explain.story import story_of
from tests.audit.consumer_stories import named
from tests.core.consumer.world import World
from tests.simulation.simulation import GROUP_ID

SESSION_MS = 45_000


@pytest.fixture
def world() -> World:
    world = named(World())
    world.enter("a")
    return world


def removed(world: World) -> ConnectionAtRemoval:
    (event,) = [each for each in world.events if isinstance(each, ConsumerMemberRemoved)]
    return event.connection


def test_a_process_that_stands_still_keeps_its_connection(world):
    world.advance(SESSION_MS)
    assert removed(world) == ConnectionAtRemoval(is_open=True)
    history = GroupHistory.of(GROUP_ID, world.audited())
    assert history.latest is not None
    (advice,) = story_of(history, history.latest).advice
    assert "only if it pauses and comes back, raise consumer.session.timeout.ms of the group above 45 s" in advice


def test_a_process_that_is_killed_closes_it_at_once_and_the_story_says_so(world):
    world.advance(1_000)
    world.beat("a", 2)
    world.advance(1_000)
    killed_ms = world.now_ms
    world.disconnect("a")
    world.advance(SESSION_MS)
    found = removed(world)
    assert (found.is_open, found.closed_ms) == (False, killed_ms)
    (event,) = [each for each in world.audited() if isinstance(each, schema.MemberRemoved)]
    assert (event.connection_open, event.connection_closed_ms) == (False, killed_ms)
    history = GroupHistory.of(GROUP_ID, world.audited())
    assert history.latest is not None
    story = story_of(history, history.latest)
    assert any("The connection of client-a closed" in paragraph for paragraph in story.paragraphs)
    assert PROCESS_ENDED in story.advice


def test_a_member_that_was_heard_over_another_connection_is_known_by_that(world):
    world.disconnect("a")
    world.advance(1_000)
    world.beat("a", 2)
    world.advance(SESSION_MS)
    assert removed(world) == ConnectionAtRemoval(is_open=True)


def test_a_heartbeat_that_changes_what_it_may_use_tells_of_its_connection(world):
    """Also after a restart of the coordinator, before which nothing is known."""
    world.restart()
    world.fixed.grow("t", 4)
    world.beat("a", 2)
    world.disconnect("a")
    closed_ms = world.now_ms
    world.advance(SESSION_MS)
    assert removed(world).closed_ms == closed_ms


def test_what_was_before_a_restart_is_unknown(world):
    world.restart()
    world.advance(SESSION_MS)
    assert removed(world) == ConnectionAtRemoval()


def test_a_member_that_leaves_by_itself_says_enough(world):
    world.depart("a")
    assert removed(world) == ConnectionAtRemoval()
