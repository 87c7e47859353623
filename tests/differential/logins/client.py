"""A client that says whatever a conversation wants before, during and after its login, and notes what it is told."""

import base64
import json
import re
import socket
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import scramp
from joserfc import jwt
from joserfc.jwk import Key

from _wire.apis import APIS
from _wire.headers import decode_response_header, encode_request
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.metadata import MetadataRequest
from _wire.messages.sasl_authenticate import SaslAuthenticateRequest
from _wire.messages.sasl_handshake import SaslHandshakeRequest
from _wire.structs import Message
from coordinator.client.wire import ClientError, ConnectionClosed, WireConnection

LENGTH_BYTES: Final = 4
OPEN_SECONDS: Final = 1.0
"""After so long a connection is not about to be closed."""
SERVER_FIRST: Final = re.compile(rb"r=(?P<nonce>[^,]+),s=(?P<salt>[^,]+),i=(?P<iterations>\d+)")
LIFETIME_STEP_MS: Final = 10_000
"""How exactly lifetimes are compared: those of tokens depend on when they are checked."""

SESSION_MS: Final = 2_500
"""`connections.max.reauth.ms` of the listener with short sessions."""

ISSUER: Final = "https://issuer.test"
AUDIENCE: Final = "kafka"


class LoginClient:
    """One conversation. `said` has what the server said, a line for each thing."""

    def __init__(self, bootstrap: str, keys: Mapping[str, Key]) -> None:
        self._bootstrap = bootstrap
        self.keys = keys
        self._wire = WireConnection(bootstrap, "logins")
        self._wire.socket.settimeout(10)
        self.said: list[str] = []
        self._correlation_id = 100

    def __enter__(self) -> "LoginClient":
        return self

    def __exit__(self, *problem: object) -> None:
        self._wire.socket.close()

    @property
    def socket(self) -> socket.socket:
        return self._wire.socket

    # -------------------------------------------------------------------------------------------------------- requests

    def request(self, message: Message, version: int, show: Callable[[Any], str] | None = None) -> Any:
        """Send a request; note the response, or that the connection was closed. Returns the response or None."""
        self._correlation_id += 1
        return self.frame(encode_request(self._correlation_id, "logins", message, version)[LENGTH_BYTES:], show)

    def frame(self, frame: bytes, show: Callable[[Any], str] | None = None) -> Any:
        """Send a request as it is; its first four bytes say what it is."""
        api_key, version = int.from_bytes(frame[:2], "big"), int.from_bytes(frame[2:4], "big")
        answer = self.exchange(frame)
        if answer is None:
            return None
        correlation_id, body = decode_response_header(answer, api_key, version)
        assert correlation_id == int.from_bytes(frame[4:8], "big"), (correlation_id, frame)
        response = APIS[api_key].response.decode(answer, version, body)
        self.said.append((show or shown)(response))
        return response

    def exchange(self, frame: bytes) -> bytes | None:
        """Send a frame and read the next one; None, and noted, if the connection was closed."""
        return self.send_bytes(len(frame).to_bytes(LENGTH_BYTES, "big") + frame)

    def send_bytes(self, data: bytes) -> bytes | None:
        try:
            self.socket.sendall(data)
            return self._wire.read_frame()
        except (ConnectionClosed, OSError):
            self.said.append("closed")
        except ClientError:
            self.said.append("no answer")
        return None

    def ends(self) -> None:
        """Note that the connection is closed, or that it is not."""
        self.socket.settimeout(OPEN_SECONDS)
        try:
            more = self.socket.recv(1)
        except TimeoutError:
            self.said.append("stays open")
        except ConnectionResetError:
            self.said.append("closed")
        else:
            self.said.append("says more" if more else "closed")
        self.socket.settimeout(10)

    def works(self) -> None:
        """Note whether a request is served."""
        self.request(MetadataRequest(topics=[]), 8, lambda response: "served")

    # ---------------------------------------------------------------------------------------------------------- logins

    def api_versions(self, version: int = 3, name: str = "logins") -> None:
        message = ApiVersionsRequest(client_software_name=name, client_software_version="1")
        self.request(message, version, lambda response: f"ApiVersions {response.error_code}")

    def handshake(self, mechanism: str, version: int = 1) -> Any:
        return self.request(SaslHandshakeRequest(mechanism=mechanism), version)

    def authenticate(self, data: bytes, version: int = 2) -> Any:
        return self.request(SaslAuthenticateRequest(auth_bytes=data), version)

    def plain(self, user: str, password: str, version: int = 2) -> None:
        self.handshake("PLAIN")
        self.authenticate(f"\0{user}\0{password}".encode(), version)

    def scram(self, user: str, password: str, mechanism: str = "SCRAM-SHA-256", change: "Change | None" = None) -> None:
        """Log in as a client of the library does, with its messages as `change` makes them."""
        change = change or (lambda number, message: message)
        peer = scramp.ScramClient([mechanism], user, password)
        self.handshake(mechanism)
        first = self.authenticate(change(1, peer.get_client_first().encode()))
        if first is None or first.error_code:
            return
        peer.set_server_first(bytes(first.auth_bytes).decode())
        self.authenticate(change(2, peer.get_client_final().encode()))

    def oauth(self, token: str, *, authorization_id: str = "", extensions: str = "") -> None:
        self.handshake("OAUTHBEARER")
        named = f"a={authorization_id}" if authorization_id else ""
        self.authenticate(f"n,{named},\x01auth=Bearer {token}\x01{extensions}\x01".encode())

    def token(
        self, key: str = "r1", algorithm: str = "RS256", *, header: dict[str, Any] | None = None, **claims: Any
    ) -> str:
        """A signed token that is right, but for what is given here; a claim that is None is left out."""
        now = int(time.time())
        said = {"sub": "alice", "iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + 3600} | claims
        kept = {name: value for name, value in said.items() if value is not None}
        protected = {"alg": algorithm, "kid": key} | (header or {})
        protected = {name: value for name, value in protected.items() if value is not None}
        return jwt.encode(protected, kept, self.keys[key], algorithms=[algorithm])


Change = Callable[[int, bytes], bytes]
"""(number of the message, message) → the message that is sent in its place."""


def shown(response: Any) -> str:
    """A response in one line, without what differs each time."""
    fields = {
        name: _shown_value(name, getattr(response, name))
        for name in type(response).FIELDS
        if name not in ("throttle_time_ms", "results")
    }
    if hasattr(response, "results"):
        fields["results"] = sorted(_shown_struct(result) for result in response.results)
    return f"{type(response).__name__} {json.dumps(fields)}"


def _shown_struct(struct: Any) -> str:
    return json.dumps({name: _shown_value(name, getattr(struct, name)) for name in type(struct).FIELDS})


def _shown_value(name: str, value: Any) -> Any:
    if name == "session_lifetime_ms" and value and value != SESSION_MS:
        return f"about {round(value / LIFETIME_STEP_MS) * 10} s"
    if isinstance(value, bytes | bytearray | memoryview):
        return _shown_bytes(bytes(value))
    if name == "mechanisms":
        return sorted(value)  # Kafka's order is that of a hash map
    if isinstance(value, list):
        return [_shown_value("", each) if not hasattr(each, "FIELDS") else _shown_struct(each) for each in value]
    return value


def _shown_bytes(data: bytes) -> str:
    if first := SERVER_FIRST.fullmatch(data):
        return f"r=…,s={len(base64.b64decode(first['salt']))} bytes,i={int(first['iterations'])}"
    if data.startswith(b"v="):
        return f"v={len(base64.b64decode(data[2:]))} bytes"
    return data.decode()
