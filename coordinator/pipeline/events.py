"""The records of the audit topic as typed events, and why a record is none."""

from typing import Any, Final

import msgspec

from coordinator.audit.schema import (
    SCHEMA_VERSION,
    TAGS,
    AnyCoordinatorEvent,
    AuditEvent,
    GroupHeldByCluster,
    ObservedEvent,
    RebalanceStarted,
    decode_coordinator_event,
    decode_event,
    decode_observed,
)
from coordinator.core.causes import Cause

_NEEDED: Final = {
    "group_id": str,
    "seq": int,
    "created_seq": int,
    "time_ms": int,
    "generation_id": int,
    "coordinator_epoch": int,
    "state": str,
}
_NUMBER_MAX: Final = 2**63 - 1
_THEN_AND_NOW: Final = 2
_KINDS: Final = frozenset(TAGS.values())
_CAUSES: Final = frozenset(cause.value for cause in Cause)

_decode: Final = msgspec.json.Decoder().decode


class OtherEvent(msgspec.Struct, frozen=True):
    """A valid event that this version does not apply: one of the server, or of a kind of a later version."""

    kind: str
    group_id: str | None = None
    """None of an event of the server, unless it is about a group. Then all numbers are None too, unless it has them."""
    seq: int | None = None
    created_seq: int | None = None
    time_ms: int | None = None
    generation_id: int | None = None
    state: str | None = None
    coordinator_epoch: int | None = None
    cause: str | None = None
    member_id: str | None = None
    client_id: str | None = None
    about: AnyCoordinatorEvent | None = None
    """The event of the server, if this version knows it."""

    @property
    def envelope(self) -> AuditEvent:
        """What every event of a group has, for a history; the event must have a group."""
        assert self.group_id is not None and self.seq is not None and self.created_seq is not None
        assert self.time_ms is not None and self.generation_id is not None and self.coordinator_epoch is not None
        assert self.state is not None
        return AuditEvent(
            group_id=self.group_id,
            seq=self.seq,
            created_seq=self.created_seq,
            time_ms=self.time_ms,
            node_id=-1,
            coordinator_epoch=self.coordinator_epoch,
            generation_id_before=self.generation_id,
            generation_id=self.generation_id,
            state_before=self.state,
            state=self.state,
        )


def read(value: bytes | None) -> tuple[AuditEvent | OtherEvent | ObservedEvent | None, str]:
    """The event, or None and why the record is none. Fields that this version does not know are passed over."""
    if value is None:
        return None, "no value"
    try:
        event = decode_event(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        observed = decode_observed(value)
        return _read_other(value, problem) if observed is None else _read_observed(observed)
    if not (
        -_NUMBER_MAX <= event.seq <= _NUMBER_MAX
        and -_NUMBER_MAX <= event.created_seq <= _NUMBER_MAX
        and -_NUMBER_MAX <= event.time_ms <= _NUMBER_MAX
        and -_NUMBER_MAX <= event.generation_id <= _NUMBER_MAX
        and -_NUMBER_MAX <= event.coordinator_epoch <= _NUMBER_MAX
    ):
        return None, f"a number beyond 64 bits: {_largest_number(event)}"
    if type(event) is RebalanceStarted and not all(
        len(topic_change) == _THEN_AND_NOW for topic_change in event.topic_changes.values()
    ):
        return None, "no valid rebalance.started: topic_changes are not pairs of numbers"
    return event, ""


def _read_observed(observed: ObservedEvent) -> tuple[ObservedEvent | None, str]:
    """An event of another Kafka. Fields that are not known are null, but for those that identify the event."""
    event = observed.event
    if not all(type(getattr(event, name)) is needed for name, needed in _NEEDED.items()):
        return None, f"no valid {TAGS[type(event)]}: a field is null that says which event it is"
    if any(abs(getattr(event, name)) > _NUMBER_MAX for name, needed in _NEEDED.items() if needed is int):
        return None, f"a number beyond 64 bits: {_largest_number(event)}"
    return observed, ""


def _largest_number(event: AuditEvent) -> int:
    numbers = event.seq, event.created_seq, event.time_ms, event.generation_id, event.coordinator_epoch
    return max(numbers, key=abs)


def _read_other(value: bytes, problem: Exception) -> tuple[OtherEvent | None, str]:
    """What is no event that this version knows; `problem` is why not."""
    try:
        found = _decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as no_json:
        return None, f"no JSON: {no_json}"
    if not isinstance(found, dict) or not isinstance(found.get("kind"), str):
        return None, "no JSON object with a kind"
    kind = found["kind"]
    about = _about(value)
    if about is not None or kind.startswith("coordinator."):  # of the server, not of a group
        is_valid = "group_id" not in found or isinstance(about, GroupHeldByCluster)
        return (_other(found, about), "") if is_valid else (None, "an event of the server with a group_id")
    for name, needed in _NEEDED.items():
        is_valid = type(found.get(name)) is needed and (needed is str or abs(found[name]) <= _NUMBER_MAX)
        if not is_valid:
            return None, f"no valid {name}"
    if kind in _KINDS and not _is_of_a_later_version(found):
        return None, f"no valid {kind}: {problem}"
    return _other(found), ""


def _is_of_a_later_version(found: dict[str, Any]) -> bool:
    cause, version = found.get("cause"), found.get("schema_version")
    return (isinstance(cause, str) and cause not in _CAUSES) or (type(version) is int and version > SCHEMA_VERSION)


def _about(value: bytes) -> AnyCoordinatorEvent | None:
    try:
        event: AnyCoordinatorEvent = decode_coordinator_event(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    numbers = (value for value in msgspec.structs.astuple(event) if isinstance(value, int))
    return event if all(abs(number) <= _NUMBER_MAX for number in numbers) else None


def _other(found: dict[str, Any], about: AnyCoordinatorEvent | None = None) -> OtherEvent:
    numbers = ("seq", "created_seq", "time_ms", "generation_id", "coordinator_epoch")
    who = found.get("member")
    member = who if isinstance(who, dict) else {}
    return OtherEvent(
        found["kind"],
        about=about,
        **{name: found[name] for name in numbers if type(found.get(name)) is int},
        **{name: found[name] for name in ("group_id", "state", "cause") if isinstance(found.get(name), str)},
        **{name: member[name] for name in ("member_id", "client_id") if isinstance(member.get(name), str)},
    )
