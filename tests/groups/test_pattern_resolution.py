"""The topics that match the regular expressions of groups, found in slices beside the requests."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest

from coordinator.core.consumer import pattern_resolution as module
from coordinator.core.consumer.events import PatternResolutionStarted
from coordinator.core.consumer.pattern_resolution import MATCH_STEPS_AT_ONCE, SORTED_AT_ONCE
from coordinator.core.consumer.patterns import TOPIC_NAME_BYTES_MAX, UNRESOLVED, ResolvedTopics
from coordinator.core.consumer.workers import RESOLVE_PATTERNS
from coordinator.core.topic_listing import VISIBLE_AT_ONCE, TopicListing, Visible, visible_by
from coordinator.logger import logger
from coordinator.patterns import Pattern
from coordinator.runtime.slices import TURN_SECONDS, Steps, awaited
from coordinator.topic_names import TOPIC_NAME_LENGTH_MAX
from tests.groups.working import HOST, Loop, Working

OTHER_HOST: Final = "10.0.0.2"
OFFSET: Final = 77


class Topics:
    def __init__(self, *names: str) -> None:
        self.topics = list(names)
        self.topics_version = 5


class Resolving(Working):
    """Resolves regular expressions among these topics; `results` are what was found, by group."""

    def __init__(self, loop: Loop, *names: str, visible: Visible | None = None) -> None:
        self.topics = Topics(*names)
        super().__init__(loop, listing=TopicListing(self.topics, lambda: OFFSET, visible))

    def resolve(self, name: str, *patterns: str, host: str = HOST, principal: object = None) -> None:
        started = PatternResolutionStarted(
            group_id=name, at_ms=0, patterns=patterns, member_id="", client_host=host, principal=principal
        )
        self.start(RESOLVE_PATTERNS, started, name, host)


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    return Loop(monkeypatch)


def test_the_whole_name_has_to_match_and_internal_topics_do_too(loop: Loop):
    resolving = Resolving(loop, "orders", "__consumer_offsets", "order", "reorders", "orders-2")
    resolving.resolve("group", "order", "orders.*", ".*")
    loop.finish()
    assert resolving.results["group"] == ResolvedTopics(
        {
            "order": ("order",),
            "orders.*": ("orders", "orders-2"),
            ".*": ("__consumer_offsets", "order", "orders", "orders-2", "reorders"),
        },
        OFFSET,
        5,
    )


def test_topics_that_the_client_may_not_describe_match_nothing(loop: Loop):
    asked: list[tuple[object, str, str]] = []

    def may_describe(principal: object, client_host: str, topic: str) -> bool:
        asked.append((principal, client_host, topic))
        return topic.endswith("7")

    names = [f"topic-{number:03}" for number in range(3 * VISIBLE_AT_ONCE)]
    resolving = Resolving(loop, *names, visible=visible_by(may_describe))
    resolving.resolve("group", "topic-.*", "none", principal="alice")
    loop.finish()
    assert resolving.results["group"].topics == {
        "topic-.*": tuple(name for name in names if name.endswith("7")),
        "none": (),
    }
    assert asked == [("alice", HOST, name) for name in names]


def test_a_resolution_waits_for_who_has_to_be_asked_what_the_client_may_describe(loop: Loop):
    answers: list[Callable[[list[str] | None], None]] = []

    def visible(principal: object, client_host: str, names: Sequence[str]) -> Steps[Sequence[str] | None]:
        return (yield from awaited(answers.append))

    resolving = Resolving(loop, "orders", "orders-2", visible=visible)
    resolving.resolve("group", "orders.*")
    resolving.resolve("unanswered", "orders.*")
    loop.finish()
    assert not resolving.results
    answers[0](["orders"])
    answers[1](None)
    loop.finish()
    assert resolving.results == {
        "group": ResolvedTopics({"orders.*": ("orders",)}, OFFSET, 5),
        "unanswered": UNRESOLVED,
    }


def test_a_pattern_that_re2_does_not_know_matches_nothing(loop: Loop, monkeypatch: pytest.MonkeyPatch):
    """Kafka stored it; a heartbeat with it is rejected."""
    lines: list[dict[str, Any]] = []
    monkeypatch.setattr(logger, "warning", lambda event, **fields: lines.append(fields), raising=False)
    resolving = Resolving(loop, "aaa", "b")
    resolving.resolve("group", "(a{100}){100}", "a+")
    loop.finish()
    assert resolving.results["group"].topics == {"(a{100}){100}": (), "a+": ("aaa",)}
    assert [line["pattern"] for line in lines] == ["(a{100}){100}"] and "repetition" in lines[0]["reason"]


def test_topics_are_those_of_the_moment_at_which_it_began(loop: Loop):
    """The version is that moment's too, so the next heartbeat finds that a topic was created since."""
    resolving = Resolving(loop, *(f"topic-{number:05}" for number in range(2 * SORTED_AT_ONCE)))
    resolving.resolve("group", "topic-.*")
    assert not resolving.results, "it is under way"
    resolving.topics.topics.append("topic-new")
    resolving.topics.topics_version += 1
    loop.finish()
    found = resolving.results["group"]
    assert len(found.topics["topic-.*"]) == 2 * SORTED_AT_ONCE and found.topics_version == 5


def test_a_group_with_many_patterns_delays_only_groups_of_its_address(loop: Loop):
    resolving = Resolving(loop, *(f"topic-{number}" for number in range(10_000)))
    resolving.resolve("much", *(f"(topic|[a-z]*)-.*{number}" for number in range(100)))
    longest = max(loop.next_iteration() for _ in range(20))
    resolving.resolve("same address", "topic-1", "x", host=HOST)
    resolving.resolve("other address", "topic-1", "x", host=OTHER_HOST)
    order = []
    for _ in range(1_000):
        longest = max(longest, loop.next_iteration())
        order += [name for name in resolving.results if name not in order]
        if len(order) == 2:
            break
    assert order == ["other address", "same address"]
    assert "much" not in resolving.results
    assert longest < 3 * TURN_SECONDS


def test_the_work_ends_when_the_group_is_gone(loop: Loop):
    resolving = Resolving(loop, *(f"topic-{number}" for number in range(10_000)))
    resolving.resolve("group", *(f".*{number}" for number in range(100)))
    loop.next_iteration()
    del resolving.groups["group"]
    for _ in range(50):
        loop.next_iteration()
    assert not loop.callbacks and not resolving.results


def test_a_resolution_that_fails_ends_too(loop: Loop, monkeypatch: pytest.MonkeyPatch):
    """Otherwise the group would wait for it for ever."""
    lines: list[str] = []
    monkeypatch.setattr(logger, "error", lambda event, **fields: lines.append(event), raising=False)
    resolving = Resolving(loop, "a", 7)  # type: ignore[arg-type]
    resolving.resolve("group", "a")
    loop.finish()
    assert resolving.results["group"].problem is not None
    assert len(lines) == 1


def test_where_nobody_lists_the_topics_nothing_is_known_of_them(loop: Loop):
    working = Working(loop)
    started = PatternResolutionStarted(group_id="g", at_ms=0, patterns=(".*",), member_id="", client_host=HOST)
    working.start(RESOLVE_PATTERNS, started)
    loop.finish()
    assert working.submitted == [("resolve patterns", "g", UNRESOLVED)]


def test_a_step_has_a_bound_however_large_the_pattern(loop: Loop):
    pattern = Pattern("(.*a.{20}){8}c")
    assert pattern.instructions * TOPIC_NAME_BYTES_MAX > MATCH_STEPS_AT_ONCE, "each match of a long name is a step"
    names = ["n" * TOPIC_NAME_BYTES_MAX] * 30
    steps = sum(1 for _ in module._matching("(.*a.{20}){8}c", names))
    assert steps >= len(names)


def test_the_bound_of_names_is_that_of_topics():
    assert TOPIC_NAME_BYTES_MAX == TOPIC_NAME_LENGTH_MAX
