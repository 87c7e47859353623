"""AlterClientQuotas: what may be set, with the answers of Kafka's ClientQuotaControlManager (KIP-546)."""

import math
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Final, NamedTuple

from coordinator.metadata.image import QuotaEntity, quota_entity
from coordinator.metadata.records import QuotaRecord
from coordinator.quotas.keys import CLIENT_ID, CLIENT_KEYS, ENTITY_TYPES, IP, IP_KEYS, USER, QuotaKey

FRACTION_IGNORED: Final = 1e-6
"""How far a whole number may be away from one."""


class InvalidQuota(ValueError):
    """A quota cannot be set. The message is Kafka's."""


class Operation(NamedTuple):
    """One quota to be set, or to be removed where `value` is None."""

    key: str
    value: float | None


class Alteration(NamedTuple):
    """The changes to the quotas of one entity."""

    names: Mapping[str, str | None]
    operations: Sequence[Operation]


class Changes(NamedTuple):
    """What a request changes: the records to store, and for each entity why nothing of it is stored, if so."""

    records: list[QuotaRecord]
    problems: dict[QuotaEntity, str | None]


def plan_changes(alterations: Sequence[Alteration], quotas: Mapping[QuotaEntity, Mapping[str, float]]) -> Changes:
    """Check the alterations of a request. Each entity is for itself: what is wrong with one does not touch another.

    An entity that comes again is answered with an error, but its first alteration is made, as in Kafka.
    """
    changes = Changes([], {})
    for alteration in alterations:
        entity = quota_entity(alteration.names)
        keys = [operation.key for operation in alteration.operations]
        if entity in changes.problems or len(set(keys)) < len(keys):
            changes.problems[entity] = f"Ignoring duplicate entity {_show(alteration.names)}"
            continue
        try:
            records = _records(alteration, quotas.get(entity, {}))
        except InvalidQuota as problem:
            changes.problems[entity] = str(problem)
        else:
            changes.records.extend(records)
            changes.problems[entity] = None
    return changes


def _records(alteration: Alteration, current: Mapping[str, float]) -> list[QuotaRecord]:
    """The records of an alteration; only of quotas that it changes.

    Raises:
        InvalidQuota: the entity, a key or a value is not allowed.
    """
    known = _keys_of(alteration.names)
    records = []
    for key, value in alteration.operations:
        if value is not None:
            _check_value(known, key, value)
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


def _check_value(known: Mapping[str, QuotaKey], key: str, value: float) -> None:
    if key not in known:
        raise InvalidQuota(f"Invalid configuration key {key}")
    # Kafka takes NaN, with which nothing is ever above the quota.
    if value <= 0 or math.isnan(value):
        raise InvalidQuota(f"Quota {key} must be greater than 0")
    kind = known[key]
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
