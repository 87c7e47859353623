"""Gold: one row per group (each of its lives) and generation: why it came, who caused it, how long it took, what moved.

A row is put together from three events, each with its own columns (a *facet*):

    rebalance.started                                        why, and since when        → cause_seq
    generation.started, group.emptied                        who, and under what        → generation_started_seq
    generation.stable, rebalance.superseded, group.emptied   how it came out            → ended_seq

They may come in different micro-batches, twice, or in any order. Of two events that would fill the same facet the one
with the lower `seq` does, so merging is associative, commutative and idempotent: each split of the events into
batches, and each repetition of one, gives the same table. That is why no state and no watermark is kept here.

A crash may leave events in the topic that never took effect; `group.loaded` then voids them. That one thing needs the
batches in the order of the topic, which bronze keeps: a void takes back what came before it, in its batch and in the
table.
"""

from dataclasses import dataclass
from typing import Final

from delta import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

from coordinator.pipeline.events import typed_events
from coordinator.pipeline.tables import BRONZE, GENERATIONS, Tables

IN_PROGRESS: Final = "in_progress"
"""The outcome of a generation whose end no event has told yet."""

KEY: Final = ("group_id", "created_seq", "generation_id")

BEGINNING: Final = ("rebalance.started",)
START: Final = ("generation.started", "group.emptied")
ENDING: Final = ("generation.stable", "rebalance.superseded", "group.emptied")
ABOUT_GENERATIONS: Final = tuple(dict.fromkeys((*BEGINNING, *START, *ENDING, "member.assigned")))
"""member.assigned fills no column yet, but a row's range of `seq` covers it."""

KINDS: Final = (*ABOUT_GENERATIONS, "group.loaded")


@dataclass(frozen=True, slots=True)
class Facet:
    """Columns that one event fills, all or none of them; `seq` names the column that says which event did."""

    kinds: tuple[str, ...]
    seq: str
    columns: dict[str, Column]


def _facets() -> tuple[Facet, ...]:
    """Made when asked: a Column needs a running Spark session."""
    began, started, stable = F.col("rebalance_started"), F.col("generation_started"), F.col("generation_stable")
    superseded, emptied = F.col("rebalance_superseded"), F.col("group_emptied")
    at = F.timestamp_millis("time_ms")
    outcome = F.when(stable.isNotNull(), "stable").when(superseded.isNotNull(), "superseded").otherwise("emptied")
    return (
        Facet(
            BEGINNING,
            "cause_seq",
            {
                "cause": began["cause"],
                "cause_member_id": began["member"]["member_id"],
                "cause_client_id": began["member"]["client_id"],
                "cause_client_host": began["member"]["client_host"],
                "cause_group_instance_id": began["member"]["group_instance_id"],
                "reason": began["reason"],
                "rebalance_started_at": at,
            },
        ),
        Facet(
            START,
            "generation_started_seq",
            {
                "generation_started_at": at,
                "members": F.when(emptied.isNotNull(), 0).otherwise(started["members"]),
                "leader": started["leader"],
                "protocol_name": started["protocol_name"],
                "join_ms": F.coalesce(started["join_ms"], emptied["rebalance_ms"]),
            },
        ),
        Facet(
            ENDING,
            "ended_seq",
            {
                "outcome": outcome,
                "rebalance_ended_at": at,
                "stable_at": F.when(stable.isNotNull(), at),
                "sync_ms": stable["sync_ms"],
                "rebalance_ms": F.coalesce(stable["rebalance_ms"], superseded["rebalance_ms"], emptied["rebalance_ms"]),
                "partitions": stable["partitions"],
                "partitions_moved": stable["partitions_moved"],
                "unowned_partition_ms": stable["unowned_partition_ms"],
            },
        ),
    )


_TEXT, _NUMBER, _TIME = StringType(), LongType(), TimestampType()

COLUMNS: Final = StructType(
    [
        StructField(name, kind)
        for name, kind in {
            "group_id": _TEXT,
            "created_seq": _NUMBER,  # which life of the group: one made anew counts its generations from 0 again
            "generation_id": _NUMBER,
            "outcome": _TEXT,  # stable, superseded, emptied, in_progress
            "cause": _TEXT,
            "cause_member_id": _TEXT,  # null when no member caused it
            "cause_client_id": _TEXT,
            "cause_client_host": _TEXT,
            "cause_group_instance_id": _TEXT,
            "reason": _TEXT,  # the client's own words (KIP-800)
            "rebalance_started_at": _TIME,
            "generation_started_at": _TIME,
            "stable_at": _TIME,  # null unless the outcome is "stable"
            "rebalance_ended_at": _TIME,  # of any outcome
            "join_ms": _NUMBER,
            "sync_ms": _NUMBER,
            "rebalance_ms": _NUMBER,
            "members": _NUMBER,
            "leader": _TEXT,
            "protocol_name": _TEXT,
            "partitions": _NUMBER,
            "partitions_moved": _NUMBER,
            "unowned_partition_ms": _NUMBER,
            "first_seq": _NUMBER,  # the range of the events that are about this generation
            "last_seq": _NUMBER,
            "cause_seq": _NUMBER,  # the events that filled the facets
            "generation_started_seq": _NUMBER,
            "ended_seq": _NUMBER,
            "coordinator_epoch": _NUMBER,  # the latest among the events
        }.items()
    ]
)


def generation_rows(events: DataFrame) -> DataFrame:
    """`events` (as of `typed_events`, with KINDS) as rows of COLUMNS; what they do not tell is null.

    Doubles and order do not matter. Over all events of a group these are the final rows; over a part of them they are
    what that part has to tell, to be merged.
    """
    # The rebalance is what leads to the next generation; every other event names the one it is about.
    generation = F.when(F.col("kind").isin(*BEGINNING), F.col("generation_id") + 1).otherwise(F.col("generation_id"))
    facets = _facets()
    gathered = (
        _in_effect(events)
        .where(F.col("kind").isin(*ABOUT_GENERATIONS))
        .groupBy("group_id", "created_seq", generation.alias("generation_id"))
        .agg(
            *(_first_event(facet).alias(facet.seq) for facet in facets),
            F.min("seq").alias("first_seq"),
            F.max("seq").alias("last_seq"),
            F.max("coordinator_epoch").alias("coordinator_epoch"),
        )
    )
    told = {name: F.col(facet.seq)[name] for facet in facets for name in facet.columns}
    told |= {facet.seq: F.col(facet.seq)["seq"] for facet in facets}
    told["outcome"] = F.coalesce(told["outcome"], F.lit(IN_PROGRESS))
    return gathered.select(
        *(told.get(column.name, F.col(column.name)).cast(column.dataType).alias(column.name) for column in COLUMNS)
    )


def _in_effect(events: DataFrame) -> DataFrame:
    """Without those that a `group.loaded` among them voids."""
    is_void = F.exists("voids", lambda void: F.col("seq").between(void["void_from_seq"], void["seq"] - 1))
    voids_of_group = F.collect_list(_void()).over(Window.partitionBy("group_id"))
    return events.withColumn("voids", voids_of_group).where(~is_void).drop("voids")


def _void() -> Column:
    """The range of `seq` that an event voids, [void_from_seq, seq); null for an event that voids nothing."""
    void_from_seq = F.col("group_loaded")["void_from_seq"]
    return F.when(void_from_seq.isNotNull(), F.struct(void_from_seq.alias("void_from_seq"), "seq"))


def _first_event(facet: Facet) -> Column:
    """Aggregate: the facet's columns from the event with the lowest seq, as a struct; null when no event fills it.

    A struct compares by its first field, so the least one is the first one.
    """
    values = F.struct("seq", *(column.alias(name) for name, column in facet.columns.items()))
    return F.min(F.when(F.col("kind").isin(*facet.kinds), values))


def merge_generations(table: DeltaTable, rows: DataFrame) -> None:
    """Bring `rows` (of `generation_rows`) into the table."""
    merged: dict[str, Column | str] = {
        "first_seq": F.least("kept.first_seq", "come.first_seq"),
        "last_seq": F.greatest("kept.last_seq", "come.last_seq"),
        "coordinator_epoch": F.greatest("kept.coordinator_epoch", "come.coordinator_epoch"),
    }
    for facet in _facets():
        kept_seq, come_seq = F.col(f"kept.{facet.seq}"), F.col(f"come.{facet.seq}")
        comes_first = come_seq.isNotNull() & (kept_seq.isNull() | (come_seq < kept_seq))
        for name in (*facet.columns, facet.seq):
            merged[name] = F.when(comes_first, F.col(f"come.{name}")).otherwise(F.col(f"kept.{name}"))
    same_generation = " AND ".join(f"kept.{name} = come.{name}" for name in KEY)
    (
        table.alias("kept")
        .merge(rows.alias("come"), same_generation)
        .whenMatchedUpdate(set=merged)
        .whenNotMatchedInsertAll()
        .execute()
    )


def take_back(table: DeltaTable, events: DataFrame) -> None:
    """Take out of the table what the `group.loaded` among `events` void.

    The table holds what came before this batch, so of a group's voids only the first one can be about it. Events that
    came after it (the batch runs a second time) have a higher `seq` and stay.
    """
    voids = events.groupBy("group_id").agg(F.min(_void()).alias("void")).where(F.col("void").isNotNull())
    if voids.isEmpty():  # nearly always, and a merge is not for free
        return

    def is_void(seq: str) -> Column:
        return F.col(seq).between(F.col("void.void_from_seq"), F.col("void.seq") - 1)

    remaining: dict[str, Column | str] = {
        name: F.when(~is_void(f"kept.{facet.seq}"), F.col(f"kept.{name}"))
        for facet in _facets()
        for name in (*facet.columns, facet.seq)
    }
    remaining["outcome"] = F.coalesce(remaining["outcome"], F.lit(IN_PROGRESS))
    remaining["last_seq"] = F.col("void.void_from_seq") - 1
    (
        table.alias("kept")
        .merge(voids.alias("come"), "kept.group_id = come.group_id")
        .whenMatchedDelete(is_void("kept.first_seq"))
        .whenMatchedUpdate(is_void("kept.last_seq"), set=remaining)
        .execute()
    )


def generations_query(spark: SparkSession, tables: Tables) -> DataStreamWriter:
    """Bronze → generations. Bronze must exist. A batch repeated after a crash merges into what it merged before."""
    table = tables.create(spark, GENERATIONS, COLUMNS)

    def merge_batch(raw: DataFrame, _batch_id: int) -> None:
        events = typed_events(raw, KINDS)
        take_back(table, events)
        merge_generations(table, generation_rows(events))

    return (
        spark.readStream.format("delta")
        .load(tables.path(BRONZE))
        .writeStream.foreachBatch(merge_batch)
        .queryName(GENERATIONS)
        .option("checkpointLocation", tables.checkpoint(GENERATIONS))
    )
