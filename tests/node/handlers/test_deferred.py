"""Answers that wait for the metadata: when they come, to whom, and how many in one iteration of the event loop."""

from collections.abc import Callable
from typing import Any

import pytest

from coordinator.node.handlers.deferred import answer_when_committed
from coordinator.runtime import slices as slices_module
from coordinator.runtime.slices import TURN_SECONDS, SlicedWork, Slices
from tests.metadata.held_threads import HeldThreads
from tests.metadata.test_store import NOW_MS, Disk

ENCODING_SECONDS = TURN_SECONDS
"""What an answer takes: one fills the time of an iteration."""


class Node:
    """What handlers use of a node, with flushes that end and iterations that pass when a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(slices_module, "seconds", lambda: self.now)
        self.soon: list[Callable[[], None]] = []
        self.slices = Slices(self.soon.append)
        self.threads = HeldThreads()
        self.metadata = Disk().start()
        self.metadata.commit_in(self.threads.as_threads, self.soon.append, self._failed)
        self.answers: list[Any] = []

    def _failed(self, problem: Exception) -> None:
        raise AssertionError(problem)

    def _answer(self, response: Any) -> None:
        self.now += ENCODING_SECONDS
        self.answers.append(response)

    def respond(self, response: str, client_host: str = "/a") -> SlicedWork | None:
        """Answer a request of a client at that address."""
        return self.slices.start(
            answer_when_committed(self.metadata, response), self._answer, self._failed, client_host
        )

    def turn(self) -> None:
        """The next iteration of the event loop."""
        calls, self.soon[:] = list(self.soon), []
        for call in calls:
            call()


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Node:
    return Node(monkeypatch)


def test_an_answer_that_waits_for_nothing_comes_at_once(node):
    node.respond("answer")
    assert node.answers == ["answer"]


def test_an_answer_waits_for_what_is_pending(node):
    node.metadata.create_topic("orders", 1, {}, NOW_MS)
    node.respond("answer")
    node.turn()
    assert node.answers == []
    node.threads.end()
    while not node.answers:
        node.turn()
    assert node.answers == ["answer"]


def test_a_client_that_has_gone_gets_nothing(node):
    node.metadata.create_topic("orders", 1, {}, NOW_MS)
    work = node.respond("answer")
    assert work is not None
    work.cancel()
    node.threads.end()
    for _ in range(3):
        node.turn()
    assert node.answers == []


def test_the_answers_of_many_that_waited_for_one_flush_come_in_turns_of_their_addresses(node):
    node.metadata.create_topic("orders", 1, {}, NOW_MS)
    for number in range(20):
        node.respond(f"greedy {number}", "/greedy")
    node.respond("other", "/other")
    node.threads.end()
    sizes = []
    while len(node.answers) < 21:
        before = len(node.answers)
        node.turn()
        sizes.append(len(node.answers) - before)
        assert len(sizes) < 100
    assert max(sizes) <= 2, "new work, and work that goes on, may each take their time"
    assert "other" in node.answers[:4]
