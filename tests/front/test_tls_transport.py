"""What a connection is told by its transport with TLS, with a socket that takes what the test says."""

import asyncio
import ssl
from contextlib import suppress
from typing import Any

import pytest

from coordinator.config.settings import Config
from coordinator.front.tls_transport import RECORDS_BYTES, UNSENT_BYTES_HIGH, TlsTransport
from coordinator.security.tls.contexts import load_context
from tests.certificates import authority, tls_settings

MIB = 1 << 20


class Socket:
    """The transport of a socket: what was written, as long as the client does not read it."""

    def __init__(self, protocol: TlsTransport) -> None:
        self._protocol = protocol
        self.written = bytearray()
        self.is_closed = self.is_aborted = False

    def get_extra_info(self, name: str) -> Any:
        return ("10.0.0.1", 1)

    def get_write_buffer_size(self) -> int:
        return len(self.written)

    def write(self, data: bytes) -> None:
        self.written += data
        if len(self.written) > 64 * 1024:
            self._protocol.pause_writing()

    def read(self) -> bytes:
        """The client reads all."""
        data, self.written = bytes(self.written), bytearray()
        if len(data) > 64 * 1024:
            self._protocol.resume_writing()
        return data

    def is_closing(self) -> bool:
        return self.is_closed

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = self.is_aborted = True


class Told:
    """A connection that keeps what it is told, and the handshakes of nobody else."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.data = b""

    def connection_made(self, transport: Any) -> None:
        self.calls.append("made")

    def data_received(self, data: bytes) -> None:
        self.data += data

    def pause_writing(self) -> None:
        self.calls.append("pause")

    def resume_writing(self) -> None:
        self.calls.append("resume")

    def begin(self, handshake: Any) -> None: ...

    def run(self, handshake: Any, step: Any) -> None:
        step()

    def done(self, handshake: Any) -> None: ...

    def failed(self, handshake: Any, reason: str) -> None:
        self.calls.append(reason)

    def lost(self, handshake: Any, connection: Any) -> None: ...


class Session:
    """Both ends of a connection after the handshake."""

    def __init__(self, folder: Any) -> None:
        context = load_context(Config(tls_settings(folder)).for_listener("SSL")).context
        self.told = Told()
        self.transport = TlsTransport(self.told, "", context, self.told, lambda connection, peer: None)
        self.socket = Socket(self.transport)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = authority().client_context().wrap_bio(self._incoming, self._outgoing, server_hostname="127.0.0.1")
        self.client = client
        self.transport.connection_made(self.socket)
        while "made" not in self.told.calls:
            with suppress(ssl.SSLWantReadError):
                client.do_handshake()
            self.transport.data_received(self._outgoing.read())
            self._incoming.write(self.socket.read())

    def read_all(self) -> int:
        """Let the client read to the end; how many bytes there were."""
        size = 0
        while data := self.socket.read():
            self._incoming.write(data)
            with suppress(ssl.SSLWantReadError):
                while self._incoming.pending:
                    size += len(self.client.read(1 << 20))
        return size


@pytest.fixture
def session(tmp_path):
    async def make() -> Session:
        return Session(tmp_path)

    return asyncio.run(make())


def test_all_that_is_not_read_counts_and_little_of_it_is_encrypted(session):
    session.transport.writelines([bytes(MIB), memoryview(bytes(MIB))])
    assert 2 * MIB <= session.transport.get_write_buffer_size() < 2 * MIB + 8192
    assert session.socket.get_write_buffer_size() < 256 * 1024
    assert session.told.calls == ["made", "pause"]
    assert session.read_all() == 2 * MIB
    assert session.transport.get_write_buffer_size() == 0
    assert session.told.calls == ["made", "pause", "resume"]


@pytest.mark.parametrize("last_bytes", [1, 20_000, 40_000, 60_000])
def test_the_connection_goes_on_whatever_the_length_of_the_last_part(session, last_bytes):
    """The socket takes the last part without being full, so it does not say when it has sent it."""
    size = 2 * RECORDS_BYTES + last_bytes
    session.transport.write(bytes(size))
    assert session.told.calls == ["made", "pause"]
    assert session.read_all() == size
    assert session.told.calls == ["made", "pause", "resume"]


def test_little_that_is_not_read_pauses_nothing(session):
    session.transport.write(bytes(UNSENT_BYTES_HIGH // 2))
    assert session.told.calls == ["made"]


def test_what_was_written_is_sent_before_the_end_of_the_session(session):
    session.transport.write(bytes(MIB))
    session.transport.close()
    session.transport.write(b"too late")
    assert not session.socket.is_closed
    assert session.read_all() == MIB
    assert session.client.read(1) == b"", "the end of the session"
    assert session.socket.is_closed
    assert not session.socket.is_aborted


def test_an_abort_drops_what_was_not_sent(session):
    session.transport.write(bytes(MIB))
    session.transport.abort()
    assert session.socket.is_aborted
    assert session.transport.get_write_buffer_size() == session.socket.get_write_buffer_size()
    assert session.transport.is_closing()
