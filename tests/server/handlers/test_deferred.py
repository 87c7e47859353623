"""Answers that wait for the metadata: when they come, to whom, and how many in one iteration of the event loop."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from coordinator.runtime import slices as slices_module
from coordinator.runtime.slices import TURN_SECONDS, Slices
from coordinator.server.dispatch import DEFERRED
from coordinator.server.handlers.deferred import Deferral
from coordinator.server.pending_requests import PendingRequests
from coordinator.server.request_context import RequestContext
from coordinator.server.request_runner import RequestRunner
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
        self.pending = PendingRequests()
        self.threads = HeldThreads()
        self.metadata = Disk().start()
        self.metadata.commit_in(self.threads.as_threads, self.soon.append, self._failed)
        self.answers: list[Any] = []
        self.deferral = Deferral(self.pending, cast(RequestRunner, self), self.metadata)

    def _failed(self, problem: Exception) -> None:
        raise AssertionError(problem)

    def run(self, handler: Callable[[Any, Any], Any], request: Any, call: Any) -> None:
        self.slices.start(handler(request, call), self._answer, self._failed, call.client_host)

    def _answer(self, response: Any) -> None:
        self.now += ENCODING_SECONDS
        self.answers.append(response)

    def call(self, client_host: str = "/a") -> RequestContext:
        return cast(
            RequestContext, SimpleNamespace(request_id=None, request=None, client_host=client_host, connection=None)
        )

    def turn(self) -> None:
        """The next iteration of the event loop."""
        calls, self.soon[:] = list(self.soon), []
        for call in calls:
            call()


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Node:
    return Node(monkeypatch)


def test_an_answer_that_waits_for_nothing_is_returned(node):
    assert node.deferral.answer_when_committed(node.call(), "answer") == "answer"


def test_an_answer_waits_for_what_is_pending(node):
    node.metadata.create_topic("orders", 1, {}, NOW_MS)
    assert node.deferral.answer_when_committed(node.call(), "answer") is DEFERRED
    assert node.answers == []
    node.threads.end()
    node.turn()
    assert node.answers == ["answer"]
    assert not node.pending.unanswered


def test_a_client_that_has_gone_gets_nothing(node):
    node.metadata.create_topic("orders", 1, {}, NOW_MS)
    call = node.call()
    node.deferral.answer_when_committed(call, "answer")
    assert node.deferral.go_on_when_committed(node.call(), lambda: iter(())) is DEFERRED
    for request_id in list(node.pending.unanswered):
        node.pending.forget(request_id)
    node.threads.end()
    node.turn()
    assert node.answers == []


def test_the_answers_of_many_that_waited_for_one_flush_come_in_turns_of_their_addresses(node):
    node.metadata.create_topic("orders", 1, {}, NOW_MS)
    for number in range(20):
        node.deferral.answer_when_committed(node.call("/greedy"), f"greedy {number}")
    node.deferral.answer_when_committed(node.call("/other"), "other")
    node.threads.end()
    sizes = []
    while len(node.answers) < 21:
        before = len(node.answers)
        node.turn()
        sizes.append(len(node.answers) - before)
        assert len(sizes) < 100
    assert max(sizes) <= 2, "new work, and work that goes on, may each take their time"
    assert "other" in node.answers[:4]
