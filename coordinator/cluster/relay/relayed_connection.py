"""A connection of a client at the port of a broker, with the one connection to that broker that it has upstream."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

import msgspec

from _wire.errors import MalformedMessage
from coordinator.cluster.relay.directory import Directory
from coordinator.cluster.relay.expected_responses import ExpectedResponses
from coordinator.cluster.relay.held_bytes import HeldBytes
from coordinator.cluster.relay.request_flow import RequestFlow
from coordinator.cluster.relay.request_heads import InvalidRequest
from coordinator.cluster.relay.response_flow import ResponseFlow
from coordinator.cluster.relay.stall_watch import BROKER_STALLED_SECONDS, CLIENT_STALLED_SECONDS, StallWatch
from coordinator.cluster.relay.tap import Tap
from coordinator.cluster.relay.upstreams import (
    READ_BYTES_MAX,
    WRITE_BUFFER_HIGH_BYTES,
    Upstreams,
    bound_write_buffer,
)
from coordinator.front.limits import plain_address
from coordinator.front.login_limits import LoginTerms
from coordinator.logger import logger
from coordinator.runtime.slices import Slices
from coordinator.security.principal import ANONYMOUS, Principal

LINGER_SECONDS: Final = 30
"""How long one side has to read what the other one sent before it closed its connection."""
ON_ITS_WAY_BYTES: Final = WRITE_BUFFER_HIGH_BYTES + READ_BYTES_MAX
"""What each direction of any connection may have in its write buffer. It is not counted among what connections hold, as
`max.connections` bounds it: a fast client is as often above the limit of its buffer as a slow one."""
INVALID: Final = (InvalidRequest, MalformedMessage)


class RelayParts(msgspec.Struct, frozen=True):
    """What all connections of the relay share."""

    directory: Directory
    upstreams: Upstreams
    slices: Slices
    held: HeldBytes
    on_rejected: Callable[[str, str], None]
    """(address, reason): a connection is closed because of what its client or broker sent. It bounds the log."""
    request_bytes_max: int
    """`socket.request.max.bytes`."""
    logins: LoginTerms | None = None
    """None: clients need no login."""
    tap: Tap | None = None
    """Sees what passes of watched groups."""


class RelayedConnection(asyncio.Protocol):
    """The protocol of the client's transport, which may be that of TLS at a listener."""

    def __init__(
        self,
        parts: RelayParts,
        broker_id: int,
        on_made: "Callable[[RelayedConnection], str | None]" = lambda connection: None,
        on_lost: "Callable[[RelayedConnection], object]" = lambda connection: None,
    ) -> None:
        """`on_made` returns why there may not be one connection more; None: there may."""
        self.broker_id: Final = broker_id
        self.address = ""
        self.client_id = self.software = ""
        """What the client calls itself and its library, once the tap has seen its ApiVersions."""
        self.principal: Principal = ANONYMOUS
        """Who the client is by its certificate, which ends here: the broker does not see it."""
        self._parts = parts
        self._on_made = on_made
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._client: Any = None
        self._upstream: Any = None
        self._connecting: asyncio.Task[None] | None = None
        self._linger: asyncio.TimerHandle | None = None
        self._expected = ExpectedResponses()
        self._requests = RequestFlow(
            self,
            self._expected,
            parts.directory,
            parts.slices,
            parts.request_bytes_max,
            None if parts.logins is None else parts.logins.receive_bytes_max,
            parts.tap,
        )
        self._responses = ResponseFlow(
            self, self._expected, parts.directory, parts.slices, self._requests.answered_login, parts.tap
        )
        self._client_watch = StallWatch(self._loop, CLIENT_STALLED_SECONDS, self._client_stalled)
        self._upstream_watch = StallWatch(self._loop, BROKER_STALLED_SECONDS, self._upstream_stalled)
        self._is_closed = False
        self._is_upstream_lost = False
        self._is_client_ended = False
        self._is_client_full = False
        self._is_upstream_full = False
        self._is_client_read = True
        self._is_upstream_read = True
        self._has_resumption = False
        self._is_held = False

    # ------------------------------------------------------------------------------------------- of the client's side

    def connection_made(self, transport: Any) -> None:
        self._client = transport
        peer = transport.get_extra_info("peername")
        self.address = str(peer[0]) if peer else ""
        bound_write_buffer(transport)
        reason = self._on_made(self) or self._begin_login()
        if reason is not None:
            self.abort(reason)
            return
        self._connecting = self._parts.upstreams.start(self.broker_id, UpstreamEnd(self), self.close)

    def _begin_login(self) -> str | None:
        """Returns why there may not be one more connection that has not logged in."""
        logins = self._parts.logins
        if logins is None:
            return None
        return logins.limits.begin(self, plain_address(self.address), logins.authentication_max_ms)

    def logged_in(self) -> None:
        if self._parts.logins is not None:
            self._parts.logins.limits.end(self)

    def expire(self) -> None:
        """The time that a login may take is over."""
        self.abort("the login took too long (connection.authentication.max.ms)")

    def data_received(self, data: bytes) -> None:
        if not self._is_closed:
            self._feed_requests(data)

    def eof_received(self) -> bool:
        """The client sends nothing more; the broker decides what that means, if it is to get anything."""
        if self._parts.tap is not None and not self._is_closed:
            self._parts.tap.closed(self, by_client=True)
        self._is_client_ended = True
        if self._upstream is None and not self._requests.held_bytes:
            self.close()  # a probe of a load balancer, or a client that gave up
        self._pass_on_end()
        return True

    def connection_lost(self, problem: Exception | None) -> None:
        if self._parts.tap is not None:
            self._parts.tap.closed(self, by_client=not self._is_closed)
        self._end()
        if self._parts.logins is not None:
            self._parts.logins.limits.end(self)
        self._client = None
        if self._linger is not None:
            self._linger.cancel()
        if self._connecting is not None:
            self._connecting.cancel()
        if self._upstream is not None:
            # What the client has sent is delivered, if the broker reads it.
            self._upstream.close()
            self._linger = self._loop.call_later(LINGER_SECONDS, self._upstream.abort)
        self._on_lost(self)

    def pause_writing(self) -> None:
        self._is_client_full = True
        if not self._is_closed:
            self._client_watch.full(self._client)
            self._fullness_changed()

    def resume_writing(self) -> None:
        self._is_client_full = False
        self._client_watch.drained()
        self._fullness_changed()

    # ------------------------------------------------------------------------------------------- of the broker's side

    def upstream_made(self, transport: Any) -> None:
        if self._is_closed:
            transport.abort()
            return
        self._upstream, self._connecting = transport, None
        bound_write_buffer(transport)
        self._requests.open()
        self._update_reading()
        self.go_on()

    def upstream_data(self, data: bytes) -> None:
        if not self._is_closed:
            self._feed_responses(data)

    def upstream_lost(self) -> None:
        """What the broker sent before is still delivered, also what is being rewritten."""
        self._upstream = None
        self._is_upstream_lost = True
        if self._client is None and self._linger is not None:
            self._linger.cancel()
        if not self._responses.stream.is_stopped:
            self.close()

    def upstream_is_full(self, is_full: bool) -> None:
        """The write buffer of the broker's transport is full, or has been drained."""
        self._is_upstream_full = is_full
        if not is_full:
            self._upstream_watch.drained()
        elif not self._is_closed:
            self._upstream_watch.full(self._upstream)
        self._fullness_changed()

    # ------------------------------------------------------------------------------------------------- for both ways

    def write_client(self, data: bytes | memoryview) -> None:
        if self._client is not None:
            self._client.write(data)

    def write_upstream(self, data: bytes | memoryview) -> None:
        if self._upstream is not None:
            self._upstream.write(data)

    def go_on(self) -> None:
        """Go on with the streams that need not wait any more, when the present one has been handled."""
        if not self._has_resumption and not self._is_closed:
            self._has_resumption = True
            self._loop.call_soon(self._resume)

    def abort(self, reason: str) -> None:
        if not self._is_closed:
            self._parts.on_rejected(self.address, reason)
        self._end()
        for transport in (self._client, self._upstream):
            if transport is not None:
                transport.abort()

    def fail(self, problem: Exception) -> None:
        if not isinstance(problem, INVALID):
            try:
                raise problem
            except Exception:
                logger.exception("unhandled exception in the relay", client=self.address, broker=self.broker_id)
        self.abort(str(problem))

    def close(self) -> None:
        """Close the client's connection when it has read what was sent, or has not done so for a while."""
        self._end()
        if self._client is not None and self._linger is None:
            self._client.close()
            self._linger = self._loop.call_later(LINGER_SECONDS, self._client.abort)

    def _end(self) -> None:
        self._is_closed = True
        self._requests.stop()
        self._responses.stop()
        self._client_watch.stop()
        self._upstream_watch.stop()
        self._parts.held.hold(self, 0)

    def _client_stalled(self) -> None:
        self.abort("the client does not read its responses")

    def _upstream_stalled(self) -> None:
        self.abort(f"broker {self.broker_id} does not read its requests")

    def _feed_requests(self, data: bytes) -> None:
        try:
            self._requests.stream.feed(data)
        except INVALID as problem:
            self.abort(str(problem))
            return
        self._fed()

    def _feed_responses(self, data: bytes) -> None:
        try:
            self._responses.stream.feed(data)
        except INVALID as problem:
            self.abort(str(problem))
            return
        if self._requests.stream.is_stopped:
            self._requests.update()
            if not self._requests.stream.is_stopped:
                self.go_on()
        self._fed()

    def _fed(self) -> None:
        self._update_reading()
        if self._is_held or self._requests.held_bytes or self._responses.held_bytes:
            self._count_held()

    def _resume(self) -> None:
        self._has_resumption = False
        for flow, feed in ((self._responses, self._feed_responses), (self._requests, self._feed_requests)):
            if not self._is_closed:
                flow.update()
                if not flow.stream.is_stopped:
                    feed(b"")
        if not self._is_closed:
            self._pass_on_end()
            if self._is_upstream_lost and not self._responses.stream.is_stopped:
                self.close()

    def _update_reading(self) -> None:
        """Read from each side as long as the other one takes what is read.

        Requests also wait for a client that does not read its responses: it may be sent answers of the relay.
        """
        if self._is_closed or self._client is None:
            return
        has_room = self._upstream is not None and not self._is_upstream_full and not self._is_client_full
        wants_client = has_room and not self._is_client_ended and not self._requests.stream.is_stopped
        if wants_client is not self._is_client_read:
            self._is_client_read = wants_client
            _read(self._client, wants_client)
        wants_upstream = not self._is_client_full and not self._responses.stream.is_stopped
        if wants_upstream is not self._is_upstream_read and self._upstream is not None:
            self._is_upstream_read = wants_upstream
            _read(self._upstream, wants_upstream)

    def _pass_on_end(self) -> None:
        """Let the broker know that the client has ended, after all that it sent."""
        upstream = self._upstream
        if not self._is_client_ended or self._requests.stream.is_stopped or upstream is None or upstream.is_closing():
            return
        if upstream.can_write_eof():
            upstream.write_eof()
        else:
            upstream.close()

    def _fullness_changed(self) -> None:
        self._update_reading()
        self._count_held()

    def _count_held(self) -> None:
        if self._is_closed:
            return
        held_bytes = self._requests.held_bytes + self._responses.held_bytes + self._expected.own_bytes
        if self._is_client_full:
            held_bytes += max(self._client.get_write_buffer_size() - ON_ITS_WAY_BYTES, 0)
        if self._is_upstream_full and self._upstream is not None:
            held_bytes += max(self._upstream.get_write_buffer_size() - ON_ITS_WAY_BYTES, 0)
        self._is_held = bool(held_bytes)
        self._parts.held.hold(self, held_bytes)


class UpstreamEnd(asyncio.Protocol):
    """The protocol of the transport to the broker."""

    def __init__(self, connection: RelayedConnection) -> None:
        self._connection = connection
        self._transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._connection.upstream_made(transport)

    def data_received(self, data: bytes) -> None:
        self._connection.upstream_data(data)

    def eof_received(self) -> bool:
        # The broker has closed the connection: it reads nothing of what is still to be written.
        self._transport.abort()
        return False

    def connection_lost(self, problem: Exception | None) -> None:
        self._connection.upstream_lost()

    def pause_writing(self) -> None:
        self._connection.upstream_is_full(True)

    def resume_writing(self) -> None:
        self._connection.upstream_is_full(False)


def _read(transport: Any, is_on: bool) -> None:
    """Read from a transport, or do not. The loop may have closed it, and not said so yet."""
    if not transport.is_closing():
        if is_on:
            transport.resume_reading()
        else:
            transport.pause_reading()
