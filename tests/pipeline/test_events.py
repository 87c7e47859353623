"""The Spark types are derived from the audit schema; an oracle of its own checks that against real encoded events."""

import json
from typing import Any, get_args

import msgspec
import pytest
from pyspark.sql.types import ArrayType, BooleanType, DataType, LongType, MapType, StringType, StructType

from coordinator.audit.schema import (
    AnyAuditEvent,
    AuditEvent,
    MemberRef,
    MemberSnapshot,
    Requester,
    StoredState,
    TopicPartitions,
    Trigger,
    encode_event,
)
from coordinator.core.causes import Cause
from coordinator.pipeline.events import envelope_type, event_types, kind_column, typed_events
from coordinator.pipeline.generations import KINDS
from tests.pipeline.conftest import Bronze
from tests.pipeline.history import eventful

KINDS_OF_SCHEMA = {event.__struct_config__.tag: event for event in get_args(AnyAuditEvent)}

MEMBER = MemberRef("a-id", "a", "/127.0.0.1", "till-1")

SAMPLES: dict[Any, Any] = {
    int: 7,
    str: "words",
    bool: True,
    Cause: Cause.STORE_FAILED,
    Cause | None: Cause.STORE_FAILED,
    StoredState | None: StoredState(6, 3, "Stable", ["a-id"]),
    MemberRef: MEMBER,
    MemberRef | None: MEMBER,
    int | None: 3,
    list[str]: ["orders"],
    TopicPartitions: {"orders": [0, 1]},
    list[MemberSnapshot]: [MemberSnapshot(MEMBER, ["orders"], {"orders": [0]})],
    list[MemberRef]: [MEMBER],
    Requester: Requester("admin", "/127.0.0.1", "User:ANONYMOUS"),
    Requester | None: Requester("admin", "/127.0.0.1", "User:ANONYMOUS"),
    list[Trigger]: [Trigger(Cause.NEW_MEMBER, MEMBER, "why", 5)],
    dict[str, list[list[int]]]: {"orders": [[0, -1, 17]]},
}


def sample(kind: str) -> Any:
    """An event of this kind with every field filled."""
    event = KINDS_OF_SCHEMA[kind]
    return event(**{field.name: SAMPLES[field.type] for field in msgspec.structs.fields(event)})


def fits(value: Any, kind: DataType) -> bool:
    """Would Spark read this JSON value without loss? Written without any knowledge of msgspec."""
    match kind:
        case StructType(fields=fields):
            known = {field.name: field.dataType for field in fields}
            return value.keys() == known.keys() and all(fits(value[name], known[name]) for name in known)
        case ArrayType(elementType=element):
            return isinstance(value, list) and all(fits(item, element) for item in value)
        case MapType(valueType=element):
            return isinstance(value, dict) and all(fits(item, element) for item in value.values())
        case BooleanType():
            return isinstance(value, bool)
        case LongType():
            return isinstance(value, int) and not isinstance(value, bool)
        case StringType():
            return isinstance(value, str)
    return False


@pytest.mark.parametrize("kind", KINDS_OF_SCHEMA)
def test_each_kind_has_the_type_of_its_json(kind: str):
    value = json.loads(encode_event(sample(kind)))
    assert value.pop("kind") == kind
    assert fits(value, event_types()[kind])


def test_the_envelope_is_what_all_kinds_share():
    shared = [field.name for field in msgspec.structs.fields(AuditEvent)]
    assert envelope_type().names == ["kind", *shared]
    assert event_types().keys() == KINDS_OF_SCHEMA.keys()


def test_spark_reads_each_event_as_it_was_written(raw: Bronze):
    """Every kind, every field: what Spark makes of the JSON is the JSON."""
    events = {kind: encode_event(sample(kind)) for kind in KINDS_OF_SCHEMA}
    rows = typed_events(raw(events.values()), KINDS_OF_SCHEMA).collect()
    read = {row["kind"]: row.asDict(recursive=True) for row in rows}
    for kind, value in events.items():
        wanted = json.loads(value)
        own = read[kind][kind_column(kind)] or {}
        assert {name: own.get(name, read[kind].get(name)) for name in wanted} == wanted


def test_what_is_no_event_of_a_known_kind_is_left_out(raw: Bronze):
    strangers = [b"", b"no json", b"[1]", b'{"kind": "group.teleported", "group_id": "orders", "seq": 9}', b"\xff\xfe"]
    values = eventful().values()
    rows = typed_events(raw([*strangers, *values]), KINDS).collect()
    assert sorted(row["seq"] for row in rows) == [seq for seq in range(2, len(values) + 1)]
