"""A request about many keys: a portion of them is asked at a time, so that others have their turn between."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

import msgspec

from _wire.errors import ErrorCode
from coordinator.config.network_keys import SOCKET_REQUEST_MAX_BYTES
from coordinator.core.decision import OperationContext
from coordinator.front.group_context import GroupContext
from coordinator.front.request_context import RequestContext

KEYS_AT_FIRST: Final = 16
KEYS_AT_MOST: Final = 500
"""Keys of one request that are asked before other requests have their turn: the more, the smaller the responses."""
SMALL_BYTES: Final = 1 << 16
LARGE_BYTES: Final = 1 << 20
"""The responses of a portion: after a small one the next is larger, after a large one it is smaller."""
PORTION_FACTOR: Final = 4


class Asked(msgspec.Struct, frozen=True):
    """How the keys of an API are asked, and what becomes of the responses."""

    api: str
    enqueue: Callable[[str, Any, OperationContext], object]
    """(key, request for this key, context): the response goes to the context's request id, perhaps at once."""
    merge: Callable[[list[str], list[Any]], Any]
    """(keys, their responses) → response of a portion, whose arrays are those of the whole response; a part that failed
    is an ErrorCode."""


class Portions:
    """One request, taken apart in (key, request for this key)."""

    def __init__(
        self, node: GroupContext, asked: Asked, context: RequestContext, parts: Iterator[tuple[str, Any]]
    ) -> None:
        self._node = node
        self._asked = asked
        self._context = context
        self._parts = parts
        self._response: Any = None
        """That of the portions so far."""
        self._response_bytes = 0
        self._size = KEYS_AT_FIRST
        self._has_more = True

    def begin(self) -> None:
        """Ask the next keys."""
        parts = list(islice(self._parts, self._size))
        self._has_more = len(parts) == self._size
        request_id = self._context.request_id
        assert request_id is not None
        pending = self._node.pending
        if not parts:
            pending.reply(request_id, self._asked.merge([], []) if self._response is None else self._response)
            return
        keys = [key for key, _ in parts]
        part_ids = pending.fan_out(
            pending.register(self), len(parts), lambda responses: self._asked.merge(keys, responses)
        )
        for part_id, (key, part) in zip(part_ids, parts, strict=True):
            self._asked.enqueue(key, part, part_of(self._context, part_id))

    def send_response(self, response: Any) -> None:
        """Take the merged responses of one portion."""
        context = self._context
        if context.request_id not in self._node.pending.unanswered:  # the client has disconnected
            messages, self._response = [self._response, response], None
            context.connection.release(messages)
            return
        if self._response is None:
            self._response = response
        else:
            for name in response.ARRAYS:
                getattr(self._response, name).extend(getattr(response, name))
        if self._has_more:
            size_bytes = len(response.encode(context.api_version))
            self._response_bytes += size_bytes
            if self._response_bytes > self._node.config[SOCKET_REQUEST_MAX_BYTES]:
                context.connection.reject(f"the response to {self._asked.api} is larger than socket.request.max.bytes")
                messages, self._response = [self._response], None
                context.connection.release(messages)
                return
            if size_bytes < SMALL_BYTES:
                self._size = min(self._size * PORTION_FACTOR, KEYS_AT_MOST)
            elif size_bytes > LARGE_BYTES:
                self._size = max(self._size // PORTION_FACTOR, 1)
        self.begin()

    def send_error_response(self, error: ErrorCode) -> None:
        """Portions are merged from responses of their own, and never fail as a whole."""
        raise AssertionError(f"a portion failed with {error.name}")


def part_of(context: RequestContext, part_id: int) -> OperationContext:
    """The context of a part of a request."""
    return OperationContext(
        part_id, context.api_version, context.client_id, context.client_host, context.environment, 0, 0
    )
