"""Makes SCRAM credentials of passwords (RFC 5802), by the functions of the library scramp."""

import hashlib
from secrets import token_bytes

from scramp.utils import h, hi, hmac

from coordinator.security.sasl.scram_credentials import ITERATIONS_MIN, SALT_BYTES, ScramCredential, ScramMechanism


def new_salted_password(
    mechanism: ScramMechanism, password: str, iterations: int = ITERATIONS_MIN
) -> tuple[bytes, bytes]:
    """A new salt, and the password stretched with it, which takes milliseconds: for commands that are given a password.

    As on Kafka, the password is not prepared (RFC 4013): its bytes are hashed as they are.
    """
    salt = token_bytes(SALT_BYTES)
    return salt, hi(getattr(hashlib, mechanism.digest), password.encode(), salt, iterations)


def credential_of_password(
    mechanism: ScramMechanism, password: str, iterations: int = ITERATIONS_MIN
) -> ScramCredential:
    """A credential with a new salt."""
    salt, salted_password = new_salted_password(mechanism, password, iterations)
    return credential_of_salted_password(mechanism, salted_password, salt, iterations)


def credential_of_salted_password(
    mechanism: ScramMechanism, salted_password: bytes, salt: bytes, iterations: int
) -> ScramCredential:
    """What a client of AlterUserScramCredentials brings, its own stretching done."""
    digest = getattr(hashlib, mechanism.digest)
    client_key = hmac(digest, salted_password, b"Client Key")
    return ScramCredential(salt, h(digest, client_key), hmac(digest, salted_password, b"Server Key"), iterations)
