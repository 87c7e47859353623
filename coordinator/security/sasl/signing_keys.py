"""The public keys of who signs tokens: a JWKS (RFC 7517), read again by a thread, never by who needs a key.

As Kafka's RefreshingHttpsJwks: an unknown key id has the keys read earlier than planned, and its token is refused
meanwhile.
"""

import json
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from time import monotonic
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import msgspec
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, Key

from coordinator.logger import logger

KEY_TYPES: Final = ("RSA", "EC", "OKP")
"""Keys that have a public part. A symmetric key would let everybody sign who can read the set."""
SET_BYTES_MAX: Final = 1 << 20
KEYS_MAX: Final = 1_000
TIMEOUT_SECONDS: Final = 10
UNKNOWN_KEY_INTERVAL_SECONDS: Final = 10.0
"""How often tokens with unknown keys may have the set read: they may be made up."""
LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")

Load = Callable[[], bytes]


class KeySetError(ValueError):
    """The keys cannot be read. The message is one line."""


class RefreshTimes(msgspec.Struct, frozen=True, kw_only=True):
    """When the keys are read again."""

    refresh_ms: int
    backoff_ms: int
    backoff_max_ms: int


def loader(url: str) -> Load:
    """How to read the key set at a URL. A redirect is not followed: the keys would be those of somebody else.

    Raises:
        KeySetError: the URL is none that keys may come from.
    """
    try:
        parts = urlsplit(url)
        host, path = parts.hostname, unquote(parts.path)
    except ValueError as problem:
        raise KeySetError(str(problem)) from None
    if parts.scheme == "file" and host in (None, "localhost") and path.startswith("/") and "\0" not in path:
        return lambda: _read_file(Path(path))
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and host in LOOPBACK)):
        raise KeySetError(
            "expected https://HOST/PATH or file:///PATH; http:// is allowed on the loopback interface only"
        )
    return lambda: _fetch(url)


def _read_file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(SET_BYTES_MAX + 1)
    except OSError as problem:
        raise KeySetError(f"cannot read {path}: {problem.strerror}") from None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        """Leave the answer as it is, which is an error then."""


def _fetch(url: str) -> bytes:
    https = urllib.request.HTTPSHandler(context=ssl.create_default_context())
    opener = urllib.request.build_opener(https, _NoRedirect())
    try:
        with opener.open(url, timeout=TIMEOUT_SECONDS) as response:
            body: bytes = response.read(SET_BYTES_MAX + 1)
            return body
    except urllib.error.HTTPError as problem:
        raise KeySetError(f"the server answered {problem.code}") from None
    except (OSError, HTTPException, ValueError) as problem:
        raise KeySetError(str(problem) or type(problem).__name__) from None


def parse_keys(data: bytes) -> list[Key]:
    """Parse a JWKS. Keys of other types, or that are damaged, are left out.

    Raises:
        KeySetError: it is no JWKS, or no key of it can be used.
    """
    if len(data) > SET_BYTES_MAX:
        raise KeySetError(f"it has more than {SET_BYTES_MAX} bytes")
    try:
        parsed = json.loads(data)
    except (ValueError, RecursionError):
        raise KeySetError("it is no JSON") from None
    listed = parsed.get("keys") if isinstance(parsed, dict) else None
    if not isinstance(listed, list) or len(listed) > KEYS_MAX:
        raise KeySetError(f"it is no JWKS: an object with a list of at most {KEYS_MAX} `keys`")
    keys = [key for entry in listed if (key := _parse_key(entry)) is not None]
    if not keys:
        raise KeySetError(f"it has no key of type {', '.join(KEY_TYPES)} for signatures")
    return keys


def _parse_key(found: Any) -> Key | None:
    if not isinstance(found, dict) or found.get("kty") not in KEY_TYPES or found.get("use", "sig") != "sig":
        return None
    try:
        return JWKRegistry.import_key(found)
    except (JoseError, ValueError, TypeError, KeyError) as problem:
        logger.warning("JWKS key ignored", key_id=repr(found.get("kid"))[:100], reason=str(problem)[:200])
        return None


class SigningKeys:
    """The keys as they were read last. `find` may be called by any thread, and never waits."""

    def __init__(self, url: str, times: RefreshTimes) -> None:
        """Read the keys, if they are in a file.

        Raises:
            KeySetError: the URL is none that keys may come from, or the file has no keys.
        """
        self._url = url
        self._load = loader(url)
        self._times = times
        self._keys: list[Key] = []
        self._wake = threading.Event()
        self._is_stopped = False
        self._unknown_at = -UNKNOWN_KEY_INTERVAL_SECONDS
        self._thread: threading.Thread | None = None
        if url.startswith("file:"):
            self._keys = parse_keys(self._load())

    def find(self, key_id: str | None, key_type: str) -> Key | None:
        """Find a key; without an id, the first of its type. If there is none, it is looked for beside."""
        for key in self._keys:
            if key.key_type == key_type and key_id in (None, key.kid):
                return key
        now = monotonic()
        if now - self._unknown_at >= UNKNOWN_KEY_INTERVAL_SECONDS:
            self._unknown_at = now
            self._wake.set()
        return None

    def start(self) -> None:
        """Read the keys again and again, in a thread."""
        self._thread = threading.Thread(target=self._run, name="signing-keys", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Let the thread end; a read that is under way is not waited for."""
        self._is_stopped = True
        self._wake.set()

    def refresh(self) -> bool:
        """Read the keys now. If that fails, those that are known stay."""
        try:
            self._keys = parse_keys(self._load())
        except KeySetError as problem:
            logger.error("cannot read the keys for tokens", url=self._url, reason=str(problem), keys=len(self._keys))
            return False
        return True

    def _run(self) -> None:
        wait_ms, backoff_ms = 0 if not self._keys else self._times.refresh_ms, self._times.backoff_ms
        while True:
            self._wake.wait(min(wait_ms / 1000, threading.TIMEOUT_MAX))
            self._wake.clear()
            if self._is_stopped:
                return
            if self.refresh():
                wait_ms, backoff_ms = self._times.refresh_ms, self._times.backoff_ms
            else:
                wait_ms = min(backoff_ms, self._times.backoff_max_ms)
                backoff_ms = wait_ms * 2
