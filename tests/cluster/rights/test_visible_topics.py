"""Topics that match a regular expression: those that the client may describe, by what the cluster says of it."""

from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from coordinator.cluster.rights.probes import NAMES_AT_ONCE, Permission
from coordinator.cluster.rights.rights import CachedRights, RightsQuestions
from coordinator.cluster.rights.visible_topics import VisibleTopics
from coordinator.runtime.slices import at_once
from coordinator.security.acls.model import AclOperation, ResourceType
from tests.cluster.rights.at_a_node import AclsOfCluster

HOST = "10.0.0.1"
NAMES = [f"topic-{number:04}" for number in range(2 * NAMES_AT_ONCE + 1)]


class Topics:
    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answers = True

    def know(self, names: Iterable[str], answered: Callable[[bool], None]) -> None:
        self.asked += names
        answered(self.answers)


class World:
    """A client whose heartbeat has brought a regular expression, and what it may not describe."""

    def __init__(self, *hidden: str) -> None:
        missing = {Permission(AclOperation.DESCRIBE, ResourceType.TOPIC, name) for name in hidden}
        self.acls = AclsOfCluster(missing)
        self.topics = Topics()
        self.visible = VisibleTopics(self.topics)  # type: ignore[arg-type]
        call: Any = SimpleNamespace(principal="alice", client_id="a", client_host=HOST)
        self.visible.remember(RightsQuestions(CachedRights(), self.acls), call)

    def found(self, names: Sequence[str] = NAMES) -> Sequence[str] | None:
        return at_once(self.visible.visible("alice", HOST, names))


def test_only_those_are_found_that_the_client_may_describe_and_all_of_them_are_known_then():
    world = World("topic-0003", NAMES[-1])
    expected = [name for name in NAMES if name not in ("topic-0003", NAMES[-1])]
    assert world.found() == expected
    assert world.topics.asked == expected


def test_nothing_is_known_of_a_client_that_is_gone():
    world = World()
    world.visible.forget("alice")
    assert world.found() is None


def test_nothing_is_found_while_the_broker_or_the_cluster_does_not_answer(monkeypatch: pytest.MonkeyPatch):
    world = World()
    world.topics.answers = False
    assert world.found() is None
    world.topics.answers = True
    monkeypatch.setattr(world.acls, "ask", lambda call, frame, answered: answered(None))
    assert world.found() is None
