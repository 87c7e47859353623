"""What has to be known of topics before a consumer group is served, and before a request of a member is decided."""

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from coordinator.cluster.groups.group_topics import TRIES, GroupTopics, Needed, look_up
from coordinator.runtime.interfaces import StoreError
from coordinator.runtime.slices import at_once


class Topics:
    """Some of them are known; what is asked for becomes known, or not."""

    def __init__(self, *known: str, answers: bool = True) -> None:
        self.known = set(known)
        self.fresh: set[str] = set()
        self.answers = answers
        self.asked: list[list[str]] = []
        self.is_listed = False
        self.all = SimpleNamespace(are_listed=lambda fresh: self.is_listed, know=self._list)

    def _list(self, listed: Callable[[bool], None], *, fresh: bool) -> None:
        self.is_listed = self.answers
        listed(self.answers)

    def are_answered(self, names: Iterable[str]) -> bool:
        return self.known.issuperset(names)

    def are_fresh(self, names: Iterable[str]) -> bool:
        return self.fresh.issuperset(names)

    def know(self, names: Iterable[str], answered: Callable[[bool], None], *, fresh: bool = False) -> None:
        names = list(names)
        if names:
            self.asked.append(names)
        if self.answers:
            self.known.update(names)
        answered(self.answers or not names)


def group(kind: str, *topics: str, needs_topic_list: bool = False) -> Any:
    offsets = SimpleNamespace(topics_read=lambda membership: frozenset(topics))
    row = SimpleNamespace(name=kind, offsets=offsets, needs_topic_list=lambda membership: needs_topic_list)
    return SimpleNamespace(kind=row, membership=object())


def topics_for(topics: Topics, **groups: Any) -> GroupTopics:
    coordinator: Any = SimpleNamespace(
        shard_of=lambda group_id: SimpleNamespace(machine=SimpleNamespace(groups=groups))
    )
    return GroupTopics(coordinator, topics)  # type: ignore[arg-type]


def heartbeat(*named: str, pattern: str | None = None, joins: bool = False) -> Needed:
    return Needed(group_id="g", named=named, pattern=pattern, joins=joins, converts=joins)


def test_a_load_waits_for_the_topics_of_consumer_groups():
    topics = Topics()
    at_once(look_up(topics, [group("classic", "c"), group("consumer", "a", "b"), group("consumer", "b")]))  # type: ignore[arg-type]
    assert [sorted(names) for names in topics.asked] == [["a", "b"]]


def test_a_load_fails_and_is_tried_again_if_the_cluster_does_not_tell():
    topics = Topics(answers=False)
    with pytest.raises(StoreError):
        at_once(look_up(topics, [group("consumer", "a")]))  # type: ignore[arg-type]
    assert len(topics.asked) == TRIES


def test_a_request_waits_for_what_it_names_and_one_that_joins_for_what_is_fresh():
    topics = Topics("a")
    of_groups = topics_for(topics, g=group("consumer", "a"))
    assert of_groups.can_decide(heartbeat())
    assert of_groups.can_decide(heartbeat("a"))
    assert not of_groups.can_decide(heartbeat("a", joins=True))
    assert not of_groups.can_decide(heartbeat("new"))
    assert at_once(of_groups.know(heartbeat("new")))
    assert of_groups.can_decide(heartbeat("new"))
    topics.answers = False
    assert not at_once(of_groups.know(heartbeat("another")))


def test_who_converts_a_classic_group_waits_for_the_topics_of_its_members():
    topics = Topics("a")
    topics.fresh = {"a"}
    of_groups = topics_for(topics, g=group("classic", "of-members"))
    assert not of_groups.can_decide(heartbeat("a", joins=True))
    classic_join = Needed(group_id="g", named=["a"], joins=True)
    assert of_groups.can_decide(classic_join), "nothing is converted"
    assert at_once(of_groups.know(heartbeat("a", joins=True)))
    assert of_groups.can_decide(heartbeat("a", joins=True))


@pytest.mark.parametrize("needed", [heartbeat(pattern="a.*"), heartbeat()])
def test_regular_expressions_wait_for_the_list_of_all_topics(needed: Needed):
    topics = Topics()
    of_groups = topics_for(topics, g=group("consumer", needs_topic_list=not needed.pattern))
    assert of_groups.uses_pattern(needed)
    assert not of_groups.can_decide(needed)
    assert at_once(of_groups.know(needed))
    assert of_groups.can_decide(needed)


def test_other_groups_need_no_list():
    of_groups = topics_for(Topics(), g=group("consumer"))
    assert not of_groups.uses_pattern(heartbeat())
    assert of_groups.can_decide(heartbeat())
