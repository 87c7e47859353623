"""What all SASL mechanisms have in common: one exchange of messages, and how it ends (Java's SaslServer)."""

from typing import Protocol

import msgspec


class LoginFailed(Exception):
    """A client did not prove who it is.

    `message` is what the client is told; None: only that its credentials are invalid, as the reason would say whether a
    user exists. The text of the exception is for the log, and has no secret.
    """

    def __init__(self, reason: str, message: str | None = None) -> None:
        super().__init__(reason)
        self.message = message


def login_failure(reason: str) -> LoginFailed:
    """A failure whose reason the client may know (Kafka's SaslAuthenticationException)."""
    return LoginFailed(reason, reason)


class Challenge(msgspec.Struct, frozen=True):
    """A message to the client, which has to answer it."""

    data: bytes


class LoggedIn(msgspec.Struct, frozen=True):
    """The end of an exchange that succeeded."""

    data: bytes
    """The last message to the client."""
    user: str
    """The name of the principal."""
    expires_ms: int | None = None
    """The wall time at which the credential expires; None: never."""


class Exchange(Protocol):
    """The server's side of one login. It is used up when it has succeeded or failed."""

    @property
    def user(self) -> str:
        """Who the client says it is, for the log; empty if it has not said so yet."""
        ...

    def evaluate(self, response: bytes) -> Challenge | LoggedIn:
        """Evaluate the next message of the client.

        Raises:
            LoginFailed: the login is over.
        """
        ...


class Mechanism(Protocol):
    """A SASL mechanism of a listener."""

    def exchange(self) -> Exchange:
        """Begin a login."""
        ...
