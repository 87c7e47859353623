"""The client's side of the SASL mechanisms: what it sends next, given what the server sent."""

from collections.abc import Generator
from pathlib import Path
from typing import Any, Protocol

from coordinator.extras import needs

Exchange = Generator[bytes, bytes, None]
"""Yields the messages of the client, and is sent those of the server. It ends when the client has nothing to send."""


class LoginError(Exception):
    """A login cannot go on. The message is one line, without a secret."""


class Login(Protocol):
    """The credentials of a client."""

    @property
    def mechanism(self) -> str:
        """Kafka's name of the SASL mechanism."""

    @property
    def who(self) -> str:
        """Who logs in, for error messages."""

    def exchange(self) -> Exchange:
        """A new exchange. Raises LoginError, also when it goes on."""


class PlainLogin:
    """PLAIN (RFC 4616)."""

    mechanism = "PLAIN"

    def __init__(self, username: str, password: str) -> None:
        self.who = username
        self.password = password

    def exchange(self) -> Exchange:
        yield f"\0{self.who}\0{self.password}".encode()


class ScramLogin:
    """SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802). The server proves that it knows the password, too."""

    def __init__(self, mechanism: str, username: str, password: str) -> None:
        self.mechanism = mechanism
        self.who = username
        self.password = password

    def exchange(self) -> Exchange:
        try:
            from scramp import ScramClient, ScramException
        except ModuleNotFoundError as missing:
            raise LoginError(needs(self.mechanism, missing)) from None
        try:
            client: Any = ScramClient([self.mechanism], self.who, self.password)
            client.set_server_first((yield client.get_client_first().encode()).decode())
            client.set_server_final((yield client.get_client_final().encode()).decode())
        except (ScramException, UnicodeDecodeError) as problem:
            raise LoginError(f"the server sent an invalid message of {self.mechanism}: {problem}") from None


class TokenLogin:
    """OAUTHBEARER (RFC 7628) with a token in a file, which is read for each connection, as it may be replaced."""

    mechanism = "OAUTHBEARER"

    def __init__(self, token_file: Path) -> None:
        self.who = f"the token of {token_file}"
        self._token_file = token_file

    def exchange(self) -> Exchange:
        try:
            token = self._token_file.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as problem:
            raise LoginError(f"cannot read the token in {self._token_file}: {problem}") from None
        if (yield f"n,,\x01auth=Bearer {token}\x01\x01".encode()):
            # The server says why it does not accept the token, and waits for this byte before its error.
            yield b"\x01"
