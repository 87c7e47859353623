"""Delivers the responses of the core, which have a request id, to the connections that wait for them."""

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from types import MappingProxyType
from typing import Any, Protocol, final

import msgspec

from _wire.errors import ErrorCode


class Waiting(Protocol):
    """The receiver of a response: a connection with a request in progress."""

    def send_response(self, response: Any) -> None:
        """Send the response to the request in progress, and handle the next request."""

    def send_error_response(self, error: ErrorCode) -> None:
        """The same, with the response that reports `error` in the API of that request."""


@final
class PartialResponse(msgspec.Struct, frozen=True):
    """The response to one part of a request."""

    aggregation: "Aggregation"
    position: int


class Aggregation:
    """Collects the responses to the parts of one request, and merges them."""

    def __init__(self, request_id: int, parts: int, merge: Callable[[list[Any]], Any]) -> None:
        self.request_id = request_id
        self.merge = merge
        self.responses: list[Any] = [None] * parts
        self.remaining = parts


class PendingRequests:
    """Assigns request ids and delivers responses. A response for which no connection waits any more is ignored.

    A request that a newer one replaced (a JoinGroup sent again over a second connection) never gets a response, as on
    Kafka. Its id is dropped when its connection closes.
    """

    def __init__(self) -> None:
        self._ids = count(1)
        self._waiting: dict[int, Waiting | PartialResponse] = {}

    @property
    def unanswered(self) -> Mapping[int, Waiting | PartialResponse]:
        """Request id → receiver, for requests that have neither a response nor been forgotten. Read-only."""
        return MappingProxyType(self._waiting)

    def register(self, waiting: Waiting) -> int:
        """Assign an id to the request in progress on a connection."""
        request_id = next(self._ids)
        self._waiting[request_id] = waiting
        return request_id

    def fan_out(self, request_id: int, parts: int, merge: Callable[[list[Any]], Any]) -> Sequence[int]:
        """Assign ids to the parts. `merge` gets their responses in order; a failed one is an ErrorCode."""
        aggregation = Aggregation(request_id, parts, merge)
        ids = [next(self._ids) for _ in range(parts)]
        for position, part_id in enumerate(ids):
            self._waiting[part_id] = PartialResponse(aggregation, position)
        return ids

    def forget(self, request_id: int) -> None:
        """Drop a request whose connection is closed."""
        self._waiting.pop(request_id, None)

    def reply(self, request_id: int, response: object) -> None:
        waiting = self._waiting.pop(request_id, None)
        if type(waiting) is PartialResponse:
            self._complete_part(waiting, response)
        elif waiting is not None:
            waiting.send_response(response)

    def fail(self, request_id: int, error: ErrorCode) -> None:
        waiting = self._waiting.pop(request_id, None)
        if type(waiting) is PartialResponse:
            self._complete_part(waiting, error)
        elif waiting is not None:
            waiting.send_error_response(error)

    def _complete_part(self, part: PartialResponse, response: object) -> None:
        aggregation = part.aggregation
        aggregation.responses[part.position] = response
        aggregation.remaining -= 1
        if aggregation.remaining == 0:
            self.reply(aggregation.request_id, aggregation.merge(aggregation.responses))
