import json
from typing import Any, Final

import pytest

from coordinator.audit.schema import (
    AuthorizationDenied,
    CoordinatorEvent,
    CoordinatorStarted,
    GroupHeldByCluster,
    LeadershipTaken,
    MemberJoined,
    MemberRef,
    MemberRemoved,
    encode_event,
)
from coordinator.core.causes import Cause
from coordinator.pipeline.fold import Fold, Position
from coordinator.pipeline.names import FINDINGS, GAPS, GENERATIONS, MEMBERSHIPS, OWNERSHIP, REJECTS, SILVER, VOIDS
from coordinator.pipeline.partition_state import PartitionState, encode_state
from coordinator.pipeline.rows import NewRows
from tests.pipeline.history import History, eventful, member
from tests.pipeline.records import NamedRows, named

A, B = member("a"), member("b", instance_id="till-1")


def fold(
    values: list[bytes], state: PartitionState | None = None, first_offset: int = 0, partition: int = 0
) -> NamedRows:
    """The rows of one batch; `state` is that before it, and becomes that after it."""
    state, rows = state or PartitionState(), NewRows()
    folded = Fold(state, rows)
    folded.add_records(values, [Position(partition, first_offset + place, 1) for place in range(len(values))])
    state.update(folded.finish())
    return named(rows)


def outcomes(rows: NamedRows) -> list[tuple[Any, ...]]:
    return [(row["generation_id"], row["outcome"], row.get("cause")) for row in rows[GENERATIONS]]


def joined(history: History, who: Any) -> History:
    own: dict[str, Any] = {"protocols": ["range"], "subscribed_topics": ["orders"]}
    history.add(MemberJoined, "Empty", member=who, session_timeout_ms=9, rebalance_timeout_ms=9, **own)
    return history


def owners(rows: NamedRows) -> dict[int, str | None]:
    """The owner of each partition after all rows, as a reader of the table finds it."""
    return {row["topic_partition"]: row["member_id"] for row in rows[OWNERSHIP]}


def test_each_generation_has_one_row_with_its_outcome_and_cause():
    state = PartitionState()
    rows = fold(eventful().values(), state)
    assert outcomes(rows) == [
        (1, "stable", "new_member"),
        (2, "superseded", "new_member"),
        (3, "stable", "session_expired"),
        (4, "emptied", "member_left"),
    ]
    orders = state.group("orders")
    assert orders is not None and orders.open is not None
    assert orders.open["generation_id"] == 5


def test_a_stable_generation_tells_why_who_when_and_how_much():
    history = History().created().rebalance(Cause.NEW_MEMBER, B, reason="hello").started(members=2)
    (row,) = fold(history.assigned(A, [0]).stable(members=2).values())[GENERATIONS]
    wanted = {"reason": "hello", "cause_client_id": "b", "cause_group_instance_id": "till-1", "join_ms": 10}
    wanted |= {"sync_ms": 20, "rebalance_ms": 30, "partitions": 6, "partitions_moved": 0, "members": 2}
    wanted |= {"rebalance_started_ms": 1_700_000_000_020, "stable_ms": 1_700_000_000_050, "first_seq": 2, "last_seq": 5}
    assert {name: row[name] for name in wanted} == wanted


@pytest.mark.parametrize("cut", range(1, 17))
def test_rows_do_not_depend_on_where_a_batch_ends(cut: int):
    values = eventful().values()
    state = PartitionState()
    parts = [fold(values[:cut], state), fold(values[cut:], state, cut)]
    whole = fold(values)
    for table in (SILVER, GENERATIONS, OWNERSHIP):
        assert [row for part in parts for row in part[table]] == whole[table]


def test_a_repeated_event_adds_nothing():
    values = eventful().values()
    assert fold([*values, *values[3:6]])[SILVER] == fold(values)[SILVER]


def test_a_missing_event_is_a_gap_and_may_come_late():
    values = eventful().values()
    rows = fold([*values[:4], *values[6:], values[4]])
    gaps = [(row["first_seq"], row["last_seq"], row["is_filled"]) for row in rows[GAPS]]
    assert gaps == [(5, 6, False), (5, 5, True)]
    assert [row["seq"] for row in rows[SILVER]][-1] == 5


def test_a_new_incarnation_is_no_gap():
    history = History().created().removed()
    history.created_seq = 0
    assert not fold(history.created().values())[GAPS]


def test_events_that_retention_deleted_are_told_apart_from_missing_ones():
    values = eventful().values()

    def gap(rows: NamedRows) -> tuple[int, int, bool | None]:
        (found,) = rows[GAPS]
        return found["first_seq"], found["last_seq"], found["is_deleted"]

    assert gap(fold(values[3:], first_offset=3)) == (1, 3, True), "the topic began there"
    assert gap(fold(values[3:])) == (1, 3, False), "the topic was read from its first record on"
    state = PartitionState()
    fold(values[:4], state)
    assert gap(fold(values[6:], state, 60)) == (5, 6, True), "the job was stopped for longer than the retention"
    state = PartitionState()
    fold(values[:4], state)
    assert gap(fold(values[6:], state, 4)) == (5, 6, False), "all offsets were read"


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (None, "no value"),
        (b"", "no JSON"),
        (b"\xff\xfe", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"[1]", "no JSON object with a kind"),
        (b'{"kind": 7}', "no JSON object with a kind"),
        (b'{"kind": "member.joined", "group_id": 3}', "no valid group_id"),
        (b'{"kind": "member.joined", "group_id": "orders", "seq": true}', "no valid seq"),
    ],
)
def test_a_record_that_is_no_event_is_rejected_with_its_offset(value: bytes | None, why: str):
    values = eventful().values()
    rows = fold([values[0], value, *values[1:]])  # type: ignore[list-item]
    (reject,) = rows[REJECTS]
    assert reject["offset"] == 1
    assert reject["why"].startswith(why)
    assert len(rows[SILVER]) == len(values)


@pytest.mark.parametrize(
    "change",
    [
        {"member": None},
        {"member": {"client_id": "a"}},
        {"gained": {"orders": ["zero"]}},
        {"gained": 7},
        {"lost": None},
    ],
)
def test_an_event_that_cannot_be_applied_is_rejected(change: dict[str, Any]):
    value = next(value for value in eventful().values() if b'"member.assigned"' in value)
    rows = fold([json.dumps(json.loads(value) | change).encode()])
    assert rows[REJECTS][0]["why"].startswith("no valid member.assigned")


def test_fields_kinds_and_causes_of_tomorrow_are_kept():
    event = json.loads(eventful().values()[0]) | {"weather": "rain"}
    unknown = event | {"kind": "group.teleported", "seq": 2}
    rebalance = json.loads(eventful().values()[1]) | {"cause": "bored", "seq": 3}
    changed = json.loads(eventful().values()[1]) | {"schema_version": 2, "members": "many", "seq": 4}
    rows = fold([json.dumps(each).encode() for each in (event, unknown, rebalance, changed)])
    assert not rows[REJECTS] and not rows[GAPS]
    assert ["weather" in row["value"] for row in rows[SILVER]] == [True, True, False, False]
    assert [row["kind"] for row in rows[SILVER]][1:] == ["group.teleported", "rebalance.started", "rebalance.started"]
    assert rows[SILVER][2]["cause"] == "bored"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"time_ms": 2**63}, "a number beyond 64 bits"),
        ({"topic_changes": {"orders": [1]}}, "no valid rebalance.started: topic_changes"),
        ({"kind": "group.teleported", "seq": 2**63}, "no valid seq"),
    ],
)
def test_what_the_tables_cannot_hold_is_rejected(change: dict[str, Any], why: str):
    values = eventful().values()
    rows = fold([values[0], json.dumps(json.loads(values[1]) | change).encode()])
    assert [row["why"].startswith(why) for row in rows[REJECTS]] == [True]


def test_an_event_of_the_server_is_kept_without_a_group():
    rows = fold([b'{"kind":"coordinator.started","schema_version":1,"time_ms":5,"node_id":1,"coordinator_epoch":2}'])
    assert [row["kind"] for row in rows[SILVER]] == ["coordinator.started"]
    assert not rows[REJECTS]


def test_an_event_of_the_server_that_other_partitions_repeat_is_kept_once():
    event = b'{"kind":"coordinator.started","schema_version":1,"time_ms":5,"node_id":1,"coordinator_epoch":2}'
    found = [fold([event], partition=partition) for partition in (0, 1, 2)]
    assert [[(row["kind"], row["partition"]) for row in rows[SILVER]] for rows in found] == [
        [("coordinator.started", 0)],
        [],
        [],
    ]
    assert not any(rows[REJECTS] for rows in found)


ABOUT: Final[dict[str, Any]] = {"time_ms": 5, "node_id": 1, "coordinator_epoch": 2}
TAKEN = LeadershipTaken(partition=1, producer_id=4, producer_epoch=7, **ABOUT)
DENIED = AuthorizationDenied(
    number=1,
    principal="User:alice",
    client_id="a",
    client_host="/10.0.0.1",
    api="JoinGroup",
    operation="READ",
    resource_type="GROUP",
    resource_name="orders",
    rule="DefaultDeny",
    **ABOUT,
)
HELD = GroupHeldByCluster(group_id="orders", members=[MemberRef("a-id", "a", "/10.0.0.1")], since_ms=4, **ABOUT)
OVER = GroupHeldByCluster(group_id="orders", members=[], since_ms=4, **ABOUT)


@pytest.mark.parametrize(
    ("event", "partition", "rows"),
    [
        (TAKEN, 1, [("leadership.taken", None)]),
        (DENIED, 0, [("authorization.denied", None)]),
        (HELD, 1, [("group.held_by_cluster", "orders")]),
    ],
)
def test_an_event_of_the_server_that_is_in_one_partition_is_kept(
    event: CoordinatorEvent, partition: int, rows: list[tuple[str, str | None]]
):
    found = fold([encode_event(event)], partition=partition)
    assert [(row["kind"], row["group_id"]) for row in found[SILVER]] == rows
    assert not found[REJECTS] and not found[GAPS]


def test_what_is_remembered_of_the_server_is_when_it_was_away():
    """However often somebody is denied something in between."""
    state = PartitionState()
    started = b'{"kind":"coordinator.started","schema_version":1,"time_ms":5,"node_id":1,"coordinator_epoch":2,'
    fold([started + b'"software_version":"1"}', *[encode_event(DENIED)] * 100, encode_event(TAKEN)], state)
    assert [type(each) for each in state.about or ()] == [CoordinatorStarted, LeadershipTaken]


def test_members_at_the_cluster_are_a_finding_of_a_group_without_other_events_until_it_is_over():
    state = PartitionState()
    first = fold([encode_event(HELD)], state)
    assert [(row["kind"], row["group_id"], row["time_ms"]) for row in first[FINDINGS]] == [
        ("held_by_cluster", "orders", 5)
    ]
    assert not fold([encode_event(HELD)], state)[FINDINGS]
    last = fold([encode_event(OVER)], state)
    assert [(row["kind"], row["is_over"]) for row in last[FINDINGS]] == [("held_by_cluster", True)]


def test_members_at_the_cluster_leave_no_gap_in_the_events_of_the_group():
    values = History().created().stable_with(Cause.NEW_MEMBER, A).values()
    state = PartitionState()
    rows = [fold([each], state, first_offset) for first_offset, each in enumerate([encode_event(HELD), *values])]
    rows.append(fold([encode_event(OVER)], state, 99))
    assert not any(row[GAPS] or row[REJECTS] for row in rows)
    assert [row["generation_id"] for each in rows for row in each[GENERATIONS]] == [1]


def test_who_owned_a_partition_follows_assignments_and_removals():
    history = joined(joined(History().created(), A), B).rebalance(Cause.NEW_MEMBER, A).started(members=2)
    history.assigned(A, [0, 1]).assigned(B, [2]).stable(members=2)
    assert owners(fold(history.values())) == {0: "a-id", 1: "a-id", 2: "b-id"}
    history.add(MemberRemoved, "Stable", member=A, cause=Cause.SESSION_EXPIRED, reason="")
    rows = fold(history.values())
    assert owners(rows) == {0: None, 1: None, 2: "b-id"}
    left = [(row["member_id"], row["left_cause"]) for row in rows[MEMBERSHIPS] if "left_ms" in row]
    assert left == [("a-id", "session_expired")]


def test_a_crash_erases_no_generation_that_clients_saw():
    history = History().created().stable_with(Cause.NEW_MEMBER, A).rebalance(Cause.NEW_MEMBER, B).started(members=2)
    history.loaded(generation_id=1, state="Stable", void_from_seq=6).stable_with(Cause.LEADER_REJOINED, A)
    rows = fold(history.values())
    assert outcomes(rows) == [
        (1, "stable", "new_member"),
        (2, "cut_short", "new_member"),
        (2, "stable", "leader_rejoined"),
    ]
    assert [(row["first_seq"], row["last_seq"]) for row in rows[VOIDS]] == [(6, 7)]


@pytest.mark.parametrize("cut", range(15))
def test_a_fold_that_runs_twice_makes_the_same_rows_and_the_same_state(cut: int):
    """As a task of Spark that is tried again: what it starts from has not changed."""
    values, state = eventful().values(), PartitionState()
    fold(values[:cut], state)
    before = encode_state(state)
    made: list[tuple[NamedRows, bytes]] = []
    for _ in range(2):
        rows = NewRows()
        folded = Fold(state, rows)
        folded.add_records(values[cut:], [Position(0, cut + place, 1) for place in range(len(values) - cut)])
        changes = encode_state(folded.finish())
        made.append((named(rows), changes))
    assert encode_state(state) == before
    assert made[0] == made[1]
    assert made[0][0][SILVER]
