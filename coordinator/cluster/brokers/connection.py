"""One connection to a broker: requests leave at once, and are answered in their order."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

from _wire.errors import MalformedMessage
from _wire.frames import FrameSplitter, FrameTooLarge
from _wire.structs import Message
from coordinator.client.requests import FRAME_BYTES_MAX, VERSION_MAX, RequestEncoder, Sent
from coordinator.cluster.brokers.errors import BrokerError, ResponseTooLarge

LONG_FRAME_BYTES: Final = 1 << 16
"""A longer response is decoded in steps, by who can (`LongResponse`)."""

Answered: TypeAlias = Callable[[Any], None]
"""Gets the response, or a BrokerError. Called once for each request."""


class LongResponse(msgspec.Struct, frozen=True):
    """A response that is not decoded yet."""

    size_bytes: int
    decode: Callable[..., Any]
    """As `decode` of a message; its arguments but `pause` are given already."""


class Asked(msgspec.Struct, frozen=True):
    """A request that was sent and has no response yet."""

    sent: Sent
    answered: Answered
    timeout: asyncio.TimerHandle
    may_be_long: bool = False
    """Whether it may be answered with a `LongResponse`."""


class BrokerConnection(asyncio.Protocol):
    """An asyncio protocol. Each response or failure reaches the function that was given with its request.

    A response above `FRAME_BYTES_MAX` is not read: it ends the connection, and its request is answered an error.
    """

    def __init__(
        self, broker: str, client_id: str, timeout_seconds: float, before_responses: Callable[[], None]
    ) -> None:
        """`broker` is its HOST:PORT, for messages.

        A request that is not answered within `timeout_seconds` closes the connection, as later responses would come
        out of step. `before_responses` is called before responses are handled: what has expired meanwhile is over.
        """
        self.broker = broker
        self.requests: Final = RequestEncoder(broker, client_id, BrokerError)
        self._timeout_seconds = timeout_seconds
        self._before_responses = before_responses
        self._loop = asyncio.get_running_loop()
        self._splitter = FrameSplitter(FRAME_BYTES_MAX)
        self._asked: deque[Asked] = deque()
        self._transport: Any = None
        self._problem: str | None = None
        self._is_too_large = False
        """Whether the response to the first request was too large."""

    @property
    def is_open(self) -> bool:
        return self._transport is not None and self._problem is None

    @property
    def outstanding(self) -> int:
        """Requests without a response yet."""
        return len(self._asked)

    # ---- requests

    def latest_version(self, message: Message, version_max: int = VERSION_MAX) -> int:
        """The latest version of a request, up to `version_max`, that both sides support.

        Raises:
            BrokerError: there is none.
        """
        return self.requests.latest_version(message.API_KEY, version_max)

    def serves(self, message: Message, version: int) -> bool:
        """Whether the broker supports a request in a version. One that it does not support ends the connection."""
        return self.requests.supports(message.API_KEY, version)

    def send(
        self,
        message: Message,
        version: int,
        answered: Answered,
        timeout_seconds: float | None = None,
        *,
        may_be_long: bool = False,
    ) -> None:
        """Send a request. `answered` is never called before this returns; `may_be_long`: it takes a LongResponse."""
        if not self.is_open:
            self._loop.call_soon(answered, BrokerError(self._problem or f"{self.broker} is not connected"))
            return
        data, sent = self.requests.encode(message, version)
        seconds = timeout_seconds or self._timeout_seconds
        timeout = self._loop.call_later(seconds, self._timed_out, seconds)
        self._asked.append(Asked(sent, answered, timeout, may_be_long))
        self._transport.write(data)

    async def request(
        self, message: Message, version_max: int = VERSION_MAX, timeout_seconds: float | None = None
    ) -> Any:
        """Send a request in the latest version that both sides support; return the response.

        Raises:
            BrokerError: there is no such version, or no valid response.
        """
        return await self.request_in(message, self.latest_version(message, version_max), timeout_seconds)

    async def request_in(
        self, message: Message, version: int, timeout_seconds: float | None = None, *, may_be_long: bool = False
    ) -> Any:
        """Send a request in a version; return the response. Raises as `request`."""
        answer: asyncio.Future[Any] = self._loop.create_future()

        def answered(response: Any) -> None:
            if answer.done():
                return  # whoever waited was cancelled
            if isinstance(response, BrokerError):
                answer.set_exception(response)
            else:
                answer.set_result(response)

        self.send(message, version, answered, timeout_seconds, may_be_long=may_be_long)
        return await answer

    def close(self, problem: str | None = None) -> None:
        """Close the connection; what is not answered fails."""
        if self._problem is None:
            self._problem = problem or f"the connection to {self.broker} was closed"
        if self._transport is not None:
            self._transport.abort()

    # ---- asyncio.Protocol

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._before_responses()
        if self._problem is not None:
            return
        try:
            for frame in self._splitter.feed(data):
                self._answer(frame)
        except FrameTooLarge as problem:
            for frame in problem.frames:
                self._answer(frame)
            self._is_too_large = True
            self.close(f"{self.broker} answers with {problem.frame_bytes} bytes, more than {FRAME_BYTES_MAX}")
        except (MalformedMessage, BrokerError) as problem:
            self.close(f"{self.broker} sent a response that cannot be decoded: {problem}")

    def connection_lost(self, problem: Exception | None) -> None:
        if self._problem is None:
            reason = "" if problem is None else f": {problem}"
            self._problem = f"{self.broker} closed the connection{reason}"
        self._transport = None
        asked, self._asked = self._asked, deque()
        for position, pending in enumerate(asked):
            pending.timeout.cancel()
            is_too_large = self._is_too_large and position == 0
            pending.answered(ResponseTooLarge(self._problem) if is_too_large else BrokerError(self._problem))

    def _answer(self, frame: bytes) -> None:
        if not self._asked:
            raise BrokerError("it answers nothing that was asked")
        asked = self._asked[0]
        decode = asked.sent.decoder(frame)
        is_long = asked.may_be_long and len(frame) > LONG_FRAME_BYTES
        response = LongResponse(len(frame), decode) if is_long else decode()
        self._asked.popleft()
        asked.timeout.cancel()
        asked.answered(response)

    def _timed_out(self, seconds: float) -> None:
        self.close(f"{self.broker} did not respond within {seconds:g} s")
