"""Single requests to a broker, for the handlers of a node's own port: they forward what the cluster has to answer."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from _wire.frames import FrameSplitter, FrameTooLarge
from coordinator.cluster.relay.frame_stream import INT32
from coordinator.cluster.relay.request_heads import HEAD
from coordinator.cluster.relay.response_flow import REWRITTEN_BYTES_MAX
from coordinator.cluster.relay.upstreams import Upstreams, bound_write_buffer
from coordinator.logger import logger

REQUESTS_MAX: Final = 100
"""Requests without an answer. A connection of a client has one; others share a connection."""
REQUEST_BYTES_MAX: Final = 64 << 20
"""Of requests that are still to be sent when one more is."""

Answered = Callable[[bytes | None], None]


class UpstreamConnection(asyncio.Protocol):
    """A connection to one broker for one client of the node, whose login it has. It is made for the first request.

    When it is lost, all requests are answered None, also later ones: a new connection would not have the login. Its
    owner closes the connection of the client, and closes this one with it.
    """

    def __init__(self, upstreams: Upstreams, broker_id: int, response_bytes_max: int = REWRITTEN_BYTES_MAX) -> None:
        self._upstreams = upstreams
        self._broker_id = broker_id
        self._splitter = FrameSplitter(response_bytes_max)
        self._transport: Any = None
        self._connecting: asyncio.Task[None] | None = None
        self._waiting: deque[tuple[int, Answered]] = deque()
        """Correlation id and callback of each request."""
        self._unsent: list[bytes] = []
        self._unsent_bytes = 0
        self.is_lost = False

    def request(self, frame: bytes, answered: Answered) -> None:
        """Send a request with its header, without its length; `answered` is called with the response frame, likewise.

        It is called with None if the connection is lost, or has too many requests. The request must be one that is
        answered: a Produce with acks=0 is not.
        """
        if self.is_lost or len(self._waiting) >= REQUESTS_MAX or self._pending_bytes() > REQUEST_BYTES_MAX:
            answered(None)
            return
        self._waiting.append((HEAD.unpack_from(frame)[2], answered))
        parts = [INT32.pack(len(frame)), frame]
        if self._transport is not None:
            self._transport.writelines(parts)
            return
        self._unsent += parts
        self._unsent_bytes += len(frame)
        if self._connecting is None:
            self._connecting = self._upstreams.start(self._broker_id, self, self._lose)

    def close(self) -> None:
        """Close the connection; requests that wait are answered None."""
        if self._connecting is not None:
            self._connecting.cancel()
        if self._transport is not None:
            self._transport.abort()
        self._lose()

    def _pending_bytes(self) -> int:
        """What the broker has not been sent yet."""
        pending: int = self._unsent_bytes if self._transport is None else self._transport.get_write_buffer_size()
        return pending

    def connection_made(self, transport: Any) -> None:
        if self.is_lost:
            transport.abort()
            return
        self._transport, self._connecting = transport, None
        bound_write_buffer(transport)
        unsent, self._unsent, self._unsent_bytes = self._unsent, [], 0
        transport.writelines(unsent)

    def data_received(self, data: bytes) -> None:
        if self.is_lost:
            return
        try:
            frames = self._splitter.feed(data)
        except FrameTooLarge as problem:
            self._reject(f"the broker sent a {problem}")
            return
        for frame in frames:
            if self.is_lost:
                return
            correlation_id, answered = self._waiting.popleft() if self._waiting else (None, _ignore)
            if len(frame) < INT32.size or INT32.unpack_from(frame)[0] != correlation_id:
                answered(None)
                self._reject("the broker sent a response that is not the next one")
                return
            answered(frame)

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, problem: Exception | None) -> None:
        self._transport = None
        self._lose()

    def _reject(self, reason: str) -> None:
        logger.warning("connection to broker closed", broker=self._broker_id, reason=reason)
        self.close()

    def _lose(self) -> None:
        self.is_lost = True
        self._unsent, self._unsent_bytes = [], 0
        while self._waiting:
            self._waiting.popleft()[1](None)


def _ignore(response: bytes | None) -> None:
    """Nobody waits for this response."""
