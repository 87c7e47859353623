"""SCRAM (RFC 5802, RFC 7677) as Kafka's ScramSaslServer speaks it, with the cryptography of the library scramp.

The grammar is Kafka's (ScramMessages): ASCII names, no channel binding, no mandatory extension. The conversation of
scramp itself is not used: it refuses salts below 12 bytes and authorization ids, which Kafka takes.
"""

import base64
import hashlib
import re
from collections.abc import Callable
from hmac import compare_digest
from secrets import token_urlsafe
from typing import Final

from scramp.utils import h, hmac, xor

from coordinator.security.sasl.exchange import Challenge, LoggedIn, LoginFailed, login_failure
from coordinator.security.sasl.scram_credentials import ITERATIONS_MIN, ScramCredential, ScramMechanism

VALUE: Final = r"[\x01-\x2b\x2d-\x7f]+"
NAME: Final = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
PRINTABLE: Final = r"[\x21-\x2b\x2d-\x7e]+"
EXTENSIONS: Final = rf"(?:,[A-Za-z]+={VALUE})*"
BASE64: Final = r"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"

CLIENT_FIRST: Final = re.compile(
    rf"n,(?:a=(?P<authorization_id>{NAME}))?,"
    rf"(?P<bare>(?:m={VALUE},)?n=(?P<name>{NAME}),r=(?P<nonce>{PRINTABLE})(?P<extensions>{EXTENSIONS}))"
)
CLIENT_FINAL: Final = re.compile(
    rf"(?P<without_proof>c=(?P<channel>{BASE64}),r=(?P<nonce>{PRINTABLE}){EXTENSIONS}),p=(?P<proof>{BASE64})"
)
BY_TOKEN: Final = re.compile(r"(?:^|,)tokenauth=([^,]*)")
"""Kafka's extension for delegation tokens (KIP-48)."""
MESSAGE_BYTES_MAX: Final = 16_384
"""With the largest names and nonces that are of use. Kafka's stack overflows with longer ones."""
NONCE_BYTES: Final = 24

FindCredential = Callable[[str], ScramCredential | None]
"""User → credential; None: there is no such user, or it has none for this mechanism."""


class Scram:
    """SCRAM with one hash. Credentials are looked up with each login."""

    def __init__(self, mechanism: ScramMechanism, find_credential: FindCredential) -> None:
        self._mechanism = mechanism
        self._find_credential = find_credential

    def exchange(self) -> "ScramExchange":
        return ScramExchange(self._mechanism, self._find_credential)


class ScramExchange:
    """Two messages of the client: who it is, and the proof that it knows the password."""

    def __init__(
        self,
        mechanism: ScramMechanism,
        find_credential: FindCredential,
        make_nonce: Callable[[], str] = lambda: token_urlsafe(NONCE_BYTES),
    ) -> None:
        self._digest = getattr(hashlib, mechanism.digest)
        self._find_credential = find_credential
        self._make_nonce = make_nonce
        self._credential: ScramCredential | None = None
        self._client_first = self._server_first = self._nonce = ""
        self.user = ""

    def evaluate(self, response: bytes) -> Challenge | LoggedIn:
        if len(response) > MESSAGE_BYTES_MAX:
            raise LoginFailed(f"a message of the client has {len(response)} bytes, more than {MESSAGE_BYTES_MAX}")
        message = response.decode(errors="replace")
        if self._credential is None:
            return self._challenge(message)
        return self._check_proof(message, self._credential)

    def _challenge(self, message: str) -> Challenge:
        first = CLIENT_FIRST.fullmatch(message)
        if first is None:
            raise LoginFailed("the first message of the client is invalid")
        self.user = first["name"].replace("=2C", ",").replace("=3D", "=")
        by_token = BY_TOKEN.search(first["extensions"])
        if by_token is not None and by_token[1].lower() == "true":
            raise LoginFailed("delegation tokens are not served")
        credential = self._find_credential(self.user)
        if credential is None:
            raise LoginFailed("no such user, or no credential for this mechanism")
        if first["authorization_id"] not in (None, self.user):
            raise login_failure(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        if credential.iterations < ITERATIONS_MIN:
            raise LoginFailed(f"the credential has {credential.iterations} iterations, fewer than {ITERATIONS_MIN}")
        self._credential = credential
        self._client_first = first["bare"]
        self._nonce = first["nonce"] + self._make_nonce()
        salt = base64.b64encode(credential.salt).decode()
        self._server_first = f"r={self._nonce},s={salt},i={credential.iterations}"
        return Challenge(self._server_first.encode())

    def _check_proof(self, message: str, credential: ScramCredential) -> LoggedIn:
        final = CLIENT_FINAL.fullmatch(message)
        if final is None:
            raise LoginFailed("the final message of the client is invalid")
        if final["nonce"] != self._nonce:
            raise LoginFailed("the final message of the client has another nonce")
        signed = f"{self._client_first},{self._server_first},{final['without_proof']}".encode()
        signature = hmac(self._digest, credential.stored_key, signed)
        proof = base64.b64decode(final["proof"])
        if len(proof) != len(signature) or not compare_digest(
            h(self._digest, xor(proof, signature)), credential.stored_key
        ):
            raise LoginFailed("wrong password")
        server_signature = hmac(self._digest, credential.server_key, signed)
        return LoggedIn(b"v=" + base64.b64encode(server_signature), self.user)
