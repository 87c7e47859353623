"""Inferred events as the structs of the audit, so that `GroupHistory` applies them like any other.

What the records do not tell is None where a number is, and empty where a text or a list is. Nothing reads these structs
but the history; the tables have what was inferred in columns of their own.
"""

from typing import Any, Final, get_args

import msgspec

from coordinator.audit import schema
from coordinator.audit.schema import TAGS, AuditEvent, MemberRef, MemberSnapshot
from coordinator.audit.schema.observed import cause_of
from coordinator.core.causes import Cause
from coordinator.observe.group_so_far import Event, Trigger

_BY_KIND: Final = {kind: struct for struct, kind in TAGS.items()}
_EMPTY: Final[dict[Any, Any]] = {str: "", bool: True}


def typed(event: Event) -> AuditEvent:
    """The struct of an inferred event. Nothing is asked of causes: whether a member left or expired is not in it."""
    struct = _BY_KIND[event["kind"]]
    return struct(**{name: make(event) for name, make in _MAKERS[struct]})


def with_causes(event: Event) -> AuditEvent:
    """The struct of an event with its causes, of which some are none of the audit topic (`InferredCause`)."""
    found = typed(event)
    own: dict[str, Any] = {}
    if hasattr(found, "triggers"):
        own["triggers"] = [_trigger(trigger) for trigger in event.get("triggers", ())]
    if event.get("cause") is not None and hasattr(found, "cause"):
        own["cause"] = cause_of(event["cause"])
    return msgspec.structs.replace(found, **own) if own else found


def _trigger(trigger: Trigger) -> schema.Trigger:
    member = None if trigger["member"] is None else MemberRef(**trigger["member"])
    return schema.Trigger(cause_of(trigger["cause"]), member, trigger.get("reason", ""), trigger["at_ms"])  # type: ignore[arg-type]


def _cause(event: Event) -> Cause | None:
    return None if event["kind"] == "rebalance.started" else Cause.MEMBER_LEFT


def _snapshots(event: Event) -> list[MemberSnapshot]:
    return [
        MemberSnapshot(MemberRef(**member["member"]), [], member["partitions"], 0, member["unnamed_partitions"])
        for member in event["members"]
    ]


def _maker(field: msgspec.structs.FieldInfo) -> Any:
    """The function that takes a field out of an event."""
    name = field.name
    if name in ("member", "slowest_member", "holder"):
        return lambda event: None if event.get(name) is None else MemberRef(**event[name])
    if name == "cause" and field.default is msgspec.NODEFAULT:
        return _cause
    if name == "triggers":
        return lambda event: []
    if field.type == list[MemberSnapshot]:
        return _snapshots
    if name == "coordinator_epoch":
        return lambda event: 0
    empty = _empty(field)
    return lambda event: empty() if event.get(name) is None else event[name]


def _empty(field: msgspec.structs.FieldInfo) -> Any:
    """What the field holds if the records do not tell it: its default in older events, else nothing."""
    if field.default is not msgspec.NODEFAULT:
        return lambda: field.default
    kind = getattr(field.type, "__origin__", field.type)
    if kind in (list, dict):
        return kind
    value = None if int in (kind, *get_args(field.type)) else _EMPTY.get(kind)
    return lambda: value


_MAKERS: Final = {
    struct: [(field.name, _maker(field)) for field in msgspec.structs.fields(struct)] for struct in _BY_KIND.values()
}
