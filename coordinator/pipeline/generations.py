"""The gold table: one row per incarnation and generation of a group, with its cause, durations and moved partitions.

A row combines three events. Each of them fills its own columns, called a *facet*:

    rebalance.started                                        cause and start            → cause_seq
    generation.started, group.emptied                        members, leader, protocol  → generation_started_seq
    generation.stable, rebalance.superseded, group.emptied   outcome                    → ended_seq

The events may arrive in different micro-batches, more than once, and in any order. If two events would fill the same
facet, the one with the lower `seq` does. So merging is associative, commutative and idempotent: the table does not
depend on how the events are split into batches, or on repeated batches. No state and no watermark are needed.

After a crash the topic may have events that did not take effect. `group.loaded` voids them. For this alone the batches
must be in the order of the topic, which bronze keeps: voided are earlier events of the same batch, and of the table.
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
"""The outcome of a generation without an event about its end so far."""

KEY: Final = ("group_id", "created_seq", "generation_id")

BEGINNING: Final = ("rebalance.started",)
START: Final = ("generation.started", "group.emptied")
ENDING: Final = ("generation.stable", "rebalance.superseded", "group.emptied")
ABOUT_GENERATIONS: Final = tuple(dict.fromkeys((*BEGINNING, *START, *ENDING, "member.assigned")))
"""member.assigned fills no column, but is included in the range of `seq` of a row."""

KINDS: Final = (*ABOUT_GENERATIONS, "group.loaded")


@dataclass(frozen=True, slots=True)
class Facet:
    """Columns that one event fills together. `seq` is the column with the `seq` of that event."""

    kinds: tuple[str, ...]
    seq: str
    columns: dict[str, Column]


def _facets() -> tuple[Facet, ...]:
    """A function, because a Column needs a running Spark session."""
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
            "created_seq": _NUMBER,  # the incarnation of the group: each one counts its generations from 0
            "generation_id": _NUMBER,
            "outcome": _TEXT,  # stable, superseded, emptied, in_progress
            "cause": _TEXT,
            "cause_member_id": _TEXT,  # null when no member caused it
            "cause_client_id": _TEXT,
            "cause_client_host": _TEXT,
            "cause_group_instance_id": _TEXT,
            "reason": _TEXT,  # the text that the client sent (KIP-800)
            "rebalance_started_at": _TIME,
            "generation_started_at": _TIME,
            "stable_at": _TIME,  # null unless the outcome is "stable"
            "rebalance_ended_at": _TIME,  # whatever the outcome
            "join_ms": _NUMBER,
            "sync_ms": _NUMBER,
            "rebalance_ms": _NUMBER,
            "members": _NUMBER,
            "leader": _TEXT,
            "protocol_name": _TEXT,
            "partitions": _NUMBER,
            "partitions_moved": _NUMBER,
            "unowned_partition_ms": _NUMBER,
            "first_seq": _NUMBER,  # the range of the events of this generation
            "last_seq": _NUMBER,
            "cause_seq": _NUMBER,  # the events that filled the facets
            "generation_started_seq": _NUMBER,
            "ended_seq": _NUMBER,
            "coordinator_epoch": _NUMBER,  # the latest among the events
        }.items()
    ]
)


def generation_rows(events: DataFrame) -> DataFrame:
    """Rows of COLUMNS from `events` (of `typed_events`, with KINDS); a column without an event is null.

    Duplicates and order do not matter. All events of a group give the final rows. A part of them gives partial rows, to
    be merged with the others.
    """
    # A rebalance belongs to the generation that it leads to. Every other event has the id of its generation.
    generation = F.when(F.col("kind").isin(*BEGINNING), F.col("generation_id") + 1).otherwise(F.col("generation_id"))
    facets = _facets()
    grouped = (
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
    filled = {name: F.col(facet.seq)[name] for facet in facets for name in facet.columns}
    filled |= {facet.seq: F.col(facet.seq)["seq"] for facet in facets}
    filled["outcome"] = F.coalesce(filled["outcome"], F.lit(IN_PROGRESS))
    return grouped.select(
        *(filled.get(column.name, F.col(column.name)).cast(column.dataType).alias(column.name) for column in COLUMNS)
    )


def _in_effect(events: DataFrame) -> DataFrame:
    """Drop the events that a `group.loaded` among them voids."""
    is_void = F.exists("voids", lambda void: F.col("seq").between(void["void_from_seq"], void["seq"] - 1))
    voids_of_group = F.collect_list(_void()).over(Window.partitionBy("group_id"))
    return events.withColumn("voids", voids_of_group).where(~is_void).drop("voids")


def _void() -> Column:
    """The range of `seq` that an event voids, [void_from_seq, seq); null for an event that voids nothing."""
    void_from_seq = F.col("group_loaded")["void_from_seq"]
    return F.when(void_from_seq.isNotNull(), F.struct(void_from_seq.alias("void_from_seq"), "seq"))


def _first_event(facet: Facet) -> Column:
    """An aggregate: the columns of the facet from the event with the lowest seq, as a struct; null without an event.

    Structs compare by their first field, which is `seq`.
    """
    values = F.struct("seq", *(column.alias(name) for name, column in facet.columns.items()))
    return F.min(F.when(F.col("kind").isin(*facet.kinds), values))


def merge_generations(table: DeltaTable, rows: DataFrame) -> None:
    """Merge `rows` (of `generation_rows`) into the table."""
    merged: dict[str, Column | str] = {
        "first_seq": F.least("existing.first_seq", "incoming.first_seq"),
        "last_seq": F.greatest("existing.last_seq", "incoming.last_seq"),
        "coordinator_epoch": F.greatest("existing.coordinator_epoch", "incoming.coordinator_epoch"),
    }
    for facet in _facets():
        existing_seq, incoming_seq = F.col(f"existing.{facet.seq}"), F.col(f"incoming.{facet.seq}")
        is_earlier = incoming_seq.isNotNull() & (existing_seq.isNull() | (incoming_seq < existing_seq))
        for name in (*facet.columns, facet.seq):
            merged[name] = F.when(is_earlier, F.col(f"incoming.{name}")).otherwise(F.col(f"existing.{name}"))
    same_generation = " AND ".join(f"existing.{name} = incoming.{name}" for name in KEY)
    (
        table.alias("existing")
        .merge(rows.alias("incoming"), same_generation)
        .whenMatchedUpdate(set=merged)
        .whenNotMatchedInsertAll()
        .execute()
    )


def remove_voided(table: DeltaTable, events: DataFrame) -> None:
    """Remove from the table what the `group.loaded` among `events` void.

    The table has the events before this batch, so only the first void of a group can apply to it. If the batch is
    repeated, the table also has later events; their `seq` is higher, and they stay.
    """
    voids = events.groupBy("group_id").agg(F.min(_void()).alias("void")).where(F.col("void").isNotNull())
    if voids.isEmpty():  # the usual case, and a merge is expensive
        return

    def is_void(seq: str) -> Column:
        return F.col(seq).between(F.col("void.void_from_seq"), F.col("void.seq") - 1)

    remaining: dict[str, Column | str] = {
        name: F.when(~is_void(f"existing.{facet.seq}"), F.col(f"existing.{name}"))
        for facet in _facets()
        for name in (*facet.columns, facet.seq)
    }
    remaining["outcome"] = F.coalesce(remaining["outcome"], F.lit(IN_PROGRESS))
    remaining["last_seq"] = F.col("void.void_from_seq") - 1
    (
        table.alias("existing")
        .merge(voids.alias("incoming"), "existing.group_id = incoming.group_id")
        .whenMatchedDelete(is_void("existing.first_seq"))
        .whenMatchedUpdate(is_void("existing.last_seq"), set=remaining)
        .execute()
    )


def generations_query(spark: SparkSession, tables: Tables) -> DataStreamWriter:
    """The query from bronze, which must exist, to generations. Repeating a batch after a crash changes nothing."""
    table = tables.create(spark, GENERATIONS, COLUMNS)

    def merge_batch(raw: DataFrame, _batch_id: int) -> None:
        events = typed_events(raw, KINDS)
        remove_voided(table, events)
        merge_generations(table, generation_rows(events))

    return (
        spark.readStream.format("delta")
        .load(tables.path(BRONZE))
        .writeStream.foreachBatch(merge_batch)
        .queryName(GENERATIONS)
        .option("checkpointLocation", tables.checkpoint(GENERATIONS))
    )
