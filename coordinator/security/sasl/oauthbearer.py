"""OAUTHBEARER (RFC 7628): a signed token in place of a password (Kafka's OAuthBearerSaslServer)."""

import re
from typing import Final

from coordinator.security.sasl.exchange import Challenge, LoggedIn, LoginFailed, login_failure
from coordinator.security.sasl.tokens import InvalidToken, TokenValidator

NAME: Final = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
CLIENT_FIRST: Final = re.compile(
    rf"n,(?:a=(?P<authorization_id>{NAME}))?,\x01(?P<pairs>(?:[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01)*)\x01"
)
AUTH: Final = re.compile(r"(?P<scheme>[a-zA-Z_0-9]+) +(?P<token>[-_~+/.a-zA-Z0-9]+=*)")
REFUSED_SCHEME: Final = "the scheme is not Bearer"
INVALID_TOKEN: Final = '{"status":"invalid_token"}'
MESSAGE_BYTES_MAX: Final = 131_072
"""No token has so many. Longer ones take milliseconds to match."""
REFUSALS_MAX: Final = 3
"""How often a client may try another token, each of which costs the check of a signature. Kafka has no limit."""
CONTROL_A: Final = b"\x01"
"""How a client answers the challenge that tells it of an error."""


class OAuthBearer:
    """OAUTHBEARER with tokens that a validator accepts."""

    def __init__(self, validator: TokenValidator) -> None:
        self._validator = validator

    def exchange(self) -> "OAuthBearerExchange":
        return OAuthBearerExchange(self._validator)


class OAuthBearerExchange:
    """One message with a token. If it is refused, a challenge says so, and the client ends the login."""

    def __init__(self, validator: TokenValidator) -> None:
        self._validator = validator
        self._refused: str | None = None
        self._refusals = 0
        self.user = ""

    def evaluate(self, response: bytes) -> Challenge | LoggedIn:
        if self._refused is not None and response == CONTROL_A:
            raise LoginFailed(f"the token is refused: {self._refused}", INVALID_TOKEN)
        self._refused = None
        if len(response) > MESSAGE_BYTES_MAX:
            return self._refuse(f"it has {len(response)} bytes, more than {MESSAGE_BYTES_MAX}")
        first = CLIENT_FIRST.fullmatch(response.decode(errors="replace"))
        if first is None:
            raise LoginFailed("the first message of the client is invalid")
        try:
            token = self._validator.validate(_token_of(first["pairs"]))
        except InvalidToken as problem:
            return self._refuse(str(problem))
        self.user = token.user
        if first["authorization_id"] not in (None, token.user):
            raise login_failure(
                f"Authentication failed: Client requested an authorization id ({first['authorization_id']}) that is "
                f"different from the token's principal name ({token.user})"
            )
        return LoggedIn(b"", token.user, token.expires_ms)

    def _refuse(self, reason: str) -> Challenge:
        self._refusals += 1
        if self._refusals > REFUSALS_MAX:
            raise LoginFailed(f"{self._refusals} tokens are refused: {reason}", INVALID_TOKEN)
        self._refused = reason
        return Challenge(INVALID_TOKEN.encode())


def _token_of(pairs: str) -> str:
    """The token in `auth`; the other pairs are extensions, which nobody needs here."""
    found = dict(pair.split("=", 1) for pair in pairs.split("\x01") if pair)
    if "auth" not in found:
        raise LoginFailed("the first message of the client has no token")
    auth = AUTH.fullmatch(found["auth"])
    if auth is None:
        raise LoginFailed("the first message of the client has no valid token")
    if auth["scheme"].lower() != "bearer":
        raise LoginFailed(REFUSED_SCHEME)
    return auth["token"]
