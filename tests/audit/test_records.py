"""Records are written without making the struct of their event first; they must be what the struct is encoded to."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.audit import schema
from coordinator.audit.group_state import GroupAuditState
from coordinator.audit.records import RecordWriter
from coordinator.core.causes import Cause
from coordinator.core.classic.group import ClassicGroup
from coordinator.core.groups.states import GroupState
from tests.examples import examples

KINDS: tuple[type[schema.AuditEvent], ...] = get_args(schema.AnyAuditEvent)
NODE_ID = 7
EPOCH = 3
LATEST_MS = 253_402_300_799_999
"""The last millisecond of the year 9999."""

INT64 = st.integers(-(2**63), 2**63 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
STRANGE = '"\\/\b\f\n\r\t\x00\x1f\x7f\x80ü\u2028€😀'
TOPIC_PARTITIONS = st.dictionaries(TEXT, st.lists(INT32, max_size=3), max_size=3)
MEMBERS = st.builds(schema.MemberRef, TEXT, TEXT, TEXT, st.none() | TEXT, TEXT, TEXT)
REQUESTERS = st.builds(schema.Requester, TEXT, TEXT, TEXT)
COUNTS = st.builds(schema.ShareRecordCounts, *[INT64] * len(schema.ShareRecordCounts.__struct_fields__))
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    int: INT64,
    str: TEXT,
    bool: st.booleans(),
    list[str]: st.lists(TEXT, max_size=3),
    list[str] | None: st.none() | st.lists(TEXT, max_size=3),
    Cause: st.sampled_from(Cause),
    schema.MemberRef: MEMBERS,
    schema.MemberRef | None: st.none() | MEMBERS,
    int | None: st.none() | INT64,
    bool | None: st.none() | st.booleans(),
    schema.TopicPartitions: TOPIC_PARTITIONS,
    list[schema.MemberSnapshot]: st.lists(
        st.builds(schema.MemberSnapshot, MEMBERS, st.lists(TEXT, max_size=2), TOPIC_PARTITIONS, INT64, INT64),
        max_size=3,
    ),
    schema.StoredState | None: st.none()
    | st.builds(schema.StoredState, INT64, INT32, st.sampled_from(GroupState), st.lists(TEXT, max_size=2)),
    Cause | None: st.none() | st.sampled_from(Cause),
    list[schema.MemberRef]: st.lists(MEMBERS, max_size=3),
    schema.Requester: REQUESTERS,
    schema.Requester | None: st.none() | REQUESTERS,
    schema.DeniedRequests | None: st.none() | st.builds(schema.DeniedRequests, *[st.text()] * 4, INT64, INT32),
    list[schema.DepartedMember]: st.lists(
        st.builds(
            schema.DepartedMember,
            at_ms=INT64,
            member=MEMBERS,
            cause=st.sampled_from(Cause),
            last_heard_ms=st.none() | INT64,
            requested_by=st.none() | REQUESTERS,
        ),
        max_size=3,
    ),
    list[schema.AbsentMember]: st.lists(st.builds(schema.AbsentMember, TEXT, st.none() | INT64), max_size=3),
    list[schema.Trigger]: st.lists(
        st.builds(schema.Trigger, st.sampled_from(Cause), st.none() | MEMBERS, TEXT, INT64), max_size=3
    ),
    dict[str, schema.MemberProgress]: st.dictionaries(
        TEXT, st.builds(schema.MemberProgress, INT32, TEXT, INT32, TOPIC_PARTITIONS, INT32), max_size=3
    ),
    schema.WorkerTasks | None: st.none()
    | st.builds(
        schema.WorkerTasks, st.lists(TEXT, max_size=2), TOPIC_PARTITIONS, TOPIC_PARTITIONS, INT64, INT32, INT32
    ),
    list[schema.WaitedFor]: st.lists(st.builds(schema.WaitedFor, MEMBERS, TOPIC_PARTITIONS), max_size=3),
    dict[str, str]: st.dictionaries(TEXT, TEXT, max_size=3),
    list[schema.GainedTask]: st.lists(
        st.builds(schema.GainedTask, TEXT, INT32, st.none() | MEMBERS, st.booleans()), max_size=3
    ),
    list[schema.AwaitedTask]: st.lists(st.builds(schema.AwaitedTask, TEXT, INT32, MEMBERS), max_size=3),
    schema.ShareRecordCounts: COUNTS,
    list[schema.ShareMemberRecords]: st.lists(st.builds(schema.ShareMemberRecords, MEMBERS, COUNTS), max_size=3),
    list[schema.SharePartitionRecords]: st.lists(
        st.builds(
            schema.SharePartitionRecords,
            TEXT,
            INT32,
            COUNTS,
            INT64,
            INT64,
            INT64,
            st.none() | st.builds(schema.FirstRecord, INT64, INT32, st.none() | MEMBERS),
            st.lists(st.builds(schema.EndedRecords, INT64, INT64, INT32, TEXT, MEMBERS), max_size=2),
        ),
        max_size=2,
    ),
    dict[str, list[str]]: st.dictionaries(TEXT, st.lists(TEXT, max_size=3), max_size=3),
    dict[str, list[list[int]]]: st.dictionaries(TEXT, st.lists(st.lists(INT64, max_size=3), max_size=3), max_size=3),
}
"""What a field of each type may hold."""

ENVELOPES = st.fixed_dictionaries(
    {
        "group_id": TEXT,
        "seq": st.integers(2, 2**63 - 1),
        "created_seq": st.integers(1, 2**63 - 1),
        "time_ms": st.integers(0, LATEST_MS),
        "state_before": st.sampled_from(GroupState),
        "generation_id_before": INT32,
        "state": st.sampled_from(GroupState),
        "generation_id": INT32,
    }
)
AN_ENVELOPE: dict[str, Any] = {
    "group_id": STRANGE,
    "seq": 2,
    "created_seq": 1,
    "time_ms": 1_700_000_000_000,
    "state_before": GroupState.EMPTY,
    "generation_id_before": 0,
    "state": GroupState.PREPARING_REBALANCE,
    "generation_id": 0,
}


def own_fields(kind: type[schema.AuditEvent]) -> list[msgspec.structs.FieldInfo]:
    """Those beside the envelope."""
    envelope = msgspec.structs.fields(schema.AuditEvent)
    return [field for field in msgspec.structs.fields(kind) if field not in envelope]


def complete(kind: type[schema.AuditEvent], fields: dict[str, Any]) -> dict[str, Any]:
    """With the defaults of the fields that are not given."""
    left = {
        field.name: field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        for field in own_fields(kind)
        if field.name not in fields and not field.required
    }
    return fields | left


def write(kind: type[schema.AuditEvent], envelope: dict[str, Any], fields: dict[str, Any]) -> schema.Record:
    """As the next event of a group whose last one had the number before."""
    given = dict(envelope)
    state = GroupAuditState(given.pop("seq") - 1, given.pop("created_seq"))
    return RecordWriter(NODE_ID, EPOCH).record(kind, audit_state=state, **given, fields=complete(kind, fields))


def check(kind: type[schema.AuditEvent], envelope: dict[str, Any], fields: dict[str, Any]) -> None:
    key, value, headers = write(kind, envelope, fields)
    struct = kind(node_id=NODE_ID, coordinator_epoch=EPOCH, **envelope, **fields)
    assert value == schema.encode_event(struct)
    assert schema.decode_event(value) == struct
    seconds, milliseconds = divmod(envelope["time_ms"], 1000)
    at = datetime.fromtimestamp(seconds, UTC).replace(microsecond=milliseconds * 1000)
    time = at.isoformat(timespec="milliseconds")
    assert key == envelope["group_id"].encode()
    assert headers == (
        ("ce_specversion", b"1.0"),
        ("ce_id", f"{envelope['group_id']}/{envelope['seq']}".encode()),
        ("ce_type", schema.TAGS[kind].encode()),
        ("ce_source", f"/kafka-group-coordinator/nodes/{NODE_ID}".encode()),
        ("ce_time", time.encode()),
        ("content-type", b"application/json"),
    )


@pytest.mark.parametrize("kind", KINDS, ids=schema.TAGS.__getitem__)
@given(st.data())
@settings(max_examples=examples(50))
def test_an_event_is_written_as_its_struct_is_encoded(kind, data):
    fields = {field.name: data.draw(VALUES[field.type], field.name) for field in own_fields(kind)}
    check(kind, data.draw(ENVELOPES, "envelope"), fields)


@pytest.mark.parametrize("text", [STRANGE, *map(chr, range(0x100)), "long " * 50_000, "\x00" * 50_000])
def test_any_text_is_escaped_as_in_the_struct(text):
    member = schema.MemberRef(text, text, text, text)
    check(schema.StaticMemberReplaced, AN_ENVELOPE | {"group_id": text}, {"member": member, "old_member_id": text})
    check(schema.OffsetsExpired, AN_ENVELOPE, {"partitions": {text: [0]}, "unnamed_partitions": 0})


def test_a_long_event_and_then_a_short_one_of_its_kind():
    for topics in (10_000, 1):
        partitions = {f"topic-{i}": [i, -i] for i in range(topics)}
        check(schema.OffsetsDeleted, AN_ENVELOPE, {"partitions": partitions, "unnamed_partitions": 0})


def test_a_member_is_told_by_whatever_names_it():
    """A core member is; so that no struct has to be made of it."""
    member = SimpleNamespace(
        member_id="m",
        client_id="c",
        client_host="h",
        group_instance_id=None,
        client_software_name="s",
        client_software_version="1",
        principal="User:p",
        awaiting_join=None,
    )
    fields: dict[str, Any] = {"member": schema.MemberRef("m", "c", "h", None, "s", "1", "User:p"), "old_member_id": "o"}
    struct = schema.StaticMemberReplaced(node_id=NODE_ID, coordinator_epoch=EPOCH, **AN_ENVELOPE, **fields)
    assert write(schema.StaticMemberReplaced, AN_ENVELOPE, fields | {"member": member})[1] == schema.encode_event(
        struct
    )


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"cause": Cause.ADMIN, "more": 1},
        {"reason": "text"},
        {"cause": 1.5},
        {"cause": object()},
    ],
    ids=["none", "too many", "another", "a number that is no integer", "no value of JSON"],
)
def test_fields_that_the_event_does_not_have_are_refused(fields):
    with pytest.raises(TypeError):
        write(schema.GroupRemoved, AN_ENVELOPE, fields)


def test_fields_are_said_in_the_order_of_the_struct():
    with pytest.raises(TypeError, match="the fields are"):
        write(schema.MemberRemoved, AN_ENVELOPE, {"reason": "", "cause": Cause.ADMIN, "member": schema.MemberRef("m")})


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1])
def test_a_number_that_int64_cannot_hold_is_refused(number):
    with pytest.raises(OverflowError):
        write(schema.GroupEmptied, AN_ENVELOPE, {"rebalance_ms": number})


def test_text_that_is_no_unicode_is_refused():
    with pytest.raises(UnicodeEncodeError):
        write(schema.GroupRemoved, AN_ENVELOPE, {"cause": "\ud800"})


def test_the_first_event_of_an_incarnation_gives_it_its_number():
    state = GroupAuditState(7)
    given = {name: value for name, value in AN_ENVELOPE.items() if name not in ("seq", "created_seq")}
    writer = RecordWriter(NODE_ID, EPOCH)
    for kind, fields, seq in (
        (schema.GroupCreated, {}, 8),
        (schema.GroupEmptied, {"rebalance_ms": 0}, 9),
        (schema.GroupEmptied, {"rebalance_ms": 0}, 10),
    ):
        event = schema.decode_event(writer.record(kind, audit_state=state, **given, fields=complete(kind, fields))[1])
        assert (event.seq, event.created_seq) == (state.seq, state.created_seq) == (seq, 8)


def test_events_that_are_never_void_belong_to_what_was_stored_before_them():
    state = GroupAuditState()
    given = {name: value for name, value in AN_ENVELOPE.items() if name not in ("seq", "created_seq")}
    writer = RecordWriter(NODE_ID, EPOCH)

    def write(kind: type[schema.AuditEvent], **fields: Any) -> int:
        writer.record(kind, audit_state=state, **given, fields=complete(kind, fields))
        return state.stored_seq

    write(schema.GroupCreated)
    state.mark_stored(ClassicGroup("g"))
    assert write(schema.OffsetsExpired, partitions={}, unnamed_partitions=0) == 2
    assert write(schema.OffsetsDeleted, partitions={}, unnamed_partitions=0) == 3
    assert write(schema.GroupEmptied, rebalance_ms=0) == 3
    assert write(schema.OffsetsDeleted, partitions={}, unnamed_partitions=0) == 3
