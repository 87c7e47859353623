"""TLS of one connection: between the transport of a socket and a Connection, by the SSLObject of Python's ssl.

The event loops bring TLS of their own, which this server cannot use: they hand all of a response to the socket's
transport at once, so nobody knows what a client has not read; they send no alert when a handshake fails; and no limit
holds for handshakes. Here responses wait unencrypted, not copied, until the socket takes more.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto
from typing import Any, Final, Protocol

HANDSHAKE_RECORD: Final = 22
"""The first byte of a connection with TLS."""
ALERT_SECONDS: Final = 0.1
"""How long a client whose handshake failed has to read the alert: connection.failed.authentication.delay.ms of Kafka,
which waits as long before it closes such a connection."""
READ_BYTES: Final = 1 << 16
RECORDS_AT_ONCE: Final = 500
"""A record that a client sends has a byte or 16 kB, and costs some microseconds."""
RECORD_BYTES_MAX: Final = 1 << 14
"""The longest text of a record (RFC 8446, 5.1), which is encrypted as a whole."""
RECORDS_BYTES: Final = 1 << 16
"""What is encrypted at a time, before the socket is asked whether it takes more."""
UNSENT_BYTES_HIGH: Final = 1 << 16
"""As for connections without TLS: above it the next request waits, until the socket has taken all that is unsent."""


class TlsState(Enum):
    HANDSHAKE = auto()
    OPEN = auto()
    CLOSING = auto()
    """What was written is sent, then the end of the TLS session, then the connection is closed."""
    CLOSED = auto()


class Handshakes(Protocol):
    """Who watches over the handshakes (TlsHandshakes)."""

    def begin(self, handshake: "TlsTransport") -> None:
        """A connection has come."""

    def run(self, handshake: "TlsTransport", step: Callable[[], None]) -> None:
        """Do a step of a handshake, now or when there is time for it."""

    def done(self, handshake: "TlsTransport") -> None:
        """The handshake is complete, or was given up."""

    def failed(self, handshake: "TlsTransport", reason: str) -> None:
        """The connection is being closed because of `reason`."""

    def lost(self, handshake: "TlsTransport", connection: Any) -> None:
        """The connection has gone before it began."""


class TlsTransport(asyncio.Protocol):
    """The protocol of a socket's transport, and the transport of a Connection, whose methods it has."""

    def __init__(
        self,
        connection: Any,
        address: str,
        context: ssl.SSLContext,
        handshakes: Handshakes,
        authenticate: "Callable[[Any, ssl.SSLObject], None]",
    ) -> None:
        """`authenticate(connection, ssl_object)` says who the client is. It may raise ValueError, with the reason.

        An empty `address` is that of the socket.
        """
        self.address = address
        self._connection = connection
        self._handshakes = handshakes
        self._authenticate = authenticate
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._context: ssl.SSLContext | None = context
        self._ssl: ssl.SSLObject
        self._tcp: Any = None
        self._state = TlsState.HANDSHAKE
        self._first_byte = -1
        self._has_begun = False
        """Whether the handshake is complete, and the connection knows of its transport."""
        self._is_step_waiting = False
        self._is_ended_by_peer = False
        self._is_tcp_full = False
        self._is_reading_paused = False
        self._is_incoming_waiting = False
        loop = asyncio.get_running_loop()
        self._call_soon, self._call_later = loop.call_soon, loop.call_later
        self._is_connection_paused = False
        self._unsent: deque[memoryview | bytes] = deque()
        self._unsent_bytes = 0

    # --------------------------------------------------------------------------------------------- of the socket's side

    def connection_made(self, transport: Any) -> None:
        self._tcp = transport
        if not self.address:
            peer = transport.get_extra_info("peername")
            self.address = peer[0] if peer else ""
        self._handshakes.begin(self)

    def data_received(self, data: bytes) -> None:
        if self._state is TlsState.OPEN:
            self._incoming.write(data)
            self._read()
        elif self._state is TlsState.HANDSHAKE:
            if self._context is not None:
                # Not before: a connection that sends nothing costs little.
                self._ssl = self._context.wrap_bio(self._incoming, self._outgoing, server_side=True)
                self._context = None
                self._first_byte = data[0]
            self._incoming.write(data)
            if not self._is_step_waiting:
                self._is_step_waiting = True
                self._handshakes.run(self, self._step)
                if self._is_step_waiting:
                    self._read_socket(False)

    def eof_received(self) -> bool:
        if self._state is TlsState.HANDSHAKE:
            # A probe of a load balancer, or a client that gave up: nothing to tell.
            self._state = TlsState.CLOSED
            self._tcp.close()
        elif self._state is TlsState.CLOSED:
            self._tcp.close()
        elif not self._is_ended_by_peer:
            self._end_of_peer()
        return True

    def connection_lost(self, problem: Exception | None) -> None:
        self._state = TlsState.CLOSED
        self._unsent.clear()
        self._unsent_bytes = 0
        if self._has_begun:
            self._connection.connection_lost(problem)
        else:
            self._handshakes.lost(self, self._connection)
        self._connection = None

    def pause_writing(self) -> None:
        self._is_tcp_full = True

    def resume_writing(self) -> None:
        self._is_tcp_full = False
        self._send_unsent()
        # Not only when little is unsent: a socket that takes the last of it does not say when it has sent that.
        if self._is_connection_paused and not self._is_tcp_full:
            self._is_connection_paused = False
            if self._connection is not None:  # it has gone
                self._connection.resume_writing()

    # ------------------------------------------------------------------------------------------------------- handshake

    def _step(self) -> None:
        """Go on with the handshake, with what has been received."""
        was_late, self._is_step_waiting = self._is_step_waiting, False
        if self._state is not TlsState.HANDSHAKE:
            return
        try:
            self._ssl.do_handshake()
        except ssl.SSLWantReadError:
            self._flush_outgoing()
            if was_late:
                self._read_socket(True)
            return
        except OSError as problem:
            self._flush_outgoing()
            self._fail(self._reason(problem))
            return
        self._flush_outgoing()
        self._begin()
        if was_late and not self._is_reading_paused and not self._is_incoming_waiting:
            self._read_socket(True)

    def _begin(self) -> None:
        """The handshake is complete: the connection begins."""
        try:
            self._authenticate(self._connection, self._ssl)
        except ValueError as problem:
            self._fail(str(problem))
            return
        self._state = TlsState.OPEN
        self._has_begun = True
        self._handshakes.done(self)
        self._connection.connection_made(self)
        if self._state is TlsState.OPEN:
            self._read()

    def _fail(self, reason: str) -> None:
        """End a connection that has not begun; what it is sent, as an alert, is sent first."""
        self._state = TlsState.CLOSED
        self._handshakes.failed(self, reason)
        if self._first_byte != HANDSHAKE_RECORD or self._tcp.is_closing():
            self._tcp.close()
            return
        # To a client that has gone on sending, a connection that is closed with that unread is reset by the system:
        # it may never see the alert. What comes meanwhile is read and forgotten.
        self._tcp.write_eof()
        self._read_socket(True)
        self._call_later(ALERT_SECONDS, self._tcp.close)

    def give_up(self, reason: str) -> None:
        """Close a connection whose handshake takes too long, or which has to go for another one."""
        if reason and self._state is TlsState.HANDSHAKE:
            self._handshakes.failed(self, reason)
        self._state = TlsState.CLOSED
        self._handshakes.done(self)
        self._tcp.abort()

    def _reason(self, problem: OSError) -> str:
        if self._first_byte != HANDSHAKE_RECORD:
            return "plain text at a listener with TLS; the client needs security.protocol=SSL or SASL_SSL"
        return f"TLS handshake failed: {_words(problem)}"

    # ------------------------------------------------------------------------------------------------------------ read

    def _read(self) -> None:
        """Decrypt what came, and hand it to the connection; very many small records in several turns of the loop."""
        chunks: list[bytes] = []
        is_ended = False
        incoming, tls = self._incoming, self._ssl
        try:
            while (pending := incoming.pending or tls.pending()) and len(chunks) < RECORDS_AT_ONCE:
                # No text is longer than its record, and a large buffer costs more than to decrypt a small request.
                chunk = tls.read(min(READ_BYTES, pending))
                if not chunk:
                    is_ended = True
                    break
                chunks.append(chunk)
        except ssl.SSLWantReadError:
            pass
        except OSError as problem:
            self._flush_outgoing()
            self._connection.abort(f"TLS failed: {_words(problem)}")
            return
        if self._outgoing.pending:  # an answer of TLS itself
            self._flush_outgoing()
        if chunks:
            self._connection.data_received(chunks[0] if len(chunks) == 1 else b"".join(chunks))
        if is_ended and not self._is_ended_by_peer:
            self._end_of_peer()
        elif len(chunks) == RECORDS_AT_ONCE and self._state is TlsState.OPEN and self._has_incoming():
            self._read_socket(False)
            self._is_incoming_waiting = True
            self._call_soon(self._read_on)

    def _read_on(self) -> None:
        """Go on with what was left, unless the connection wants nothing now."""
        if self._state is TlsState.OPEN and not self._is_reading_paused:
            self._is_incoming_waiting = False
            self._read_socket(True)
            self._read()

    def _read_socket(self, is_on: bool) -> None:
        """Read from the socket, or do not. The loop may have closed it, and not said so yet."""
        if not self._tcp.is_closing():
            if is_on:
                self._tcp.resume_reading()
            else:
                self._tcp.pause_reading()

    def _has_incoming(self) -> bool:
        return bool(self._incoming.pending or self._ssl.pending())

    def _end_of_peer(self) -> None:
        """The client sends nothing more; what it was sent is delivered, if it reads it."""
        self._is_ended_by_peer = True
        if self._state is TlsState.OPEN:
            self._connection.eof_received()
            self.close()

    # ----------------------------------------------------------------------------------------- of the connection's side

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        if name == "ssl_object":
            return self._ssl
        return self._ssl.context if name == "sslcontext" else self._tcp.get_extra_info(name, default)

    def is_closing(self) -> bool:
        return self._state is not TlsState.OPEN

    def get_write_buffer_size(self) -> int:
        """What the client has not read, as far as this process knows."""
        size: int = self._unsent_bytes + self._tcp.get_write_buffer_size()
        return size

    def pause_reading(self) -> None:
        if not self._is_reading_paused:
            self._is_reading_paused = True
            self._read_socket(False)

    def resume_reading(self) -> None:
        if self._is_reading_paused:
            self._is_reading_paused = False
            if self._is_incoming_waiting:
                self._call_soon(self._read_on)
            elif self._state is TlsState.OPEN:
                self._read_socket(True)

    def write(self, data: bytes) -> None:
        if self._state is not TlsState.OPEN:
            return
        if not self._unsent and not self._is_tcp_full and len(data) <= RECORD_BYTES_MAX:
            self._ssl.write(data)
            self._tcp.write(self._outgoing.read())
        else:
            self._unsent.append(data)
            self._unsent_bytes += len(data)
            self._send_unsent()
        self._pause_connection()

    def writelines(self, parts: list[Any]) -> None:
        if self._state is TlsState.OPEN:
            for part in parts:
                if len(part):
                    self._unsent.append(part)
                    self._unsent_bytes += len(part)
            self._send_unsent()
            self._pause_connection()

    def close(self) -> None:
        """Close the connection when all that was written is sent."""
        if self._state is TlsState.OPEN:
            self._state = TlsState.CLOSING
            self._send_unsent()

    def abort(self) -> None:
        self._state = TlsState.CLOSED
        self._unsent.clear()
        self._unsent_bytes = 0
        self._tcp.abort()

    def _pause_connection(self) -> None:
        if not self._is_connection_paused and self.get_write_buffer_size() > UNSENT_BYTES_HIGH:
            self._is_connection_paused = True
            self._connection.pause_writing()

    def _send_unsent(self) -> None:
        """Encrypt and send, as long as the socket takes it."""
        unsent = self._unsent
        while unsent and not self._is_tcp_full:
            encrypted = 0
            while unsent and encrypted < RECORDS_BYTES:
                data = unsent[0]
                count = self._ssl.write(data if len(data) <= RECORDS_BYTES else memoryview(data)[:RECORDS_BYTES])
                encrypted += count
                if count < len(data):
                    unsent[0] = memoryview(data)[count:]
                else:
                    unsent.popleft()
            self._unsent_bytes -= encrypted
            self._flush_outgoing()
        if self._state is TlsState.CLOSING and not unsent:
            self._state = TlsState.CLOSED
            self._send_end()
            self._tcp.close()

    def _send_end(self) -> None:
        """Send the end of the TLS session. The client's own is not waited for."""
        with suppress(ssl.SSLError):  # the client's has not come, or its session has failed already
            self._ssl.unwrap()
        self._flush_outgoing()

    def _flush_outgoing(self) -> None:
        data = self._outgoing.read()
        if data:
            self._tcp.write(data)


def _words(problem: OSError) -> str:
    """What OpenSSL says of a failure."""
    reason = getattr(problem, "verify_message", "") or getattr(problem, "reason", "") or str(problem)
    return str(reason).replace("_", " ").lower()
