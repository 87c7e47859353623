"""Responses of the core are delivered to the connections of their requests."""

import pytest

from _wire.errors import ErrorCode
from coordinator.front.pending_requests import PendingRequests


class Client:
    """A receiver that keeps its responses."""

    def __init__(self) -> None:
        self.responses: list[object] = []

    def send_response(self, response: object) -> None:
        self.responses.append(response)

    def send_error_response(self, error: ErrorCode) -> None:
        self.responses.append(error)


@pytest.fixture
def pending() -> PendingRequests:
    return PendingRequests()


@pytest.fixture
def client() -> Client:
    return Client()


def test_a_response_goes_to_the_connection_of_its_request_id(pending, client):
    other = Client()
    request_id, other_id = pending.register(client), pending.register(other)
    assert request_id != other_id
    pending.reply(other_id, "for the other")
    assert (client.responses, other.responses) == ([], ["for the other"])


def test_a_failure_becomes_an_error_response(pending, client):
    pending.fail(pending.register(client), ErrorCode.NOT_COORDINATOR)
    assert client.responses == [ErrorCode.NOT_COORDINATOR]


def test_a_request_gets_one_response(pending, client):
    request_id = pending.register(client)
    pending.reply(request_id, "first")
    pending.reply(request_id, "second")
    pending.fail(request_id, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert client.responses == ["first"]


def test_a_forgotten_request_gets_no_response(pending, client):
    request_id = pending.register(client)
    pending.forget(request_id)
    pending.reply(request_id, "late")
    pending.fail(request_id, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert client.responses == []


def test_an_unknown_request_id_is_ignored(pending, client):
    request_id = pending.register(client)
    unknown = request_id + 1
    pending.forget(unknown)
    pending.reply(unknown, "unknown")
    pending.fail(unknown, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert client.responses == []
    pending.reply(request_id, "its own")
    assert client.responses == ["its own"]


def test_requests_are_kept_until_they_get_a_response_or_are_forgotten(pending, client):
    completed, failed, forgotten, waiting = (pending.register(client) for _ in range(4))
    pending.reply(completed, "a response")
    pending.fail(failed, ErrorCode.NOT_COORDINATOR)
    pending.forget(forgotten)
    assert dict(pending.unanswered) == {waiting: client}


def test_no_part_is_kept_after_the_response_to_its_request(pending, client):
    for part in pending.fan_out(pending.register(client), 2, tuple):
        pending.reply(part, "a response")
    assert dict(pending.unanswered) == {}


def test_responses_to_parts_are_merged_in_the_order_of_the_parts(pending, client):
    first, second, third = pending.fan_out(pending.register(client), 3, tuple)
    pending.reply(third, "c")
    pending.reply(first, "a")
    assert client.responses == []
    pending.reply(second, "b")
    assert client.responses == [("a", "b", "c")]


def test_the_response_to_a_failed_part_is_its_error_code(pending, client):
    first, second = pending.fan_out(pending.register(client), 2, tuple)
    pending.fail(first, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    pending.reply(second, "b")
    assert client.responses == [(ErrorCode.COORDINATOR_NOT_AVAILABLE, "b")]


def test_a_second_response_to_a_part_is_ignored(pending, client):
    first, second = pending.fan_out(pending.register(client), 2, tuple)
    pending.reply(first, "a")
    pending.reply(first, "again")
    assert client.responses == []
    pending.reply(second, "b")
    assert client.responses == [("a", "b")]


def test_the_parts_of_a_forgotten_request_lead_to_no_response(pending, client):
    request_id = pending.register(client)
    parts = pending.fan_out(request_id, 2, tuple)
    pending.forget(request_id)
    for part in parts:
        pending.reply(part, "late")
    assert client.responses == []
