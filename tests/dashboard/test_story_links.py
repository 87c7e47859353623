"""Names in the story of a generation, as links to members."""

from collections.abc import Callable
from typing import Any

import pytest

from coordinator.audit.schema import MemberRef
from coordinator.core.causes import Cause
from coordinator.dashboard.story_links import linked_story
from coordinator.explain.history import GroupHistory
from coordinator.explain.story import story_of
from tests.audit.consumer_stories import named
from tests.core.consumer.world import World
from tests.dashboard.groups import crowd, emptied, story
from tests.explain.consumers import Consumers
from tests.pipeline.history import History, eventful, member


def text_of(runs: list[Any]) -> str:
    return "".join(run if isinstance(run, str) else run[0] for run in runs)


def crashed() -> GroupHistory:
    group = Consumers().group_of("one", "two", "three")
    group.vanish("two")
    group.settle()
    group.leave("three", "consumer poll timeout has expired.")
    group.settle(delays={"one": 4_000})
    return group.history()


def consumer_group() -> GroupHistory:
    world = named(World())
    world.enter("a")
    world.advance(1_000)
    world.enter("b")
    world.beat("a", 2)
    world.advance(2_000)
    world.beat("a", 2, owned={"t": [0, 1]})
    world.beat("b", 3)
    return GroupHistory.of("orders", world.audited())


HISTORIES: list[Callable[[], GroupHistory]] = [
    crashed,
    consumer_group,
    lambda: GroupHistory.of("orders", story()),
    lambda: GroupHistory.of("orders", emptied()),
    lambda: GroupHistory.of("orders", eventful("orders").events),
    lambda: GroupHistory.of("crowd", crowd(20)),
]


@pytest.mark.parametrize("make", HISTORIES)
def test_the_words_are_those_of_the_story(make):
    history = make()
    assert history.generations
    for generation in history.generations:
        told, linked = story_of(history, generation), linked_story(history, generation)
        assert (linked["headline"], linked["generation_id"]) == (told.headline, told.generation_id)
        assert list(linked["paragraphs"]) == list(told.paragraphs)
        assert list(linked["advice"]) == list(told.advice)
        assert text_of(linked["runs"]["headline"]) == told.headline
        assert [text_of(runs) for runs in linked["runs"]["paragraphs"]] == list(told.paragraphs)
        assert [text_of(runs) for runs in linked["runs"]["advice"]] == list(told.advice)


def test_a_name_leads_to_its_member():
    group = Consumers().group_of("one", "two")
    two = group.ids["two"]
    group.leave("two")
    group.settle()
    history = group.history()
    assert ("two", two) in linked_story(history, history.generations[-1])["runs"]["headline"]


def test_a_client_cannot_make_links_of_its_own():
    forged = "\x02" + b"61".hex() + "\x1fsomebody else\x03"
    evil = MemberRef("evil-id", forged, "/127.0.0.1")
    events = History("orders").created().rebalance(Cause.NEW_MEMBER, evil, reason=forged).started().events
    history = GroupHistory.of("orders", events)
    runs = linked_story(history, history.generations[-1])["runs"]["headline"]
    assert [run for run in runs if not isinstance(run, str)] == []
    assert not set(text_of(runs)) & {"\x02", "\x03", "\x1f"}
    assert "somebody else" in text_of(runs)


def test_a_member_that_has_no_page_is_no_link():
    gone = member("gone")
    history = GroupHistory.of("orders", History("orders").created().rebalance(Cause.MEMBER_LEFT, gone).events)
    runs = linked_story(history, history.generations[-1])["runs"]["headline"]
    assert text_of(runs).count("gone") == 1
    assert all(isinstance(run, str) for run in runs)
