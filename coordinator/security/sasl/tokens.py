"""Checks the signed tokens of OAUTHBEARER (Kafka's BrokerJwtValidator), by the library joserfc."""

from collections.abc import Callable
from typing import Any, Final

import msgspec
from joserfc import jwt
from joserfc.errors import InvalidClaimError, JoseError

from coordinator.security.sasl.signing_keys import SigningKeys

ALGORITHMS: Final = {
    "RS256": "RSA",
    "RS384": "RSA",
    "RS512": "RSA",
    "PS256": "RSA",
    "PS384": "RSA",
    "PS512": "RSA",
    "ES256": "EC",
    "ES384": "EC",
    "ES512": "EC",
    "EdDSA": "OKP",
    "Ed25519": "OKP",
}
"""Algorithm → type of its key. Neither `none` nor an HMAC: who can check one can make it."""
USER_CHARACTERS_MAX: Final = 1_024
"""Kafka has no limit. Names are kept with each connection, and in the audit."""
EXPIRES_SECONDS_MAX: Final = 2**53
"""Up to here a number of JSON is exact."""


class InvalidToken(ValueError):
    """A token is refused. The text says why, for the log, and has nothing of the token but names of claims."""


class TokenRules(msgspec.Struct, frozen=True, kw_only=True):
    """What a token must say."""

    audiences: tuple[str, ...] = ()
    issuer: str = ""
    clock_skew_seconds: int = 30
    user_claim: str = "sub"
    scope_claim: str = "scope"


class Token(msgspec.Struct, frozen=True):
    """A token that was found valid."""

    user: str
    expires_ms: int


class _Claims(jwt.JWTClaimsRegistry):
    """The rules of the library, but that a token may have been issued in the future: Kafka takes those."""

    def validate_iat(self, value: object) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidClaimError("iat", "Claim 'iat' must be a NumericDate value")


class TokenValidator:
    """Checks tokens with the keys that are known now."""

    def __init__(self, keys: SigningKeys, rules: TokenRules, wall_ms: Callable[[], int]) -> None:
        self._keys = keys
        self._rules = rules
        self._wall_ms = wall_ms

    def validate(self, text: str) -> Token:
        """Check the signature and the claims.

        Raises:
            InvalidToken: it is refused.
        """
        try:
            decoded = jwt.decode(text, self._key_of, algorithms=list(ALGORITHMS))
            self._registry().validate(decoded.claims)
        except InvalidToken:
            raise
        except JoseError as problem:
            raise InvalidToken(problem.description or problem.error or type(problem).__name__) from None
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
            # The token is text of a client: what the library does not expect there is no token.
            raise InvalidToken("it is no signed JWT") from None
        return self._checked(decoded.claims)

    def _key_of(self, signed: Any) -> Any:
        headers = signed.headers()
        algorithm, key_id = headers.get("alg"), headers.get("kid")
        if algorithm not in ALGORITHMS:
            raise InvalidToken("its algorithm is not allowed")
        if key_id is not None and not isinstance(key_id, str):
            raise InvalidToken("its key id is no text")
        key = self._keys.find(key_id, ALGORITHMS[algorithm])
        if key is None:
            raise InvalidToken("its key is unknown")
        return key

    def _registry(self) -> _Claims:
        rules = self._rules
        needed: dict[str, Any] = {"exp": {"essential": True}, "iat": {"essential": True}}
        if rules.audiences:
            needed["aud"] = {"essential": True, "values": list(rules.audiences)}
        if rules.issuer:
            needed["iss"] = {"essential": True, "value": rules.issuer}
        return _Claims(now=self._wall_ms() // 1000, leeway=rules.clock_skew_seconds, **needed)

    def _checked(self, claims: dict[str, Any]) -> Token:
        """Kafka's further rules."""
        rules = self._rules
        if not rules.audiences and "aud" in claims:
            raise InvalidToken("it is for an audience, and none is expected")
        user = claims.get(rules.user_claim)
        if not isinstance(user, str) or not user.strip() or len(user) > USER_CHARACTERS_MAX:
            raise InvalidToken(f"its claim {rules.user_claim} is no name of at most {USER_CHARACTERS_MAX} characters")
        scopes = claims.get(rules.scope_claim, ())
        scopes = [scopes] if isinstance(scopes, str) else scopes
        if isinstance(scopes, list):
            stripped = [scope.strip() for scope in scopes if isinstance(scope, str)]
            if len(stripped) < len(scopes) or not all(stripped) or len(set(stripped)) < len(stripped):
                raise InvalidToken(f"its claim {rules.scope_claim} is no set of names")
        expires = claims["exp"]
        if expires < claims["iat"] or expires < claims.get("nbf", expires):
            raise InvalidToken("it expires before it is valid")
        if not 0 <= expires <= EXPIRES_SECONDS_MAX:
            raise InvalidToken("its claim exp is no time")
        return Token(user.strip(), int(expires * 1000))
