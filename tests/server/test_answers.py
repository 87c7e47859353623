"""The desk between the core's numbered replies and the connections."""

import gc
import weakref

import pytest

from _wire.errors import ErrorCode
from coordinator.server.answers import AnswerDesk


class Client:
    """Takes what a connection would send."""

    def __init__(self) -> None:
        self.answers: list[object] = []

    def answer(self, response: object) -> None:
        self.answers.append(response)

    def answer_error(self, error: ErrorCode) -> None:
        self.answers.append(error)


@pytest.fixture
def desk() -> AnswerDesk:
    return AnswerDesk()


@pytest.fixture
def client() -> Client:
    return Client()


def test_a_reply_goes_to_whom_its_number_was_given(desk, client):
    other = Client()
    number, other_number = desk.number(client), desk.number(other)
    assert number != other_number
    desk.reply(other_number, "for the other")
    assert (client.answers, other.answers) == ([], ["for the other"])


def test_a_failure_is_told_as_an_error(desk, client):
    desk.fail(desk.number(client), ErrorCode.NOT_COORDINATOR)
    assert client.answers == [ErrorCode.NOT_COORDINATOR]


def test_a_request_is_answered_once(desk, client):
    number = desk.number(client)
    desk.reply(number, "first")
    desk.reply(number, "second")
    desk.fail(number, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert client.answers == ["first"]


def test_nobody_is_answered_who_waits_no_longer(desk, client):
    number = desk.number(client)
    desk.forget(number)
    desk.reply(number, "late")
    desk.fail(number, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert client.answers == []


def test_a_number_that_was_never_given_is_passed_over(desk):
    desk.forget(0)
    desk.reply(12345, "nobody's")


def test_whoever_is_forgotten_is_not_held(desk):
    client = Client()
    seen = weakref.ref(client)
    desk.forget(desk.number(client))
    del client
    gc.collect()
    assert seen() is None


def test_parts_are_combined_in_their_order_whatever_comes_first(desk, client):
    first, second, third = desk.split(desk.number(client), 3, tuple)
    desk.reply(third, "c")
    desk.reply(first, "a")
    assert client.answers == []
    desk.reply(second, "b")
    assert client.answers == [("a", "b", "c")]


def test_a_part_that_fails_is_its_error_code(desk, client):
    first, second = desk.split(desk.number(client), 2, tuple)
    desk.fail(first, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    desk.reply(second, "b")
    assert client.answers == [(ErrorCode.COORDINATOR_NOT_AVAILABLE, "b")]


def test_a_part_counts_once(desk, client):
    first, second = desk.split(desk.number(client), 2, tuple)
    desk.reply(first, "a")
    desk.reply(first, "again")
    assert client.answers == []
    desk.reply(second, "b")
    assert client.answers == [("a", "b")]


def test_the_parts_of_a_forgotten_request_answer_nobody(desk, client):
    number = desk.number(client)
    parts = desk.split(number, 2, tuple)
    desk.forget(number)
    for part in parts:
        desk.reply(part, "late")
    assert client.answers == []
