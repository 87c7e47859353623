"""What happened to a group beside its rebalances, in words."""

from typing import Any

import pytest

from coordinator.audit import schema
from coordinator.audit.schema import MemberRef, Requester
from coordinator.core.causes import Cause
from coordinator.explain.history import GroupHistory
from coordinator.explain.notes import notes
from tests.pipeline.history import History

ADMIN = Requester("admin-1", "/10.0.0.9")
B = MemberRef("b-id", "b", "/10.0.0.2", "pod-0")


def told(*events: tuple[type[schema.AuditEvent], dict[str, Any]]) -> list[str]:
    history = History().created()
    for kind, own in events:
        history.add(kind, "Empty", **own)
    return [note.text for note in notes(GroupHistory.of("orders", history.events))]


@pytest.mark.parametrize(
    ("partitions", "text"),
    [
        ({"t": [[0, 500, 0]]}, "admin-1 (10.0.0.9) reset 1 committed offset: t-0 from 500 to 0"),
        (
            {"t": [[0, 5, 1], [1, -1, 1_000]], "u": [[0, 5, 1], [1, 5, 1]]},
            "admin-1 (10.0.0.9) reset 4 committed offsets: t-0 from 5 to 1, t-1 from none to 1,000, u-0 from 5 to 1"
            " and 1 more",
        ),
    ],
)
def test_who_reset_what_from_where_to_where(partitions, text):
    assert told((schema.OffsetsReset, {"requested_by": ADMIN, "partitions": partitions})) == [text]


@pytest.mark.parametrize(
    ("own", "text"),
    [
        ({"requested_by": ADMIN}, "admin-1 (10.0.0.9) deleted 2 committed offsets of t"),
        ({"cause": Cause.TOPIC_DELETED}, "2 committed offsets of t were deleted with their topics"),
        ({"cause": Cause.GROUP_REMOVED}, "2 committed offsets of t were deleted with the group"),
        (
            {"requested_by": ADMIN, "offsets": {"t": [[1, -1], [0, 41]]}},
            "admin-1 (10.0.0.9) deleted 2 committed offsets of t: t-0 at 41 and t-1 of an open transaction",
        ),
    ],
)
def test_who_deleted_what(own, text):
    assert told((schema.OffsetsDeleted, {"partitions": {"t": [0, 1]}} | own)) == [text]


def test_offsets_that_expired():
    assert told((schema.OffsetsExpired, {"partitions": {"t": [0]}})) == [
        "1 committed offset of t expired (offsets.retention.minutes)"
    ]


@pytest.mark.parametrize(
    ("own", "text"),
    [
        (
            {"api": "Heartbeat", "error": "FENCED_INSTANCE_ID", "holder": MemberRef("c-id", "c", "/10.0.0.3", "pod-0")},
            "b (10.0.0.2) was fenced: c (10.0.0.3) has its group.instance.id pod-0",
        ),
        (
            {"api": "JoinGroup", "error": "INCONSISTENT_GROUP_PROTOCOL"},
            "pod-0 (10.0.0.2) was refused: it offers no assignor that all members have",
        ),
        (
            {"api": "JoinGroup", "error": "GROUP_MAX_SIZE_REACHED", "count": 10},
            "pod-0 (10.0.0.2) was refused: the group is full (group.max.size), 10 times so far",
        ),
        (
            {"api": "OffsetCommit", "error": "ILLEGAL_GENERATION", "request_generation_id": 7},
            "an offset commit by pod-0 (10.0.0.2) was refused: it named generation 7, and the group was in",
        ),
        (
            {"api": "TxnOffsetCommit", "error": "UNKNOWN_MEMBER_ID", "request_generation_id": 7},
            "an offset commit of a transaction by pod-0 (10.0.0.2) was refused: it is no member (it named",
        ),
        (
            {"api": "TxnOffsetCommit", "error": "INVALID_PRODUCER_EPOCH", "transactional_id": "copier"},
            "an offset commit of a transaction by pod-0 (10.0.0.2) was refused: a newer producer has its"
            " transactional.id copier",
        ),
        (
            {"api": "JoinGroup", "error": "INCONSISTENT_GROUP_PROTOCOL", "protocols": ["sticky"]}
            | {"group_protocols": ["range", "roundrobin"]},
            "pod-0 (10.0.0.2) was refused: it offers sticky, and what all members have is range and roundrobin",
        ),
        (
            {
                "api": "JoinGroup",
                "error": "INCONSISTENT_GROUP_PROTOCOL",
                "protocols": ["v1"],
                "protocol_type": "connect",
            }
            | {"group_protocol_type": "consumer"},
            "pod-0 (10.0.0.2) was refused: its protocol type is connect, and that of the group is consumer",
        ),
        ({"api": "SyncGroup", "error": "UNKNOWN_MEMBER_ID"}, "SyncGroup of pod-0 (10.0.0.2) was rejected with UNKNOWN"),
    ],
)
def test_who_was_refused_and_why(own, text):
    (found,) = told((schema.RequestRejected, {"member": B} | own))
    assert found.startswith(text)


def test_who_deleted_the_group():
    assert told((schema.GroupRemoved, {"cause": Cause.ADMIN, "requested_by": ADMIN})) == [
        "admin-1 (10.0.0.9) deleted the group"
    ]


def test_a_group_that_was_given_back_to_the_cluster_was_not_deleted():
    assert told((schema.GroupRemoved, {"cause": Cause.RELEASED})) == [
        "the group was given back to the cluster, which coordinates it from here on"
    ]


def test_from_when_to_when_no_rule_watched_a_group():
    unseen = {"because": "not_watched", "from_ms": 1_000, "until_ms": 61_000}
    assert told((schema.GroupUnseen, unseen)) == [
        "no rule watched the group from here on, for 1 min: of what happened meanwhile records alone tell"
    ]


def test_notes_are_in_the_order_of_their_times():
    reset = (schema.OffsetsReset, {"requested_by": ADMIN, "partitions": {}})
    expired = (schema.OffsetsExpired, {"partitions": {"t": [0]}})
    assert ["reset" in each for each in told(reset, expired, reset)] == [True, False, True]


def test_hostile_names_do_not_control_the_terminal():
    hostile = Requester("x\x1b[2J", "/10.0.0.9\x1b")
    partitions = {"\x1b[2J": [[0, 1, 2]]}
    assert all(
        each.isprintable() for each in told((schema.OffsetsReset, {"requested_by": hostile, "partitions": partitions}))
    )
