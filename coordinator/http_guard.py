"""Which web pages may reach an HTTP port: an ASGI middleware that checks the headers Host and Origin.

A page of any site can make the browser send requests to 127.0.0.1, and can read the responses if its own name resolves
to that address (DNS rebinding). The browser then sends the name of the site as Host, and the site as Origin.
"""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Final
from urllib.parse import urlsplit

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

FORBIDDEN: Final = 403
LOCALHOST: Final = "localhost"
SHOWN_CHARACTERS_MAX: Final = 100


class HttpGuard:
    """Responds 403 to a request with a Host that is not allowed, or with the Origin of another site.

    Bound to a loopback address, the names of loopback (localhost, 127.0.0.0/8, ::1) and the given ones are allowed as
    Host, with any port. Bound to another address, any Host is allowed, unless names are given: then those, names of
    loopback, and all IP addresses, because a page cannot be loaded under the address of another server.
    """

    def __init__(self, app: Application, bound_host: str, names: Iterable[str], setting: str) -> None:
        """`names` are further names of hosts, without a port. `setting` is where a user adds one, for the response."""
        self._app = app
        self._names = frozenset(filter(None, (_normal(name) for name in names)))
        self._setting = setting
        self._is_loopback = is_loopback(bound_host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = self._problem(scope["headers"]) if scope["type"] == "http" else ""
        if problem:
            await _reject(problem, send)
        else:
            await self._app(scope, receive, send)

    def _problem(self, headers: Iterable[tuple[bytes, bytes]]) -> str:
        """Why a request is rejected, as one sentence that says what to set; empty if it is not."""
        hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
        origins = [value.decode("latin-1") for name, value in headers if name == b"origin"]
        for host in hosts:
            if not self._is_allowed_host(_name_of(host)):
                return f"the host {_shown(host)} is not allowed; to allow it, add it to {self._setting}"
        for origin in origins:
            authority = _authority_of(origin)
            if authority is None or (authority not in map(str.lower, hosts) and _name_of(authority) not in self._names):
                return f"the origin {_shown(origin)} is not allowed; to allow it, add its host to {self._setting}"
        return ""

    def _is_allowed_host(self, name: str) -> bool:
        if name in self._names or is_loopback(name):
            return True
        return not self._is_loopback and (not self._names or _address(name) is not None)


def is_loopback(host: str) -> bool:
    """Whether this is localhost or an address of 127.0.0.0/8 or ::1, which may be in brackets."""
    name = _normal(host)
    address = _address(name)
    return name == LOCALHOST if address is None else address.is_loopback


def parse_names(text: str) -> list[str]:
    """The names of a comma-separated list."""
    return [name for name in (part.strip() for part in text.split(",")) if name]


def _authority_of(origin: str) -> str | None:
    """HOST or HOST:PORT of an Origin in lower case; None if it is opaque ("null") or not of the form SCHEME://HOST."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return None
    return parts.netloc.lower() if parts.scheme in ("http", "https") and parts.netloc else None


def _name_of(authority: str) -> str:
    """The name or the address of HOST, HOST:PORT or [ADDRESS]:PORT."""
    host, colon, port = authority.rpartition(":")
    has_port = bool(colon) and (port.isdecimal() or not port) and (":" not in host or host.endswith("]"))
    return _normal(host if has_port else authority)


def _normal(name: str) -> str:
    return name.strip().removeprefix("[").removesuffix("]").removesuffix(".").lower()


def _address(name: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(name)
    except ValueError:
        return None


def _shown(text: str) -> str:
    return repr(text[:SHOWN_CHARACTERS_MAX])


async def _reject(problem: str, send: Send) -> None:
    body = f"{problem}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": FORBIDDEN, "headers": headers})
    await send({"type": "http.response.body", "body": body})
