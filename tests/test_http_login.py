"""Who may come in at an HTTP port: users with passwords, and tokens."""

import asyncio
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from coordinator.http_login import (
    ADDRESSES_MAX,
    CREDENTIALS_BYTES_MAX,
    FAILURES_AT_ONCE,
    LoginFileError,
    LoginGuard,
    Logins,
    read_logins,
)

LOGINS = Logins(["ops:pass:word", "mönch:geheim"], ["token-1"])


def basic(text: str) -> bytes:
    return b"Basic " + b64encode(text.encode())


class Port:
    """A guarded application, and the time of its clock."""

    def __init__(self, logins: Logins = LOGINS, open_paths: tuple[str, ...] = ()) -> None:
        self.now = 100.0
        self.guard = LoginGuard(self._served, logins, open_paths, lambda: self.now)

    async def _served(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    def ask(self, *authorizations: bytes, path: str = "/", address: str = "10.0.0.1") -> int:
        return self.answer(*authorizations, path=path, address=address)[0]

    def answer(
        self, *authorizations: bytes, path: str = "/", address: str = "10.0.0.1"
    ) -> tuple[int, dict[bytes, bytes]]:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [(b"authorization", authorization) for authorization in authorizations]
        scope = {"type": "http", "path": path, "headers": headers, "client": (address, 1)}
        asyncio.run(self.guard(scope, None, send))  # type: ignore[arg-type]
        return sent[0]["status"], dict(sent[0]["headers"])


@pytest.mark.parametrize(
    "authorization",
    [
        basic("ops:pass:word"),
        basic("mönch:geheim"),
        b"Bearer token-1",
        b"bearer  token-1",
        b"BASIC " + basic("ops:pass:word")[6:],
    ],
)
def test_a_right_login_comes_in(authorization):
    assert Port().ask(authorization) == 200


@pytest.mark.parametrize(
    "authorization",
    [
        b"",
        b"Basic",
        b"Basic !!!",
        basic("ops:wrong"),
        basic("other:pass:word"),
        basic(""),
        basic("token-1"),
        b"Bearer ops:pass:word",
        b"Bearer token-2",
        b"Bearer ",
        b"Digest token-1",
        b"token-1",
        b"Bearer " + b"x" * (CREDENTIALS_BYTES_MAX + 1),
    ],
)
def test_a_wrong_login_does_not(authorization):
    status, headers = Port().answer(authorization)
    assert status == 401
    assert headers[b"www-authenticate"] == b'Basic realm="coordinator", charset="UTF-8", Bearer realm="coordinator"'


def test_two_logins_at_once_do_not_come_in():
    assert Port().ask(b"Bearer token-1", b"Bearer token-1") == 401


def test_a_challenge_names_what_there_is():
    assert Logins([], ["t"]).challenge == 'Bearer realm="coordinator"'
    assert Logins(["a:b"], []).challenge == 'Basic realm="coordinator", charset="UTF-8"'


def test_open_paths_need_no_login():
    port = Port(open_paths=("/healthz",))
    assert [port.ask(path=path) for path in ("/healthz", "/healthz/", "/metrics")] == [200, 401, 401]


def test_after_some_failures_an_address_has_to_wait():
    port = Port()
    for _ in range(FAILURES_AT_ONCE):
        assert port.ask(b"Bearer wrong") == 401
    assert port.answer(b"Bearer wrong") == (429, port.answer(b"Bearer token-1")[1])
    assert port.ask(b"Bearer token-1") == 429, "also a right one, which may be a guess"
    assert port.ask() == 401, "who sends none has not guessed"
    assert port.ask(b"Bearer token-1", address="10.0.0.2") == 200
    port.now += 1
    assert port.ask(b"Bearer wrong") == 401
    assert port.ask(b"Bearer wrong") == 429
    port.now += 60
    assert port.ask(b"Bearer token-1") == 200


def test_failures_of_so_many_addresses_are_remembered():
    port = Port()
    for number in range(ADDRESSES_MAX + 10):
        port.ask(b"Bearer wrong", address=str(number))
    assert len(port.guard._failures) == ADDRESSES_MAX


def write(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "logins"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_file_has_users_and_tokens(tmp_path):
    logins = read_logins(write(tmp_path, "# comment\n\n ops:pass:word \ntoken-1\n"))
    assert logins.allow(basic("ops:pass:word"))
    assert logins.allow(b"Bearer token-1")
    assert not logins.allow(b"Bearer # comment")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it has no line USER:PASSWORD and no token"),
        ("# only:this", "it has no line USER:PASSWORD and no token"),
        (":secret", "a line has no user before the colon"),
        ("secret:", "a line has no user before the colon, or no password after it"),
        (b"\xff", "it is no text in UTF-8"),
    ],
)
def test_a_file_that_cannot_be_used_is_reported_without_its_content(tmp_path, text, message):
    with pytest.raises(LoginFileError) as raised:
        read_logins(write(tmp_path, text))
    assert message in str(raised.value)
    assert "secret" not in str(raised.value)


def test_a_file_that_is_missing_is_reported(tmp_path):
    with pytest.raises(LoginFileError, match="No such file or directory"):
        read_logins(tmp_path / "none")
