"""Responses of the core find the connection whose request they answer."""

import pytest

from _wire.errors import ErrorCode
from coordinator.server.pending_requests import PendingRequests


class Client:
    """Takes what a connection would send."""

    def __init__(self) -> None:
        self.answers: list[object] = []

    def answer(self, response: object) -> None:
        self.answers.append(response)

    def answer_error(self, error: ErrorCode) -> None:
        self.answers.append(error)


@pytest.fixture
def pending() -> PendingRequests:
    return PendingRequests()


@pytest.fixture
def client() -> Client:
    return Client()


def test_a_reply_goes_to_whom_its_number_was_given(pending, client):
    other = Client()
    number, other_number = pending.register(client), pending.register(other)
    assert number != other_number
    pending.reply(other_number, "for the other")
    assert (client.answers, other.answers) == ([], ["for the other"])


def test_a_failure_is_told_as_an_error(pending, client):
    pending.fail(pending.register(client), ErrorCode.NOT_COORDINATOR)
    assert client.answers == [ErrorCode.NOT_COORDINATOR]


def test_a_request_is_answered_once(pending, client):
    number = pending.register(client)
    pending.reply(number, "first")
    pending.reply(number, "second")
    pending.fail(number, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert client.answers == ["first"]


def test_nobody_is_answered_who_waits_no_longer(pending, client):
    number = pending.register(client)
    pending.forget(number)
    pending.reply(number, "late")
    pending.fail(number, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert client.answers == []


def test_a_number_that_was_never_given_is_passed_over(pending, client):
    number = pending.register(client)
    unknown = number + 1
    pending.forget(unknown)
    pending.reply(unknown, "nobody's")
    pending.fail(unknown, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert client.answers == []
    pending.reply(number, "its own")
    assert client.answers == ["its own"]


def test_only_what_is_neither_answered_nor_forgotten_is_held(pending, client):
    answered, failed, forgotten, left = (pending.register(client) for _ in range(4))
    pending.reply(answered, "an answer")
    pending.fail(failed, ErrorCode.NOT_COORDINATOR)
    pending.forget(forgotten)
    assert dict(pending.unanswered) == {left: client}


def test_nothing_is_held_of_a_request_whose_parts_are_all_answered(pending, client):
    for part in pending.fan_out(pending.register(client), 2, tuple):
        pending.reply(part, "an answer")
    assert dict(pending.unanswered) == {}


def test_parts_are_combined_in_their_order_whatever_comes_first(pending, client):
    first, second, third = pending.fan_out(pending.register(client), 3, tuple)
    pending.reply(third, "c")
    pending.reply(first, "a")
    assert client.answers == []
    pending.reply(second, "b")
    assert client.answers == [("a", "b", "c")]


def test_a_part_that_fails_is_its_error_code(pending, client):
    first, second = pending.fan_out(pending.register(client), 2, tuple)
    pending.fail(first, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    pending.reply(second, "b")
    assert client.answers == [(ErrorCode.COORDINATOR_NOT_AVAILABLE, "b")]


def test_a_part_counts_once(pending, client):
    first, second = pending.fan_out(pending.register(client), 2, tuple)
    pending.reply(first, "a")
    pending.reply(first, "again")
    assert client.answers == []
    pending.reply(second, "b")
    assert client.answers == [("a", "b")]


def test_the_parts_of_a_forgotten_request_answer_nobody(pending, client):
    number = pending.register(client)
    parts = pending.fan_out(number, 2, tuple)
    pending.forget(number)
    for part in parts:
        pending.reply(part, "late")
    assert client.answers == []
