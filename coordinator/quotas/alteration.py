"""AlterClientQuotas: what may be set, with the answers of Kafka's ClientQuotaControlManager (KIP-546)."""

import math
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Final, NamedTuple

import msgspec

from _wire.errors import ErrorCode
from coordinator.metadata.image import QuotaEntity, quota_entity
from coordinator.metadata.records import QuotaRecord
from coordinator.quotas.keys import CLIENT_ID, CLIENT_KEYS, ENTITY_TYPES, IP, IP_KEYS, USER, QuotaKey

FRACTION_IGNORED: Final = 1e-6
"""How far a whole number may be away from one."""


class InvalidQuota(ValueError):
    """A quota cannot be set. `error` is the protocol's error code; the message is Kafka's."""

    def __init__(self, message: str, error: ErrorCode = ErrorCode.INVALID_REQUEST) -> None:
        super().__init__(message)
        self.error = error


class Operation(NamedTuple):
    """One quota to be set, or to be removed where `value` is None."""

    key: str
    value: float | None


class Alteration(msgspec.Struct, frozen=True):
    """The changes to the quotas of one entity."""

    names: Mapping[str, str | None]
    operations: Sequence[Operation]


class Changes:
    """What a request changes. Each entity is for itself: what is wrong with one does not touch another."""

    def __init__(self, quotas: Mapping[QuotaEntity, Mapping[str, float]], entities_max: int) -> None:
        """`quotas` are those of now; `entities_max` is `client.quotas.max`."""
        self._quotas = quotas
        self._entities_max = entities_max
        self._new_entities = 0
        self.records: list[QuotaRecord] = []
        self.problems: dict[QuotaEntity, InvalidQuota | None] = {}
        """Why nothing is changed for an entity, in the order of the request; None: it is changed."""

    def add(self, alteration: Alteration) -> None:
        """Check an alteration.

        An entity that comes again is answered with an error, but its first alteration is made, as in Kafka.
        """
        entity = quota_entity(alteration.names)
        keys = [operation.key for operation in alteration.operations]
        if entity in self.problems or len(set(keys)) < len(keys):
            self.problems[entity] = InvalidQuota(f"Ignoring duplicate entity {_show(alteration.names)}")
            return
        try:
            records = _records(alteration, self._quotas.get(entity, {}))
            if entity not in self._quotas and records:
                self._check_room()
        except InvalidQuota as problem:
            self.problems[entity] = problem
        else:
            self.records.extend(records)
            self.problems[entity] = None

    def _check_room(self) -> None:
        if len(self._quotas) + self._new_entities >= self._entities_max:
            message = f"There are quotas for {self._entities_max} entities already; client.quotas.max allows no more."
            raise InvalidQuota(message, ErrorCode.POLICY_VIOLATION)
        self._new_entities += 1


def _records(alteration: Alteration, current: Mapping[str, float]) -> list[QuotaRecord]:
    """The records of an alteration; only of quotas that it changes.

    Raises:
        InvalidQuota: the entity, a key or a value is not allowed.
    """
    key_by_name = _keys_of(alteration.names)
    records = []
    for key, value in alteration.operations:
        if value is not None:
            _check_value(key_by_name, key, value)
        if current.get(key) != value:
            records.append(QuotaRecord(alteration.names, key, None if value is None else repr(value)))
    return records


def _keys_of(names: Mapping[str, str | None]) -> Mapping[str, QuotaKey]:
    """The quotas that an entity can have.

    Raises:
        InvalidQuota: there can be no such entity.
    """
    if not names:
        raise InvalidQuota("Invalid empty client quota entity")
    for kind, name in names.items():
        if kind not in ENTITY_TYPES:
            raise InvalidQuota(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise InvalidQuota(f"Empty {kind} not supported")
    if IP not in names:
        return CLIENT_KEYS
    if USER in names or CLIENT_ID in names:
        raise InvalidQuota("Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId")
    _check_address(names[IP])
    return IP_KEYS


def _check_address(address: str | None) -> None:
    """Kafka also takes the name of a host and resolves it, which would keep the event loop waiting."""
    try:
        if address is not None:
            ip_address(address)
    except ValueError:
        raise InvalidQuota(f"{address} is not a valid IP or resolvable host.") from None


def _check_value(key_by_name: Mapping[str, QuotaKey], key: str, value: float) -> None:
    if key not in key_by_name:
        raise InvalidQuota(f"Invalid configuration key {key}")
    # Kafka takes NaN, with which nothing is ever above the quota.
    if value <= 0 or math.isnan(value):
        raise InvalidQuota(f"Quota {key} must be greater than 0")
    kind = key_by_name[key]
    if kind.at_most is None:
        return
    if value > kind.at_most:
        article = "an" if kind.type_name == "INT" else "a"
        raise InvalidQuota(f"Proposed value for {key} is too large for {article} {kind.type_name}.")
    if value % 1.0 > FRACTION_IGNORED:
        raise InvalidQuota(f"{key} cannot be a fractional value.")


def _show(names: Mapping[str, str | None]) -> str:
    entries = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in names.items())
    return f"ClientQuotaEntity(entries={{{entries}}})"
