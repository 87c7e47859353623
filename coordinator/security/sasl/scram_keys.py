"""Makes SCRAM credentials of passwords (RFC 5802), by the functions of the library scramp."""

import hashlib
from secrets import token_bytes

from scramp.utils import h, hi, hmac

from coordinator.security.sasl.scram_credentials import ITERATIONS_MIN, SALT_BYTES, ScramCredential, ScramMechanism


def credential_of_password(
    mechanism: ScramMechanism, password: str, *, salt: bytes | None = None, iterations: int = ITERATIONS_MIN
) -> ScramCredential:
    """Stretch a password, which takes milliseconds: only for commands that are given one. By default with a new salt.

    As on Kafka, the password is not prepared (RFC 4013): its bytes are hashed as they are.
    """
    salt = token_bytes(SALT_BYTES) if salt is None else salt
    salted_password = hi(getattr(hashlib, mechanism.digest), password.encode(), salt, iterations)
    return credential_of_salted_password(mechanism, salted_password, salt, iterations)


def credential_of_salted_password(
    mechanism: ScramMechanism, salted_password: bytes, salt: bytes, iterations: int
) -> ScramCredential:
    """What a client of AlterUserScramCredentials brings, its own stretching done."""
    digest = getattr(hashlib, mechanism.digest)
    client_key = hmac(digest, salted_password, b"Client Key")
    return ScramCredential(salt, h(digest, client_key), hmac(digest, salted_password, b"Server Key"), iterations)
