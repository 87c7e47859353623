"""Attacks on TLS: handshakes that are not ended, are too many or in pieces, and what a session allows beside data."""

import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from _wire.messages.api_versions import ApiVersionsRequest
from tests.certificates import authority
from tests.hostile.attack import Attack
from tests.hostile.target import Target
from tests.waiting import wait_for
from tests.wire_client import WireClient

AT_ONCE = 32
PAUSE_SECONDS = 0.0005
"""Between two lines for `openssl s_client`, so that it reads them one by one."""


def client_hello() -> bytes:
    """The first bytes of a handshake."""
    outgoing = ssl.MemoryBIO()
    client = authority().client_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="127.0.0.1")
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def served(target: Target) -> None:
    """Somebody else comes by TLS, and is served."""

    def is_served() -> bool:
        host, port = target.tls_address
        with (
            suppress(OSError, ssl.SSLError),
            WireClient(f"{host}:{port}", "other", tls=authority().client_context()) as client,
        ):
            return bool(client.request(ApiVersionsRequest(), 0).error_code == 0)
        return False

    wait_for(is_served, 30, "a client with TLS to be served")


def in_threads(count: int, visit: Callable[[int], None]) -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(visit, range(count)))


def _silent(target: Target, scale: float) -> Iterator[None]:
    """Connections that send nothing."""
    yield
    for _ in range(int(3_000 * scale)):
        target.connect_tls()
    served(target)


def _half_handshakes(target: Target, scale: float) -> Iterator[None]:
    """The first half of a ClientHello, and no more."""
    hello = client_hello()
    yield
    for _ in range(int(3_000 * scale)):
        sock = target.connect_tls()
        with suppress(OSError):
            sock.sendall(hello[: len(hello) // 2])
            target.sent_bytes += len(hello) // 2
    served(target)


def _hellos(target: Target, scale: float) -> Iterator[None]:
    """A whole ClientHello, which costs the server a signature and the client nothing; then another connection."""
    hello = client_hello()
    yield

    def visit(_: int) -> None:
        with suppress(OSError), socket.create_connection(target.tls_address, timeout=30) as sock:
            sock.sendall(hello)
            sock.recv(1)

    in_threads(int(5_000 * scale), visit)
    target.sent_bytes += len(hello) * int(5_000 * scale)
    served(target)


def _handshakes(target: Target, scale: float) -> Iterator[None]:
    """Whole handshakes, one after the other, from many clients at a time."""
    context = authority().client_context()
    yield

    def visit(_: int) -> None:
        with (
            suppress(OSError, ssl.SSLError),
            socket.create_connection(target.tls_address, timeout=30) as sock,
            context.wrap_socket(sock, server_hostname="127.0.0.1"),
        ):
            return

    in_threads(int(2_000 * scale), visit)
    served(target)


def _byte_by_byte(target: Target, scale: float) -> Iterator[None]:
    hello = client_hello()
    socks = [target.connect_tls() for _ in range(max(int(100 * scale), 2))]
    yield
    for sock in socks:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in hello:
        for sock in socks:
            with suppress(OSError):
                sock.send(bytes([byte]))
    target.sent_bytes += len(hello) * len(socks)
    served(target)


def _nonsense(target: Target, scale: float) -> Iterator[None]:
    """Plain text, and records of TLS that are none."""
    hello = client_hello()
    kinds = (b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\x0a" * 100, hello[:5] + b"\xff" * 512, hello + b"\x17\x03\x03\xff\xff")
    yield

    def visit(number: int) -> None:
        with suppress(OSError), socket.create_connection(target.tls_address, timeout=30) as sock:
            sock.sendall(kinds[number % len(kinds)])
            sock.recv(1)

    in_threads(int(3_000 * scale), visit)
    served(target)


def _tiny_records(target: Target, scale: float) -> Iterator[None]:
    """Requests in records of one byte each."""
    count = int(2_000 * scale) + 1
    context = authority().client_context()
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    sock = target.connect_tls()
    while True:
        try:
            client.do_handshake()
            break
        except ssl.SSLWantReadError:
            sock.sendall(outgoing.read())
            incoming.write(sock.recv(65536))
    request = bytes.fromhex("0000000a0012000000000001ffff")
    for byte in request * count:
        client.write(bytes([byte]))
    data = outgoing.read()
    yield
    sock.sendall(data)
    target.sent_bytes += len(data)
    served(target)


def _commands(command: bytes, count: int, *options: str) -> Callable[[Target, float], Iterator[None]]:
    """What `openssl s_client` does when it reads this line, again and again: it takes one with each read."""

    def steps(target: Target, scale: float) -> Iterator[None]:
        host, port = target.tls_address
        client = ["openssl", "s_client", "-connect", f"{host}:{port}", *options]
        yield
        process = subprocess.Popen(client, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None and stdout is not None
        while b"Verify return code" not in stdout.readline():
            continue
        threading.Thread(target=stdout.read, daemon=True).start()
        with suppress(BrokenPipeError):  # the server may refuse, and the client end
            for _ in range(max(int(count * scale), 2)):
                stdin.write(command)
                stdin.flush()
                time.sleep(PAUSE_SECONDS)
        served(target)
        process.kill()
        process.wait()
        with suppress(BrokenPipeError):
            stdin.close()

    return steps


ATTACKS = (
    Attack("3,000 connections with TLS that send nothing", _silent),
    Attack("3,000 half handshakes", _half_handshakes),
    Attack("5,000 connections that begin a handshake and go", _hellos),
    Attack("2,000 handshakes, 32 at a time", _handshakes),
    Attack("100 handshakes byte by byte", _byte_by_byte),
    Attack("3,000 connections with what is no TLS", _nonsense),
    Attack("2,000 requests in records of one byte", _tiny_records),
    Attack("1,000 renegotiations of TLS 1.2", _commands(b"R\n", 1_000, "-tls1_2")),
    Attack("5,000 updates of the keys of TLS 1.3", _commands(b"K\n", 5_000, "-tls1_3")),
)
