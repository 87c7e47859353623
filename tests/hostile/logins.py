"""Attacks on logins: half ones, slow ones, floods of failures, huge messages, expensive proofs."""

import socket
from collections.abc import Iterator
from typing import Final

from _wire.headers import encode_request
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.metadata import MetadataRequest
from _wire.messages.sasl_authenticate import SaslAuthenticateRequest
from _wire.messages.sasl_handshake import SaslHandshakeRequest
from _wire.structs import Message
from tests.hostile.attack import Attack
from tests.hostile.target import Target
from tests.waiting import wait_for

RECEIVE_MAX: Final = 524_288
"""`sasl.server.max.receive.size`."""
LENGTH_BYTES: Final = 4
SCRAM: Final = "SCRAM-SHA-256"
OAUTH: Final = "OAUTHBEARER"


def _frame(message: Message, version: int) -> bytes:
    return encode_request(1, "attacker", message, version)


def _handshake(mechanism: str) -> bytes:
    return _frame(SaslHandshakeRequest(mechanism=mechanism), 1)


def _authenticate(data: bytes) -> bytes:
    return _frame(SaslAuthenticateRequest(auth_bytes=data), 2)


def _send(target: Target, connection: socket.socket, data: bytes) -> bool:
    """Send, as far as the server takes it; False when it has closed the connection."""
    target.sent_bytes += len(data)
    try:
        connection.sendall(data)
    except OSError:
        return False
    return True


def _read_all(connections: list[socket.socket]) -> None:
    """Read until the server has closed them."""
    for connection in connections:
        try:
            while connection.recv(1 << 16):
                pass
        except OSError:
            pass
        connection.close()


def _half_logins(target: Target, scale: float) -> Iterator[None]:
    """Connections that stop after SaslHandshake: they cost what a connection costs, until their time is over."""
    yield
    made = [target.connect_sasl() for _ in range(int(5_000 * scale))]
    for each in made:
        _send(target, each, _handshake(SCRAM))
    for each in made:
        each.close()


def _slow_logins(target: Target, scale: float) -> Iterator[None]:
    """A byte at a time."""
    yield
    data = _handshake("PLAIN") + _authenticate(b"\0mallory\0x")
    made = [target.connect_sasl() for _ in range(int(500 * scale) or 1)]
    for position in range(len(data)):
        for each in made:
            _send(target, each, data[position : position + 1])
    _read_all(made)


def _failed_logins(target: Target, scale: float) -> Iterator[None]:
    """Passwords that are tried: each attempt costs a connection and the delay of its answer."""
    yield
    for _ in range(int(20 * scale) or 1):
        made = [target.connect_sasl() for _ in range(200)]
        for number, each in enumerate(made):
            _send(target, each, _handshake("PLAIN") + _authenticate(f"\0alice\0{number}".encode()))
        _read_all(made)


def _huge_messages(target: Target, scale: float) -> Iterator[None]:
    """The largest messages that are taken before a login, in all mechanisms."""
    yield
    room = RECEIVE_MAX - 100
    messages = (
        ("PLAIN", b"\0" * room),
        ("PLAIN", b"\0" + b"\xff" * room),
        (SCRAM, b"n,,n=" + b"=2C" * (room // 3 - 10) + b",r=a"),
        (SCRAM, b"n,,n=a,r=a" + b",a=b" * (room // 4 - 10)),
        (SCRAM, b"n,,n=a,r=" + b"a" * (room - 20)),
        (OAUTH, b"n,,\x01auth=Bearer " + b"a" * (room - 20) + b"\x01\x01"),
        (OAUTH, b"n,,\x01auth=Bearer " + b"a." * (room // 2 - 20) + b"\x01\x01"),
        (OAUTH, b"n,,\x01" + b"a=b\x01" * (room // 4 - 10) + b"\x01"),
        (OAUTH, b"n,,\x01auth=" + b"Bearer " * (room // 7 - 10) + b"\x01\x01"),
    )
    for _ in range(int(50 * scale) or 1):
        made = []
        for mechanism, message in messages:
            connection = target.connect_sasl()
            _send(target, connection, _handshake(mechanism) + _authenticate(message) + _authenticate(b"\x01"))
            made.append(connection)
        _read_all(made)


def _tokens_of_unknown_keys(target: Target, scale: float) -> Iterator[None]:
    """Each would have the keys read again, if a thread did that as often as it is asked to."""
    yield
    token = "eyJhbGciOiJFUzI1NiIsImtpZCI6InVua25vd24ifQ.eyJzdWIiOiJhbGljZSJ9.AAAA"  # {"alg":"ES256","kid":"unknown"}
    message = _authenticate(f"n,,\x01auth=Bearer {token}\x01\x01".encode())
    for _ in range(int(10 * scale) or 1):
        connection = target.connect_sasl()
        _send(target, connection, _handshake(OAUTH) + message * 200 + _authenticate(b"\x01"))
        _read_all([connection])


def _large_requests_before_the_login(target: Target, scale: float) -> Iterator[None]:
    """Requests that a client may send after its login: none of them is served, and none is decoded first."""
    yield
    connections = []
    metadata = _frame(MetadataRequest(topics=None), 8)
    for _ in range(int(200 * scale) or 1):
        connection = target.connect_sasl()
        _send(target, connection, metadata * 1_000)
        connections.append(connection)
    _read_all(connections)


def _announced_frames(target: Target, scale: float) -> Iterator[None]:
    """Lengths of 512 KiB, and all of it but the last byte."""
    yield
    connections = []
    for _ in range(int(300 * scale) or 1):
        connection = target.connect_sasl()
        _send(target, connection, RECEIVE_MAX.to_bytes(LENGTH_BYTES, "big") + bytes(RECEIVE_MAX - 1))
        connections.append(connection)
    for each in connections:
        each.close()


def _logins_of_unknown_users(target: Target, scale: float) -> Iterator[None]:
    """Names that would move a cursor or break a line fill the log: it has few lines a second for an address."""
    yield
    for _ in range(int(20 * scale) or 1):
        made = [target.connect_sasl() for _ in range(100)]
        for number, each in enumerate(made):
            _send(target, each, _handshake("PLAIN") + _authenticate(b"\0\x1b[2J\n" + b"\xff" * number + b"\0x"))
        _read_all(made)
    wait_for(lambda: "login failed" in target.logged, 10, "a line of the log")
    assert "\x1b" not in target.logged


def _pipelined_api_versions(target: Target, scale: float) -> Iterator[None]:
    """Only the first is answered."""
    yield
    ask = _frame(ApiVersionsRequest(client_software_name="a", client_software_version="1"), 3)
    connections = []
    for _ in range(int(200 * scale) or 1):
        connection = target.connect_sasl()
        _send(target, connection, ask * 1_000)
        connections.append(connection)
    _read_all(connections)


ATTACKS: Final = (
    Attack("5,000 logins that stop half-way", _half_logins),
    Attack("500 logins, a byte at a time", _slow_logins),
    Attack("4,000 wrong passwords", _failed_logins),
    Attack("450 messages of logins of 512 KiB", _huge_messages),
    Attack("2,000 tokens of unknown keys", _tokens_of_unknown_keys),
    Attack("200,000 requests before the login", _large_requests_before_the_login),
    Attack("300 frames of 512 KiB before the login, but the last byte", _announced_frames),
    Attack("2,000 logins with names that are no text", _logins_of_unknown_users),
    Attack("200,000 ApiVersions before the login", _pipelined_api_versions),
)
