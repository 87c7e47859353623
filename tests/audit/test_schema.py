"""The JSON of an audit event: every kind of it, there and back, and the JSON Schema that readers are given."""

from typing import Any, get_args

import msgspec
import pytest

from coordinator.audit import schema
from coordinator.core.causes import Cause

KINDS: tuple[type[schema.AuditEvent], ...] = get_args(schema.AnyAuditEvent)
COORDINATOR_KINDS: tuple[type[schema.CoordinatorEvent], ...] = get_args(schema.AnyCoordinatorEvent)
MEMBER = schema.MemberRef("a-1", "a", "/127.0.0.1", "instance")
SAMPLES: dict[Any, Any] = {
    int: 7,
    str: "text ü",
    bool: True,
    list[str]: ["one", "two"],
    list[str] | None: ["one"],
    Cause: Cause.NEW_MEMBER,
    schema.MemberRef: MEMBER,
    schema.MemberRef | None: MEMBER,
    int | None: 7,
    bool | None: False,
    schema.TopicPartitions: {"orders": [0, 1]},
    list[schema.MemberSnapshot]: [schema.MemberSnapshot(MEMBER, ["orders"], {"orders": [0]})],
    schema.StoredState | None: schema.StoredState(6, 3, "Stable", ["a-1"]),
    Cause | None: Cause.STORE_FAILED,
    list[schema.MemberRef]: [MEMBER],
    schema.Requester: schema.Requester("admin", "/127.0.0.1", "User:ANONYMOUS"),
    schema.DeniedRequests | None: schema.DeniedRequests("Heartbeat", "READ", "GROUP", "billing", 1, 3),
    schema.Requester | None: schema.Requester("admin", "/127.0.0.1", "User:ANONYMOUS"),
    list[schema.DepartedMember]: [schema.DepartedMember(at_ms=5, member=MEMBER, cause=Cause.MEMBER_LEFT)],
    list[schema.AbsentMember]: [schema.AbsentMember("a-1", 7)],
    list[schema.Trigger]: [schema.Trigger(Cause.NEW_MEMBER, MEMBER, "why", 5)],
    dict[str, list[list[int]]]: {"orders": [[0, -1, 17]]},
    dict[str, list[str]]: {"ord.*": ["orders", "ordinals"]},
    dict[str, schema.MemberProgress]: {"a-1": schema.MemberProgress(4, "UNREVOKED_PARTITIONS", 2, {"orders": [1]}, 1)},
    schema.WorkerTasks | None: schema.WorkerTasks(["sink"], {"sink": [0, 1]}, {"source": [-1, 0]}, 12, 300_000),
    schema.ShareRecordCounts: schema.ShareRecordCounts(acquired=3, delivered_again=1),
    list[schema.ShareMemberRecords]: [schema.ShareMemberRecords(MEMBER, schema.ShareRecordCounts(late=1))],
    list[schema.SharePartitionRecords]: [
        schema.SharePartitionRecords(
            "orders",
            0,
            schema.ShareRecordCounts(archived=2),
            17,
            5,
            3,
            schema.FirstRecord(5, 2, MEMBER),
            [schema.EndedRecords(15, 16, 5, "lock_ended", MEMBER)],
        )
    ],
    dict[str, str]: {"changelog": "no room"},
    list[schema.GainedTask]: [schema.GainedTask("0", 1, MEMBER, True)],
    list[schema.AwaitedTask]: [schema.AwaitedTask("0", 1, MEMBER)],
    list[schema.WaitedFor]: [schema.WaitedFor(MEMBER, {"orders": [1, 2]})],
}


def kind_of(event_class: type[schema.AuditEvent]) -> str:
    return str(event_class.__struct_config__.tag)


def sample(event_class: type[schema.AuditEvent]) -> schema.AuditEvent:
    """An event with something in every field."""
    return event_class(**{field.name: SAMPLES[field.type] for field in msgspec.structs.fields(event_class)})


@pytest.mark.parametrize("event_class", KINDS, ids=kind_of)
def test_every_kind_is_read_as_it_was_written(event_class):
    event = sample(event_class)
    assert schema.decode_event(schema.encode_event(event)) == event


@pytest.mark.parametrize("event_class", KINDS, ids=kind_of)
def test_every_kind_is_a_flat_object_that_names_its_kind(event_class):
    written = msgspec.json.decode(schema.encode_event(sample(event_class)))
    assert written.pop("kind") == kind_of(event_class)
    assert list(written) == [field.name for field in msgspec.structs.fields(event_class)]


def test_there_is_no_event_that_is_not_among_the_kinds():
    assert set(schema.AuditEvent.__subclasses__()) == set(KINDS)
    kinds = [kind_of(kind) for kind in KINDS]
    assert len(set(kinds)) == len(kinds)
    assert all(kind.count(".") == 1 and kind == kind.lower() for kind in kinds)


KINDS_OF_ALL: list[Any] = [*KINDS, *COORDINATOR_KINDS]


def test_the_json_schema_covers_every_kind_and_every_field():
    document = schema.json_schema()
    definitions = document["$defs"]
    mapping = document["discriminator"]["mapping"]
    assert document["discriminator"]["propertyName"] == "kind"
    assert mapping.keys() == {kind_of(kind) for kind in KINDS_OF_ALL}
    for event_class in KINDS_OF_ALL:
        definition = definitions[mapping[kind_of(event_class)].rpartition("/")[2]]
        fields = {field.name for field in msgspec.structs.fields(event_class)}
        assert definition["properties"].keys() == fields | {"kind"}
        assert {"kind", "time_ms", "node_id"} <= set(definition["required"])
        assert ({"group_id", "seq"} <= set(definition["required"])) is (event_class in KINDS)


@pytest.mark.parametrize("event_class", COORDINATOR_KINDS, ids=lambda each: str(each.__struct_config__.tag))
def test_an_event_of_the_coordinator_is_read_as_it_was_written(event_class):
    event = event_class(**{field.name: SAMPLES[field.type] for field in msgspec.structs.fields(event_class)})
    assert schema.decode_coordinator_event(schema.encode_event(event)) == event
    with pytest.raises(msgspec.MsgspecError):
        schema.decode_event(schema.encode_event(event))


def test_causes_are_a_closed_list():
    document = schema.json_schema()["$defs"]["Cause"]["enum"]
    assert sorted(document) == sorted(cause.value for cause in Cause)


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"kind":"group.made"}', b'{"kind":"group.created"}', b"\xff"])
def test_what_is_no_event_is_refused(data):
    with pytest.raises(msgspec.MsgspecError):
        schema.decode_event(data)


def test_fields_that_a_later_version_adds_are_passed_over():
    event = sample(schema.GroupCreated)
    written = msgspec.json.decode(schema.encode_event(event)) | {"added_later": [1, 2]}
    assert schema.decode_event(msgspec.json.encode(written)) == event
