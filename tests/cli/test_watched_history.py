"""The history that commands make of a group that nodes watch, adopt and give back."""

from typing import Any, Final

import msgspec
import pytest

from coordinator.audit import schema
from coordinator.audit.schema.observed import ObservedEvent, Place, Source, encode_observed
from coordinator.cli.source import history_of
from coordinator.client.audit_topic import AuditRecord, audit_record
from coordinator.core.causes import Cause
from coordinator.explain.claims.causes import Usual
from coordinator.explain.makers.unsaid import left_unsaid
from coordinator.explain.notes import notes
from coordinator.observe.history import ObservedHistory

GROUP: Final = "g"
BEGIN_MS: Final = 1_700_000_000_000
NODE: Final = Place(Source.NODE, "node 1", BEGIN_MS)


def event(kind: type[schema.AuditEvent], seq: int, **fields: Any) -> schema.AuditEvent:
    given = {
        "group_id": GROUP,
        "seq": seq,
        "created_seq": 1,
        "time_ms": BEGIN_MS + seq,
        "node_id": 1,
        "coordinator_epoch": 0,
        "state": "Stable",
        "state_before": "Stable",
        "generation_id": 1,
        "generation_id_before": 1,
        **fields,
    }
    names = {field.name for field in msgspec.structs.fields(kind)}
    return kind(**{name: value for name, value in given.items() if name in names})


def joined(seq: int, name: str) -> schema.AuditEvent:
    who = schema.MemberRef(name, name, "10.0.0.1")
    times = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000}
    return event(schema.MemberJoined, seq, member=who, protocols=["range"], subscribed_topics=["t"], **times)


def told_by_coordinator(found: schema.AuditEvent) -> bytes:
    return msgspec.json.encode(found)


def seen_by_node(found: schema.AuditEvent) -> bytes:
    return encode_observed(ObservedEvent(found, (NODE,)))


def records(*values: bytes | schema.CoordinatorEvent) -> list[AuditRecord]:
    return [
        audit_record(0, offset, GROUP.encode(), value)
        if isinstance(value, bytes)
        else audit_record(0, offset, None, msgspec.json.encode(value))
        for offset, value in enumerate(values)
    ]


def started(at_ms: int, node_id: int) -> schema.CoordinatorStarted:
    return schema.CoordinatorStarted(
        time_ms=at_ms, node_id=node_id, coordinator_epoch=1, software_version="1", groups=0
    )


def test_what_nodes_told_of_a_group_before_they_gave_it_back_stays():
    history = history_of(
        GROUP,
        records(
            told_by_coordinator(event(schema.GroupCreated, 1, group_type="classic")),
            told_by_coordinator(joined(2, "own")),
            told_by_coordinator(event(schema.GroupRemoved, 3, state="Dead", cause=Cause.RELEASED)),
            seen_by_node(event(schema.GroupCreated, 4, created_seq=4, group_type="classic")),
            seen_by_node(joined(5, "seen")),
        ),
    )
    assert isinstance(history, ObservedHistory)
    assert history.last_seq == 5
    assert [note.text for note in notes(history)] == [
        "the group was given back to the cluster, which coordinates it from here on"
    ]


@pytest.mark.parametrize("is_watched", [True, False])
def test_a_node_that_starts_is_no_coordinator_of_a_group_that_it_watches(is_watched: bool):
    value = seen_by_node if is_watched else told_by_coordinator
    history = history_of(
        GROUP,
        records(
            value(event(schema.GroupCreated, 1, group_type="classic")),
            value(joined(2, "a")),
            started(BEGIN_MS + 60_000, 1),
        ),
    )
    assert bool(notes(history)) is not is_watched


def test_of_a_group_that_was_adopted_the_absences_of_the_nodes_are_told():
    history = history_of(
        GROUP,
        records(
            seen_by_node(event(schema.GroupCreated, 1, group_type="classic")),
            told_by_coordinator(event(schema.GroupCreated, 2, created_seq=2, group_type="classic")),
            told_by_coordinator(joined(3, "own")),
            started(BEGIN_MS + 60_000, 1),
        ),
    )
    assert any("the coordinator" in note.text for note in notes(history))


def test_that_a_member_gave_no_reason_is_seen_by_a_node_and_is_not_in_a_log():
    who = schema.MemberRef("a", "a", "10.0.0.1", client_software_name="kafka-python")
    for last_joined_ms in (None, BEGIN_MS):
        left = event(
            schema.MemberRemoved, 3, member=who, cause=Cause.MEMBER_LEFT, reason="", last_joined_ms=last_joined_ms
        )
        history = history_of(
            GROUP,
            records(
                seen_by_node(event(schema.GroupCreated, 1, group_type="classic")),
                seen_by_node(joined(2, "a")),
                seen_by_node(left),
            ),
        )
        (removal,) = history.pending_changes.removed
        (claim,) = left_unsaid([removal], history)
        assert (claim.usual is Usual.NOT_LOGGED) is (last_joined_ms is None)
