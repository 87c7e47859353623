"""The quotas that can be set (Kafka's QuotaConfig), and the types of their entities (KIP-546)."""

from typing import Final

import msgspec

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"
ENTITY_TYPES: Final = (USER, CLIENT_ID, IP)

PRODUCER_BYTE_RATE: Final = "producer_byte_rate"
CONSUMER_BYTE_RATE: Final = "consumer_byte_rate"
REQUEST_PERCENTAGE: Final = "request_percentage"
CONTROLLER_MUTATION_RATE: Final = "controller_mutation_rate"
CONNECTION_CREATION_RATE: Final = "connection_creation_rate"


class QuotaKey(msgspec.Struct, frozen=True):
    """The type of a quota's value: as in Kafka a LONG, INT or DOUBLE. `at_most` bounds the whole numbers."""

    type_name: str
    at_most: float | None = None


LONG: Final = QuotaKey("LONG", float(2**63 - 1))
INT: Final = QuotaKey("INT", float(2**31 - 1))
DOUBLE: Final = QuotaKey("DOUBLE")

CLIENT_KEYS: Final = {
    PRODUCER_BYTE_RATE: LONG,
    CONSUMER_BYTE_RATE: LONG,
    REQUEST_PERCENTAGE: DOUBLE,
    CONTROLLER_MUTATION_RATE: DOUBLE,
}
"""Of users and client ids."""

IP_KEYS: Final = {CONNECTION_CREATION_RATE: INT}
