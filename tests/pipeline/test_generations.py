import random
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import SparkSession

from coordinator.audit.schema import encode_event
from coordinator.core.causes import Cause
from coordinator.pipeline.events import typed_events
from coordinator.pipeline.generations import COLUMNS, KEY, KINDS, generation_rows, merge_generations, remove_voided
from coordinator.pipeline.show import read_generations
from coordinator.pipeline.tables import GENERATIONS, Tables
from tests.pipeline.conftest import Bronze
from tests.pipeline.history import History, eventful, member

A, B = member("a"), member("b", instance_id="till-1")


def rows_of(raw: Bronze, values: Sequence[bytes]) -> dict[int, dict[str, Any]]:
    """The rows of one group, computed from all values at once."""
    rows = generation_rows(typed_events(raw(values), KINDS)).collect()
    return {row["generation_id"]: row.asDict() for row in rows}


def at(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC).replace(tzinfo=None)


def test_a_stable_generation_tells_why_who_when_and_how_much(raw: Bronze):
    history = History(now_ms=1_700_000_000_000).created().rebalance(Cause.NEW_MEMBER, B, reason="hello")
    history.started(members=2).assigned(A, [0]).assigned(B, [1]).stable(members=2, moved=1)
    assert rows_of(raw, history.values()) == {
        1: {
            "group_id": "orders",
            "created_seq": 1,
            "generation_id": 1,
            "outcome": "stable",
            "cause": "new_member",
            "cause_member_id": "b-id",
            "cause_client_id": "b",
            "cause_client_host": "/127.0.0.1",
            "cause_group_instance_id": "till-1",
            "reason": "hello",
            "rebalance_started_at": at(1_700_000_000_020),
            "generation_started_at": at(1_700_000_000_030),
            "stable_at": at(1_700_000_000_060),
            "rebalance_ended_at": at(1_700_000_000_060),
            "join_ms": 10,
            "sync_ms": 20,
            "rebalance_ms": 30,
            "members": 2,
            "leader": "a-id",
            "protocol_name": "range",
            "partitions": 6,
            "partitions_moved": 1,
            "unowned_partition_ms": 180,
            "first_seq": 2,
            "last_seq": 6,
            "cause_seq": 2,
            "generation_started_seq": 3,
            "ended_seq": 6,
            "coordinator_epoch": 3,
        }
    }


def test_a_rebalance_that_overtakes_another_supersedes_its_generation(raw: Bronze):
    history = History().created().rebalance(Cause.NEW_MEMBER, A).started().superseded()
    history.rebalance(Cause.METADATA_CHANGED, A).started().stable()
    rows = rows_of(raw, history.values())
    assert [(row["outcome"], row["cause"], row["rebalance_ms"]) for _, row in sorted(rows.items())] == [
        ("superseded", "new_member", 40),
        ("stable", "metadata_changed", 30),
    ]
    assert rows[1]["stable_at"] is None
    assert rows[1]["rebalance_ended_at"] is not None
    assert rows[1]["partitions"] is None


def test_a_rebalance_without_a_member_left_uses_up_a_generation(raw: Bronze):
    history = History().created().stable_with(Cause.NEW_MEMBER, A).rebalance(Cause.MEMBER_LEFT, A, members=0).emptied()
    row = rows_of(raw, history.values())[2]
    assert (row["outcome"], row["cause"], row["members"], row["rebalance_ms"]) == ("emptied", "member_left", 0, 50)
    assert row["leader"] is None


def test_a_rebalance_that_goes_on_is_in_progress(raw: Bronze):
    row = rows_of(raw, History().created().rebalance(Cause.ADMIN, None).values())[1]
    assert (row["outcome"], row["cause"], row["cause_member_id"], row["rebalance_ms"]) == (
        "in_progress",
        "admin",
        None,
        None,
    )


def test_the_first_of_several_rebalances_towards_one_generation_is_its_cause(raw: Bronze):
    """A restart in the middle of a rebalance starts it once more."""
    history = History().created().rebalance(Cause.NEW_MEMBER, A).rebalance(Cause.SESSION_EXPIRED, B).started().stable()
    row = rows_of(raw, list(reversed(history.values())))[1]
    assert (row["cause"], row["cause_client_id"], row["first_seq"]) == ("new_member", "a", 2)


def test_events_that_come_twice_change_nothing(raw: Bronze):
    values = eventful().values()
    assert rows_of(raw, [*values, *values]) == rows_of(raw, values)


@pytest.mark.parametrize("seed", range(2))
def test_any_split_into_batches_in_any_order_gives_the_same_table(
    spark: SparkSession, raw: Bronze, tables: Tables, seed: int
):
    """The batches overlap, come shuffled, and one of them twice: the table equals the one computed at once."""
    chance = random.Random(seed)
    values = [*eventful("orders").values(), *eventful("payments").values()]
    shuffled = chance.sample(values, len(values))
    cuts = sorted(chance.sample(range(1, len(values)), 2))
    batches = [shuffled[: cuts[0] + 2], shuffled[cuts[0] : cuts[1]], shuffled[cuts[1] :]]
    batches.append(chance.choice(batches))

    table = tables.create(spark, GENERATIONS, COLUMNS)
    for batch in batches:
        merge_generations(table, generation_rows(typed_events(raw(batch), KINDS)))

    at_once = generation_rows(typed_events(raw(values), KINDS)).sort(*KEY).collect()
    assert read_generations(spark, tables) == [row.asDict() for row in at_once]


def test_the_lives_of_a_group_made_anew_are_told_apart(raw: Bronze):
    history = History().created().stable_with(Cause.NEW_MEMBER, A).removed()
    history.created().stable_with(Cause.NEW_MEMBER, B)
    rows = generation_rows(typed_events(raw(history.values()), KINDS)).sort(*KEY).collect()
    assert [(row["created_seq"], row["generation_id"], row["cause_client_id"]) for row in rows] == [
        (1, 1, "a"),
        (7, 1, "b"),
    ]


def test_columns_fill_in_as_the_rebalance_goes_on(spark: SparkSession, raw: Bronze, tables: Tables):
    history = History().created().rebalance(Cause.NEW_MEMBER, A).started(members=1).stable()
    table = tables.create(spark, GENERATIONS, COLUMNS)
    seen = []
    for event in history.events[1:]:
        merge_generations(table, generation_rows(typed_events(raw([encode_event(event)]), KINDS)))
        (row,) = read_generations(spark, tables)
        seen.append((row["outcome"], row["cause"], row["members"], row["partitions"], row["last_seq"]))
    assert seen == [
        ("in_progress", "new_member", None, None, 2),
        ("in_progress", "new_member", 1, None, 3),
        ("stable", "new_member", 1, 6, 4),
    ]


def voided(void_from_seq: int) -> History:
    """A crash loses generation 2 (seq 6 to 9), which the audit has reported already. Another generation 2 follows."""
    history = History().created().stable_with(Cause.NEW_MEMBER, A)
    history.rebalance(Cause.NEW_MEMBER, B).started(members=2).assigned(B, [3]).stable(members=2, moved=3)
    history.loaded(generation_id=1, state="Stable", void_from_seq=void_from_seq)
    return history.stable_with(Cause.LEADER_REJOINED, A)


def test_what_a_crash_made_void_is_in_no_row(raw: Bronze):
    rows = rows_of(raw, voided(void_from_seq=6).values())
    assert [(number, row["cause"], row["members"]) for number, row in sorted(rows.items())] == [
        (1, "new_member", 1),
        (2, "leader_rejoined", 1),
    ]
    assert (rows[1]["last_seq"], rows[2]["first_seq"], rows[2]["ended_seq"]) == (5, 11, 14)


def test_an_interrupted_rebalance_that_was_not_void_keeps_its_cause(raw: Bronze):
    history = History().created().rebalance(Cause.NEW_MEMBER, A).loaded(0, "Empty", void_from_seq=None)
    row = rows_of(raw, history.stable_with(Cause.SESSION_EXPIRED, B).values())[1]
    assert (row["cause"], row["outcome"]) == ("new_member", "stable")


@pytest.mark.parametrize(("void_from_seq", "cut"), [(6, 9), (7, 9), (7, 12)])
def test_a_void_takes_back_what_the_table_holds(
    spark: SparkSession, raw: Bronze, tables: Tables, void_from_seq: int, cut: int
):
    """Wherever the first batch ends, whether a row is void or a part of it, also when the second batch runs twice."""
    values = voided(void_from_seq).values()
    table = tables.create(spark, GENERATIONS, COLUMNS)
    for batch in (values[:cut], values[cut:], values[cut:]):
        events = typed_events(raw(batch), KINDS)
        remove_voided(table, events)
        merge_generations(table, generation_rows(events))
    assert {row["generation_id"]: row for row in read_generations(spark, tables)} == rows_of(raw, values)
