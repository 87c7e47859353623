"""The events of groups of a Kafka that others run, as `coordinator watch` appends them: what was seen, and where.

Such an event has the kind and the fields of one that a coordinator writes, and two more: `places`, which an event of a
coordinator never has, and `is_inferred`. A field that could not be seen is null, whatever its type is;
`coordinator_epoch` always is. A cause may be an inferred one: one of `core.causes.InferredCause`.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final, get_args

import msgspec

from coordinator.audit.schema.event import AuditEvent
from coordinator.audit.schema.values import MemberRef, Trigger
from coordinator.core.causes import Cause, InferredCause

WATCHED: Final = "coordinator.watched"
"""The kind of a record without a key that says how far a watcher has come. For readers it is no event."""

WATCH_BEGUN: Final = "coordinator.watch_begun"
"""The kind of a record without a key with which a watcher begins to write."""


PLACES_MARK: Final = b'"places":['
"""In the value of an observed event, and never in that of an event of a coordinator: quotes in texts are escaped."""


class Source(StrEnum):
    """What told it."""

    RECORD = "record"
    """A record of `__consumer_offsets`, which no client can forge."""
    BROKER_LOG = "broker_log"
    """A line of a broker's log. Client and group ids are written there as they are, so a client can forge lines."""
    CLIENT_LOG = "client_log"
    POLL = "poll"
    """An answer of an admin API: how things were at that time."""
    NODE = "node"
    """A node saw it pass, between clients and brokers: `name` is the node, `broker_id` null."""


class Place(msgspec.Struct, frozen=True, gc=False):
    """One place where something about a group was seen.

    `name` is a file, a node, a partition such as `__consumer_offsets-12`, or the API that was asked. `position` is the
    line, counted from 1, or the offset; None: it has none. `time_ms` is wall-clock time in ms since the epoch, as the
    source tells it: a line without a zone is read in the zone of its file.
    """

    source: Source
    name: str
    time_ms: int
    position: int | None = None
    broker_id: int | None = None

    def __str__(self) -> str:
        return self.name if self.position is None else f"{self.name}:{self.position}"


class ObservedEvent(msgspec.Struct, frozen=True):
    """An event and its evidence."""

    event: AuditEvent
    places: tuple[Place, ...]
    is_inferred: bool = False
    """It follows from what was seen, and no line or record says it."""
    reasons_are_seen: bool = False
    """The brokers log what clients give as a reason (Kafka 3.2 and newer): a client that is not quoted gave none."""


class _Evidence(msgspec.Struct):
    """What an observed event has beside its own fields. It is what tells it from that of a coordinator."""

    kind: str
    places: tuple[Place, ...]
    is_inferred: bool
    reasons_are_seen: bool = False


_encode: Final = msgspec.json.Encoder().encode
_decode_evidence: Final = msgspec.json.Decoder(_Evidence).decode
_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode
_OF_THE_AUDIT: Final = frozenset(map(str, Cause))


def cause_of(name: str) -> Cause | InferredCause:
    """The cause that an event names by its value. Raises ValueError: there is no such cause."""
    return Cause(name) if name in _OF_THE_AUDIT else InferredCause(name)


def encode_observed(observed: ObservedEvent) -> bytes:
    """The value of its record."""
    own = msgspec.to_builtins(observed.event)
    own["coordinator_epoch"] = None
    if observed.reasons_are_seen:
        own["reasons_are_seen"] = True
    places = msgspec.to_builtins(observed.places)
    return _encode({**own, "is_inferred": observed.is_inferred, "places": places})


def decode_observed(value: bytes, kinds: dict[str, type[AuditEvent]]) -> ObservedEvent | None:
    """The event of a record's value; None: it is no observed event, or none of a kind that is known.

    Numbers that are null stay None in it, and `coordinator_epoch` is 0.
    """
    try:
        evidence = _decode_evidence(value)
        struct = kinds.get(evidence.kind)
        if struct is None:
            return None
        fields = _decode(value)
        own = {name: convert(fields[name]) for name, convert in _converters(struct) if name in fields}
        return ObservedEvent(struct(**own), evidence.places, evidence.is_inferred, evidence.reasons_are_seen)
    except (msgspec.MsgspecError, ValueError, TypeError, KeyError, AttributeError):
        return None


_CONVERTERS: Final[dict[type[AuditEvent], list[tuple[str, Callable[[Any], Any]]]]] = {}


def _converters(struct: type[AuditEvent]) -> list[tuple[str, Callable[[Any], Any]]]:
    found = _CONVERTERS.get(struct)
    if found is None:
        fields = msgspec.structs.fields(struct)
        found = _CONVERTERS[struct] = [(field.name, _converter(field)) for field in fields]
    return found


def _converter(field: msgspec.structs.FieldInfo) -> Callable[[Any], Any]:
    if field.name == "coordinator_epoch":
        return lambda value: 0
    if field.name == "triggers":
        return lambda value: [_trigger(trigger) for trigger in value]
    if field.type is Cause or Cause in get_args(field.type):
        return lambda value: None if value is None else cause_of(value)
    return lambda value: None if value is None else msgspec.convert(value, field.type)


def _trigger(found: dict[str, Any]) -> Trigger:
    member = None if found["member"] is None else msgspec.convert(found["member"], MemberRef)
    return Trigger(cause_of(found["cause"]), member, found["reason"], found["at_ms"])  # type: ignore[arg-type]
