"""The responses that a client waits for, in the order of its requests."""

from collections import deque
from collections.abc import Callable
from typing import Final

from coordinator.cluster.relay.responses import ForwardedRequest
from coordinator.cluster.relay.tap import Passing

OUTSTANDING_MAX: Final = 1_000
"""Requests of a connection that are not answered. A broker handles one after the other, so that more gain nothing."""
OWN_BYTES_MAX: Final = 1 << 20
"""Answers of the relay that wait for their turn."""


class ExpectedResponse:
    """One place in the order."""

    __slots__ = ("correlation_id", "own", "passing", "rewritten")

    def __init__(
        self,
        correlation_id: int,
        rewritten: ForwardedRequest | None = None,
        own: bytes | None = None,
        passing: Passing | None = None,
    ) -> None:
        self.correlation_id = correlation_id
        self.rewritten = rewritten
        """Describes the request if the response is to be rewritten."""
        self.own = own
        """The response, if the relay gives it itself."""
        self.passing = passing
        """What is to be given the response for a look, as its group is watched."""


class ExpectedResponses:
    """A queue. The response that is under way stays in it until its end."""

    def __init__(self) -> None:
        self._queue: deque[ExpectedResponse] = deque()
        self._own_bytes = 0
        self._was_full = False

    @property
    def own_bytes(self) -> int:
        return self._own_bytes

    @property
    def is_full(self) -> bool:
        """Whether the next request has to wait: from a limit on, down to half of it."""
        part = 2 if self._was_full else 1
        self._was_full = len(self._queue) * part >= OUTSTANDING_MAX or self._own_bytes * part > OWN_BYTES_MAX
        return self._was_full

    @property
    def first(self) -> ExpectedResponse | None:
        return self._queue[0] if self._queue else None

    @property
    def has_own_first(self) -> bool:
        """Whether the next response is one that the relay gives."""
        return bool(self._queue) and self._queue[0].own is not None

    def expect(
        self, correlation_id: int, rewritten: ForwardedRequest | None = None, passing: Passing | None = None
    ) -> None:
        """The broker will respond."""
        self._queue.append(ExpectedResponse(correlation_id, rewritten, None, passing))

    def answer(self, response: bytes) -> None:
        """The relay responds, when it is the turn of this response."""
        self._queue.append(ExpectedResponse(0, own=response))
        self._own_bytes += len(response)

    def complete(self) -> None:
        """The first response was written."""
        self._queue.popleft()

    def write_own(self, write: Callable[[bytes], object]) -> None:
        """Write the responses of the relay whose turn it is."""
        while self._queue and (own := self._queue[0].own) is not None:
            self._queue.popleft()
            self._own_bytes -= len(own)
            write(own)
