"""Delivers the responses of the core, which name a request id, to the connections that wait for them."""

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from _wire.errors import ErrorCode


class Waiting(Protocol):
    """What a reply goes to: a connection with a request under way."""

    def answer(self, response: Any) -> None:
        """Send the response to the request under way and go on with the next one."""

    def answer_error(self, error: ErrorCode) -> None:
        """The same, with the response that says `error` in the API of the request under way."""


class PartialResponse(NamedTuple):
    """One of several answers that make up a response."""

    gathering: "Aggregation"
    place: int


class Aggregation:
    """Collects the answers to the parts of one request, then makes its response of them."""

    def __init__(self, request_id: int, parts: int, merge: Callable[[list[Any]], Any]) -> None:
        self.request_id = request_id
        self.merge = merge
        self.parts: list[Any] = [None] * parts
        self.left = parts


class PendingRequests:
    """Numbers requests and delivers their answers; an answer that nobody waits for any more is ignored.

    A request that a newer one replaced (a JoinGroup sent again over a second connection) is never answered, as on
    Kafka, and its number is dropped when its connection closes.
    """

    def __init__(self) -> None:
        self._numbers = count(1)
        self._waiting: dict[int, Waiting | PartialResponse] = {}

    @property
    def unanswered(self) -> Mapping[int, Waiting | PartialResponse]:
        """Request id → where its response goes, for requests neither answered nor forgotten. Read-only."""
        return MappingProxyType(self._waiting)

    def register(self, waiting: Waiting) -> int:
        """A request id for the request under way on a connection."""
        request_id = next(self._numbers)
        self._waiting[request_id] = waiting
        return request_id

    def fan_out(self, request_id: int, parts: int, merge: Callable[[list[Any]], Any]) -> Sequence[int]:
        """Ids for the parts of a request. `merge` gets their answers in order; a failed one is its ErrorCode."""
        gathering = Aggregation(request_id, parts, merge)
        ids = [next(self._numbers) for _ in range(parts)]
        for place, part_id in enumerate(ids):
            self._waiting[part_id] = PartialResponse(gathering, place)
        return ids

    def forget(self, request_id: int) -> None:
        """Nobody waits for this answer any more."""
        self._waiting.pop(request_id, None)

    def reply(self, request_id: int, response: object) -> None:
        waiting = self._waiting.pop(request_id, None)
        if isinstance(waiting, PartialResponse):
            self._complete_part(waiting, response)
        elif waiting is not None:
            waiting.answer(response)

    def fail(self, request_id: int, error: ErrorCode) -> None:
        waiting = self._waiting.pop(request_id, None)
        if isinstance(waiting, PartialResponse):
            self._complete_part(waiting, error)
        elif waiting is not None:
            waiting.answer_error(error)

    def _complete_part(self, part: PartialResponse, answer: object) -> None:
        gathering = part.gathering
        gathering.parts[part.place] = answer
        gathering.left -= 1
        if gathering.left == 0:
            self.reply(gathering.request_id, gathering.merge(gathering.parts))
