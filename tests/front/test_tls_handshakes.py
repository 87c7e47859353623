"""Handshakes that do not end, that are too many, or that come in pieces."""

import socket
import ssl
import time

import pytest

from _wire.messages.api_versions import ApiVersionsRequest
from tests.certificates import authority
from tests.front.tls_node import TlsNode, play
from tests.wire_client import WireClient

HELLO_BEGUN = bytes.fromhex("1603010200010001fc0303")


def half_open(address: str, first_bytes: bytes = HELLO_BEGUN) -> socket.socket:
    """A connection whose handshake has begun, and does not go on."""
    host, _, port = address.rpartition(":")
    sock = socket.create_connection((host, int(port)), timeout=10)
    sock.sendall(first_bytes)
    return sock


def is_served(address: str) -> bool:
    with WireClient(address, tls=authority().client_context()) as client:
        return bool(client.request(ApiVersionsRequest(), 0).error_code == 0)


def is_closed(sock: socket.socket) -> bool:
    """Wait for the end of a connection."""
    try:
        return sock.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("first_bytes", [b"", HELLO_BEGUN])
def test_a_handshake_that_does_not_end_is_closed_in_time(tmp_path, first_bytes):
    async def story(served: TlsNode) -> None:
        begun = time.monotonic()
        with await served.client(half_open, served.address(), first_bytes) as sock:
            assert await served.client(is_closed, sock)
        assert 0.25 < time.monotonic() - begun < 5
        assert served.closed_because() == ["no TLS handshake within 300 ms (ssl.handshake.timeout.ms)"]
        await served.until(lambda: not served.limits.accepted_count, "the end of the connection")
        assert served.tls.handshakes.count == 0

    play(tmp_path, story, ssl_handshake_timeout_ms="300")


def test_above_the_limit_of_an_address_its_oldest_handshake_is_closed(tmp_path):
    async def story(served: TlsNode) -> None:
        socks = [await served.client(half_open, served.address()) for _ in range(3)]
        await served.until(lambda: served.tls.handshakes.count == 3, "three handshakes")
        socks.append(await served.client(half_open, served.address()))
        assert await served.client(is_closed, socks[0])
        assert served.tls.handshakes.count == 3
        assert await served.client(is_served, served.address()), "a handshake that ends is not hindered"
        assert set(served.closed_because()) == {
            "more than 3 TLS handshakes from one address (ssl.handshakes.max.per.ip)"
        }
        for sock in socks:
            sock.close()

    play(tmp_path, story, ssl_handshakes_max_per_ip="3")


def test_above_the_limit_of_all_the_address_with_the_most_loses_one(tmp_path):
    def from_address(number: int, address: str) -> socket.socket:
        host, _, port = address.rpartition(":")
        return socket.create_connection((host, int(port)), 10, source_address=(f"127.0.0.{number}", 0))

    async def story(served: TlsNode) -> None:
        greedy = [await served.client(from_address, 2, served.address()) for _ in range(3)]
        await served.until(lambda: served.tls.handshakes.count == 3, "three handshakes")
        other = await served.client(from_address, 3, served.address())
        await served.until(lambda: served.tls.handshakes.count == 4, "four handshakes")
        third = await served.client(from_address, 4, served.address())
        assert await served.client(is_closed, greedy[0])
        assert served.closed_because() == ["more than 4 TLS handshakes (ssl.handshakes.max)"]
        for sock in (*greedy, other, third):
            sock.close()

    play(tmp_path, story, ssl_handshakes_max="4")


def test_half_handshakes_count_as_connections_of_their_address(tmp_path):
    async def story(served: TlsNode) -> None:
        socks = [await served.client(half_open, served.address(), b"") for _ in range(2)]
        await served.until(lambda: served.limits.accepted_count == 2, "two connections")
        with await served.client(half_open, served.address(), b"") as further:
            assert await served.client(is_closed, further)
        assert served.closed_because() == ["more than 2 connections from one address (max.connections.per.ip)"]
        for sock in socks:
            sock.close()
        await served.until(lambda: not served.limits.accepted_count, "the end of all")
        assert await served.client(is_served, served.address())

    play(tmp_path, story, max_connections_per_ip="2")


def test_a_hello_may_come_byte_by_byte(tmp_path):
    def attempt(address: str) -> bytes:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = authority().client_context().wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
        with half_open(address, b"") as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while True:
                try:
                    client.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    for byte in outgoing.read():
                        sock.send(bytes([byte]))
                    incoming.write(sock.recv(65536))
            client.write(bytes.fromhex("0000000a00120000000000010000")[:14])
            for byte in outgoing.read():
                sock.send(bytes([byte]))
            while True:
                incoming.write(sock.recv(65536))
                try:
                    return client.read(100)
                except ssl.SSLWantReadError:
                    continue

    async def story(served: TlsNode) -> None:
        assert (await served.client(attempt, served.address()))[4:10] == b"\0\0\0\1\0\0"

    play(tmp_path, story)


def test_a_stop_ends_the_handshakes(tmp_path):
    socks: list[socket.socket] = []

    async def story(served: TlsNode) -> None:
        socks.append(await served.client(half_open, served.address()))
        await served.until(lambda: served.tls.handshakes.count == 1, "the handshake")

    play(tmp_path, story)
    with socks[0] as sock:
        assert is_closed(sock)


def test_handshakes_wait_while_the_loop_has_other_work(tmp_path, monkeypatch):
    """Their steps are then done in turn, and the sockets are not read meanwhile."""

    async def story(served: TlsNode) -> None:
        monkeypatch.setattr(served.node.loop.slices, "has_time", lambda: False)
        assert await served.client(is_served, served.address())
        await served.until(lambda: not served.connections, "the end of the connection")

    play(tmp_path, story)
