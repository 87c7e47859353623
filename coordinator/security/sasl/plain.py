"""PLAIN (RFC 4616): user and password as they are (Kafka's PlainSaslServer)."""

import hmac
from collections.abc import Mapping
from typing import Final

from coordinator.security.sasl.exchange import LoggedIn, login_failure

PARTS: Final = 3
"""Authorization id, user, password."""
PARTS_COUNTED: Final = 4
"""Kafka stops to look for more."""
NO_PASSWORD: Final = "\0"
"""What is compared for unknown users. No client can send it: it ends a part."""


class Plain:
    """PLAIN with these users and passwords."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._passwords = passwords

    def exchange(self) -> "PlainExchange":
        return PlainExchange(self._passwords)


class PlainExchange:
    """One message of the client is all there is."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._passwords = passwords
        self.user = ""

    def evaluate(self, response: bytes) -> LoggedIn:
        parts = response.decode(errors="replace").split("\0", PARTS_COUNTED - 1)
        if len(parts) != PARTS:
            raise login_failure(f"Invalid SASL/PLAIN response: expected {PARTS} tokens, got {len(parts)}")
        authorization_id, self.user, password = parts
        if not self.user:
            raise login_failure("Authentication failed: username not specified")
        if not password:
            raise login_failure("Authentication failed: password not specified")
        expected = self._passwords.get(self.user, NO_PASSWORD)
        if not hmac.compare_digest(expected.encode(errors="surrogatepass"), password.encode()):
            raise login_failure("Authentication failed: Invalid username or password")
        if authorization_id not in ("", self.user):
            raise login_failure(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        return LoggedIn(b"", self.user)
