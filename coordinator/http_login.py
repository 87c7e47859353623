"""The login of an HTTP port: an ASGI middleware that asks for a user and password, or for a token."""

import binascii
import hashlib
import hmac
from base64 import b64decode
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterable, MutableMapping
from pathlib import Path
from time import monotonic
from typing import Any, Final

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

UNAUTHORIZED: Final = 401
TOO_MANY_REQUESTS: Final = 429
FAILURES_AT_ONCE: Final = 5
"""Failed logins of an address at once; then one a second, whatever it sends."""
ADDRESSES_MAX: Final = 1_000
"""Addresses whose failures are remembered; the oldest is forgotten for a new one."""
CREDENTIALS_BYTES_MAX: Final = 4_096


class LoginFileError(ValueError):
    """The file of logins cannot be used. The message is one line, without anything of its content."""


class Logins:
    """Who may come in. Only digests are kept."""

    def __init__(self, users: Iterable[str], tokens: Iterable[str]) -> None:
        """`users` are USER:PASSWORD."""
        self._users = [_digest(user.encode()) for user in users]
        self._tokens = [_digest(token.encode()) for token in tokens]

    @property
    def challenge(self) -> str:
        """The value of WWW-Authenticate."""
        kinds = (
            ('Basic realm="coordinator", charset="UTF-8"', self._users),
            ('Bearer realm="coordinator"', self._tokens),
        )
        return ", ".join(kind for kind, secrets in kinds if secrets)

    def allow(self, authorization: bytes) -> bool:
        """Whether the value of the header Authorization is right. All are compared, in constant time."""
        kind, _, credentials = authorization.partition(b" ")
        if len(credentials) > CREDENTIALS_BYTES_MAX:
            return False
        if kind.lower() == b"bearer":
            return _is_any(credentials.strip(), self._tokens)
        if kind.lower() == b"basic":
            try:
                return _is_any(b64decode(credentials.strip(), validate=True), self._users)
            except binascii.Error:
                return False
        return False


def read_logins(path: Path) -> Logins:
    """Read a file: each line is USER:PASSWORD, or a token, which has no colon. Blank lines and # comments are left out.

    Raises:
        LoginFileError: it cannot be read, or has no login.
    """
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except OSError as problem:
        raise LoginFileError(f"{path}: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise LoginFileError(f"{path}: it is no text in UTF-8") from None
    lines = [line for line in lines if line and not line.startswith("#")]
    for line in lines:
        user, colon, password = line.partition(":")
        if colon and not (user and password):
            raise LoginFileError(f"{path}: a line has no user before the colon, or no password after it")
    if not lines:
        raise LoginFileError(f"{path}: it has no line USER:PASSWORD and no token")
    return Logins([line for line in lines if ":" in line], [line for line in lines if ":" not in line])


class LoginGuard:
    """Responds 401 to a request without the right Authorization, and 429 when an address has failed too often."""

    def __init__(
        self,
        app: Application,
        logins: Logins,
        open_paths: Collection[str] = (),
        seconds: Callable[[], float] = monotonic,
    ) -> None:
        """Those of `open_paths` need no login."""
        self._app = app
        self._logins = logins
        self._open_paths = frozenset(open_paths)
        self._seconds = seconds
        self._failures: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """Address → how many failures count, and when that was."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in self._open_paths:
            await self._app(scope, receive, send)
            return
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        address = (scope.get("client") or ("",))[0]
        if given and self._failed_too_often(address):
            await _reject(send, TOO_MANY_REQUESTS, b"retry-after", b"1", "too many failed logins; try again later\n")
        elif len(given) == 1 and self._logins.allow(given[0]):
            await self._app(scope, receive, send)
        else:
            if given:
                self._count_failure(address)
            challenge = self._logins.challenge.encode()
            await _reject(send, UNAUTHORIZED, b"www-authenticate", challenge, "a login is needed\n")

    def _failed_too_often(self, address: str) -> bool:
        return self._counted(address) > FAILURES_AT_ONCE - 1

    def _counted(self, address: str) -> float:
        count, at = self._failures.get(address, (0.0, 0.0))
        return max(count - (self._seconds() - at), 0.0)

    def _count_failure(self, address: str) -> None:
        self._failures[address] = (self._counted(address) + 1, self._seconds())
        self._failures.move_to_end(address)
        if len(self._failures) > ADDRESSES_MAX:
            self._failures.popitem(last=False)


def _digest(secret: bytes) -> bytes:
    return hashlib.sha256(secret).digest()


def _is_any(secret: bytes, secrets: list[bytes]) -> bool:
    digest = _digest(secret)
    return sum([hmac.compare_digest(digest, secret) for secret in secrets]) > 0


async def _reject(send: Send, status: int, header: bytes, value: bytes, text: str) -> None:
    body = text.encode()
    headers = [
        (header, value),
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", b"%d" % len(body)),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
