"""Consumer groups (KIP-848) and groups that change their protocol, in the tables: from either source."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from _wire.records import parse_records
from coordinator.audit.schema import encode_event
from coordinator.core.consumer import large_targets
from coordinator.pipeline.batch import Batches
from coordinator.pipeline.bronze import AuditSource
from coordinator.pipeline.job import run_available
from coordinator.pipeline.names import GENERATIONS, MEMBERSHIPS, OWNERSHIP, REBALANCE_RATES, REJECTS, SILVER
from coordinator.pipeline.partition_state import PartitionState
from coordinator.pipeline.reader import query
from coordinator.pipeline.tables import Tables
from tests.audit.consumer_stories import late_target, named, settle
from tests.core.consumer.delayed_work import DelayedTargets
from tests.core.consumer.test_migration import classic_group, join, sync
from tests.core.consumer.world import World
from tests.pipeline.conftest import AuditTopic
from tests.pipeline.offsets_golden import StoredRecord, folded
from tests.pipeline.records import NamedRows, contents, records
from tests.pipeline.test_fold import fold
from tests.simulation.simulation import GROUP_ID

TABLES = (GENERATIONS, MEMBERSHIPS, OWNERSHIP)


def reconciled() -> World:
    """`a` has all of `t`, then gives up t-2 for `b`; a static member leaves for a moment and returns; `b` leaves."""
    world = named(World())
    world.enter("a")
    world.advance(1_000)
    world.enter("b")
    world.advance(100)
    world.beat("a", 2)
    world.advance(400)
    world.beat("a", 2, owned={"t": [0, 1]})
    world.advance(100)
    world.beat("b", 3)
    world.enter("s", "u", instance_id="pod-0")
    world.depart("s", -2, "pod-0")
    world.enter("s2", "u", instance_id="pod-0")
    for member_id in ("a", "b"):
        world.beat(member_id, world.epoch(member_id))
    world.depart("b")
    world.advance(500)
    world.beat("a", world.epoch("a"))
    world.beat("s2", world.epoch("s2"))
    return world


def migrated() -> World:
    """A classic group with one member becomes a consumer group, and a classic one again."""
    world, classic_id = classic_group()
    named(world)
    world.enter("a")
    assert join(world, classic_id).error.value == 0
    world.beat("a", 2)
    sync(world, classic_id, 2)
    world.depart("a")
    return world


def values_of(world: World) -> list[bytes]:
    return [encode_event(event) for event in world.audited()]


def stored(world: World) -> NamedRows:
    """The rows that the records of `__consumer_offsets` make."""
    kept = (parse_record for _, batch in world.offsets_log.batches(0) for parse_record in parse_records(batch))
    found = [StoredRecord(0, each.offset, each.timestamp_ms, each.key, each.value) for each in kept]
    topic_ids = {world.fixed.topic_id(name).hex(): name for name in ("t", "u")}
    return folded(found, topic_ids=topic_ids)


def owners(rows: NamedRows) -> list[tuple[str, str | None]]:
    return [(f"{row['topic']}-{row['topic_partition']}", row["member_id"]) for row in rows[OWNERSHIP]]


@pytest.mark.parametrize("step", [1, 2, 3, 7])
@pytest.mark.parametrize("play", [reconciled, migrated])
def test_rows_do_not_depend_on_where_a_batch_ends(play: Any, step: int):
    values, state = values_of(play()), PartitionState()
    whole = fold(values)
    parts = [fold(values[first : first + step], state, first) for first in range(0, len(values), step)]
    for table in TABLES:
        assert [row for part in parts for row in part[table]] == whole[table], table
    assert not whole[REJECTS]


def test_what_a_member_was_asked_to_give_up_is_its_own_until_it_has_done_so():
    rows = fold(values_of(reconciled()))
    of_t_2 = [row for row in rows[OWNERSHIP] if (row["topic"], row["topic_partition"]) == ("t", 2)]
    first = of_t_2[0]["since_ms"]
    assert [(row["member_id"], row["since_ms"] - first) for row in of_t_2[:3]] == [
        ("a", 0),
        (None, 1_500),
        ("b", 1_600),
    ]


def test_a_generation_is_a_group_epoch_and_says_so():
    rows = fold(values_of(reconciled()))
    told = [(row["generation_id"], row["outcome"], row["cause"]) for row in rows[GENERATIONS]]
    assert told[:2] == [(2, "stable", "new_member"), (3, "stable", "new_member")]
    assert told[-1] == (5, "stable", "member_left")
    for table in (*TABLES, REBALANCE_RATES):
        assert {row["group_type"] for row in rows[table]} == {"consumer"}, table
    left = [(row["member_id"], row["left_cause"]) for row in rows[MEMBERSHIPS] if row.get("left_ms")]
    assert left == [("s", "static_member_replaced"), ("b", "member_left")]


def test_both_sources_tell_the_same_epochs_members_and_owners():
    world = reconciled()
    audited, inferred = fold(values_of(world)), stored(world)
    assert owners(inferred) == owners(audited)
    for rows in (audited, inferred):
        assert {row["group_type"] for table in TABLES for row in rows[table]} == {"consumer"}
    names = ("generation_id", "outcome", "members", "partitions", "rebalance_started_ms", "stable_ms", "group_type")
    told = [[tuple(row.get(name) for name in names) for row in rows[GENERATIONS]] for rows in (audited, inferred)]
    assert told[0] == told[1]
    joined = [[row["member_id"] for row in rows[MEMBERSHIPS] if not row.get("left_ms")] for rows in (audited, inferred)]
    assert joined[0] == joined[1]


def test_a_migration_keeps_memberships_and_changes_the_type():
    rows = fold(values_of(migrated()))
    types = [(row["generation_id"], row["group_type"]) for row in rows[GENERATIONS]]
    assert types[:2] == [(1, "classic"), (2, "consumer")]
    ended = [(row["member_id"], row["left_cause"]) for row in rows[MEMBERSHIPS] if row.get("left_ms")]
    assert ended == [("a", "member_left")]
    assert len([row for row in rows[MEMBERSHIPS] if not row.get("left_ms")]) == 2


def test_spark_makes_these_tables_of_the_audit_topic(spark: SparkSession, tables: Tables, audit_topic: AuditTopic):
    values = [*values_of(reconciled())]
    audit_topic.append(GROUP_ID, values[: len(values) // 2])
    source = AuditSource(audit_topic.bootstrap, audit_topic.name)
    run_available(spark, source, tables)
    audit_topic.append(GROUP_ID, values[len(values) // 2 :])
    run_available(spark, source, tables)
    fresh = Tables(tables.root.parent / "fresh")
    Batches(fresh).add_records(records(values), 0)
    assert contents(tables) == contents(fresh)
    for table in (*TABLES, REBALANCE_RATES):
        found = spark.read.format("delta").load(tables.path(table))
        assert {row["group_type"] for row in found.select("group_type").distinct().collect()} == {"consumer"}, table
    sql = "SELECT sum(rebalances) AS n FROM rebalance_rates WHERE group_type = 'consumer'"
    (rates,) = query(tables.root, (REBALANCE_RATES,), sql)
    assert rates["n"] == sum(1 for event in reconciled().audited() if "RebalanceStarted" in type(event).__name__)


def overtaken() -> World:
    """The target of epoch 3 comes when the group epoch is 4; at last all members have that of 4."""
    world = named(World())
    targets = DelayedTargets(world)
    late_target(world, targets)
    targets.finish()
    settle(world)
    return world


@pytest.fixture
def all_targets_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_targets, "WORK_AT_ONCE", 0)


def test_both_sources_tell_a_migration():
    """The group goes on with its members, in both directions: nobody joins or leaves with it but who does."""
    world = migrated()
    audited, inferred = fold(values_of(world)), stored(world)
    for rows in (audited, inferred):
        kinds = [row["kind"] for row in rows[SILVER]]
        assert kinds.count("group.converted") == 2
        assert (kinds.count("group.created"), kinds.count("group.removed")) == (1, 0)
    for table, names in (
        (MEMBERSHIPS, ("member_id", "joined_ms", "left_ms")),
        (GENERATIONS, ("generation_id", "outcome", "group_type", "members")),
    ):
        told = [[tuple(row.get(name) for name in names) for row in rows[table]] for rows in (audited, inferred)]
        assert told[0] == told[1], table
    assert owners(inferred) == owners(audited)


@pytest.mark.usefixtures("all_targets_are_large")
@pytest.mark.parametrize("step", [1, 2, 3, 7])
def test_an_epoch_that_started_late_has_one_row_wherever_a_batch_ends(step: int):
    values, state = values_of(overtaken()), PartitionState()
    whole = fold(values)
    parts = [fold(values[first : first + step], state, first) for first in range(0, len(values), step)]
    for table in TABLES:
        assert [row for part in parts for row in part[table]] == whole[table], table
    rows = {row["generation_id"]: row for row in whole[GENERATIONS]}
    assert [row["generation_id"] for row in whole[GENERATIONS]] == [2, 3, 4]
    late = rows[3]
    assert (late["outcome"], late["join_ms"]) == ("superseded", 2_000)
    assert late["generation_started_ms"] - late["rebalance_ended_ms"] == 1_500
    assert "That came 1.5 s later, for members to reconcile with until a newer one is there." in late["sentence"]


@pytest.mark.usefixtures("all_targets_are_large")
def test_both_sources_tell_when_an_epoch_started_late():
    world = overtaken()
    audited, inferred = fold(values_of(world)), stored(world)
    names = ("generation_id", "outcome", "rebalance_started_ms", "stable_ms")
    told = [[tuple(row.get(name) for name in names) for row in rows[GENERATIONS]] for rows in (audited, inferred)]
    assert told[0] == told[1]
    assert owners(inferred) == owners(audited)
    started = [
        [(row["time_ms"], row["generation_id"]) for row in rows[SILVER] if row["kind"] == "generation.started"]
        for rows in (audited, inferred)
    ]
    assert started[0] == started[1]
    assert [epoch for _, epoch in started[0]] == [2, 4, 4]
