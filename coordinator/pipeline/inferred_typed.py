"""Inferred events as the structs of the audit, so that `GroupHistory` applies them like any other.

What the records do not tell is None where a number is, and empty where a text or a list is. Nothing reads these structs
but the history; the tables have what was inferred in columns of their own.
"""

from typing import Any, Final, get_args

import msgspec

from coordinator.audit.schema import TAGS, AuditEvent, MemberRef, MemberSnapshot
from coordinator.core.causes import Cause
from coordinator.pipeline.events import OtherEvent
from coordinator.pipeline.generations import Row, text_of_triggers
from coordinator.pipeline.inferred import Event

_BY_KIND: Final = {kind: struct for struct, kind in TAGS.items()}
_EMPTY: Final[dict[Any, Any]] = {str: "", bool: True}


def typed(event: Event) -> AuditEvent:
    """The struct of an inferred event."""
    struct = _BY_KIND[event["kind"]]
    return struct(**{name: make(event) for name, make in _MAKERS[struct]})


def for_silver(event: Event) -> OtherEvent:
    """An inferred event as the table of all events has it."""
    member = event.get("member") or {}
    return OtherEvent(
        event["kind"],
        event["group_id"],
        event["seq"],
        event["created_seq"],
        event["time_ms"],
        event["generation_id"],
        event["state"],
        cause=event.get("cause"),
        member_id=member.get("member_id"),
        client_id=member.get("client_id"),
    )


UNTOLD: Final = (
    "sentence",
    "partitions_moved_needed",
    "unowned_partition_ms",
    "silent_partition_ms",
    "commits_rejected",
    "coordinator_epoch",
    "slowest_to_join_member_id",
    "slowest_to_join_client_id",
    "slowest_join_ms",
)
"""Columns of a generation that the records do not tell."""


def columns_of(event: Event, before: Row) -> Row:
    """The columns of the latest generation that only inferred events tell, after this one, and `before` it."""
    if event["kind"] == "rebalance.started":
        member = event["member"] or {}
        names = ("member_id", "client_id", "client_host", "group_instance_id")
        return {
            **dict.fromkeys(UNTOLD),
            "cause": event["cause"],
            "cause_is_inferred": True,
            "triggers": text_of_triggers(event["triggers"]),
            "generations_unseen": event["generations_unseen"],
            "rebalance_started_ms": event["started_ms"],
            **{f"cause_{name}": member.get(name) for name in names},
        }
    if "triggers" in event:  # a classic group tells more of them when its generation has started
        before = {**before, "triggers": text_of_triggers(event["triggers"])}
    if event["kind"] == "generation.started" and "started_ms" in event:
        return {**before, "generation_started_ms": event["started_ms"]}
    return before


def _cause(event: Event) -> Cause | None:
    """Causes that are only inferred are not of the audit. Whether a member left or expired changes nothing here."""
    return None if event["kind"] == "rebalance.started" else Cause.MEMBER_LEFT


def _snapshots(event: Event) -> list[MemberSnapshot]:
    return [
        MemberSnapshot(MemberRef(**each["member"]), [], each["partitions"], 0, each["unnamed_partitions"])
        for each in event["members"]
    ]


def _maker(field: msgspec.structs.FieldInfo) -> Any:
    """The function that takes a field out of an event."""
    name = field.name
    if name == "member" or name == "slowest_member":
        return lambda event: None if event.get(name) is None else MemberRef(**event[name])
    if name == "cause":
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
