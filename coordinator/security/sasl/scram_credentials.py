"""What is known of a user for SCRAM (Kafka's ScramCredential): nothing that gives the password away."""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

SALT_BYTES: Final = 32
ITERATIONS_MIN: Final = 4_096
ITERATIONS_MAX: Final = 16_384
"""Of Kafka's ScramMechanism."""


class ScramMechanism(IntEnum):
    """The hashes that SCRAM is served with. The numbers are those of requests and records."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def mechanism_name(self) -> str:
        """As in `sasl.enabled.mechanisms`."""
        return self.name.replace("_", "-")

    @property
    def digest(self) -> str:
        """The name of the hash in `hashlib`."""
        return self.name.removeprefix("SCRAM_").replace("_", "").lower()


@dataclass(frozen=True, slots=True)
class ScramCredential:
    """A password, salted and hashed so that a login can be checked with it and not be made of it."""

    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int
