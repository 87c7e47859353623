"""The gold table `generations`: one row per incarnation and generation of a group, with its cause, durations and price.

A row combines three events. Each of them fills its own columns, called a *facet*:

    rebalance.started                                        cause and start            → cause_seq
    generation.started, group.emptied                        members, leader, protocol  → generation_started_seq
    generation.stable, rebalance.superseded, group.emptied   outcome                    → ended_seq

If two events would fill the same facet, the one with the lower `seq` does. So the rows depend neither on the order of
the events nor on duplicates. A row is written once, when its generation has ended or a later one has begun. Until then
its events are carried from batch to batch (`silver`), and the row is in the table `open_generations`.
"""

from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

from coordinator.pipeline.events import number, union_type

IN_PROGRESS: Final = "in_progress"
"""The outcome of a generation without an event about its end so far."""

KEY: Final = ("group_id", "created_seq", "generation_id")

BEGINNING: Final = ("rebalance.started",)
START: Final = ("generation.started", "group.emptied")
ENDING: Final = ("generation.stable", "rebalance.superseded", "group.emptied")
ABOUT_GENERATIONS: Final = tuple(dict.fromkeys((*BEGINNING, *START, *ENDING, "member.assigned")))
"""member.assigned fills no column, but is included in the range of `seq` of a row."""


@dataclass(frozen=True, slots=True)
class Facet:
    """Columns that one event fills together. `seq` is the column with the `seq` of that event."""

    kinds: tuple[str, ...]
    seq: str
    columns: dict[str, Column]


def _if_known(name: str, otherwise: str = "null") -> Column:
    """A field that older events do not have."""
    return F.col(name) if name in union_type().names else F.expr(otherwise)


def _facets() -> tuple[Facet, ...]:
    """A function, because a Column needs a running Spark session."""
    kind, at = F.col("kind"), F.timestamp_millis("time_ms")
    outcome = F.when(kind == "generation.stable", "stable").when(kind == "group.emptied", "emptied")
    slowest = _if_known("slowest_member", "named_struct('member_id', null, 'client_id', null)")
    triggers = _if_known("triggers")
    return (
        Facet(
            BEGINNING,
            "cause_seq",
            {
                "cause": F.col("cause"),
                "cause_member_id": F.col("member.member_id"),
                "cause_client_id": F.col("member.client_id"),
                "cause_client_host": F.col("member.client_host"),
                "cause_group_instance_id": F.col("member.group_instance_id"),
                "reason": F.col("reason"),
                "rebalance_started_at": at,
                "lag_before": _if_known("lag"),
            },
        ),
        Facet(
            START,
            "generation_started_seq",
            {
                "generation_started_at": at,
                "members": F.when(kind == "group.emptied", 0).otherwise(number("members")),
                "leader": F.col("leader"),
                "protocol_name": F.col("protocol_name"),
                "join_ms": F.when(kind == "group.emptied", F.col("rebalance_ms")).otherwise(F.col("join_ms")),
                "triggers": F.to_json(triggers) if "triggers" in union_type().names else triggers,
                "slowest_to_join_member_id": slowest["member_id"],
                "slowest_to_join_client_id": slowest["client_id"],
                "slowest_join_ms": _if_known("slowest_join_ms"),
            },
        ),
        Facet(
            ENDING,
            "ended_seq",
            {
                "outcome": outcome.otherwise("superseded"),
                "rebalance_ended_at": at,
                "stable_at": F.when(kind == "generation.stable", at),
                "sync_ms": F.when(kind == "generation.stable", F.col("sync_ms")),
                "rebalance_ms": F.col("rebalance_ms"),
                "partitions": number("partitions"),
                "partitions_moved": F.col("partitions_moved"),
                "partitions_moved_needed": _if_known("partitions_moved_needed"),
                "unowned_partition_ms": F.col("unowned_partition_ms"),
                "silent_partition_ms": _if_known("silent_partition_ms"),
                "commits_rejected": _if_known("commits_rejected"),
                "lag_after": _if_known("lag"),
                "slowest_to_sync_member_id": slowest["member_id"],
                "slowest_to_sync_client_id": slowest["client_id"],
                "slowest_sync_ms": _if_known("slowest_sync_ms"),
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
            "triggers": _TEXT,  # JSON: everything that made it necessary or changed its members, in order
            "rebalance_started_at": _TIME,
            "generation_started_at": _TIME,
            "stable_at": _TIME,  # null unless the outcome is "stable"
            "rebalance_ended_at": _TIME,  # whatever the outcome
            "join_ms": _NUMBER,
            "slowest_to_join_member_id": _TEXT,
            "slowest_to_join_client_id": _TEXT,
            "slowest_join_ms": _NUMBER,
            "sync_ms": _NUMBER,
            "slowest_to_sync_member_id": _TEXT,
            "slowest_to_sync_client_id": _TEXT,
            "slowest_sync_ms": _NUMBER,
            "rebalance_ms": _NUMBER,
            "members": _NUMBER,
            "leader": _TEXT,
            "protocol_name": _TEXT,
            "partitions": _NUMBER,
            "partitions_moved": _NUMBER,
            "partitions_moved_needed": _NUMBER,  # how many of them the best balanced assignment would have moved
            "unowned_partition_ms": _NUMBER,
            "silent_partition_ms": _NUMBER,  # before the rebalance began: the owners were silent already
            "commits_rejected": _NUMBER,
            "lag_before": _NUMBER,
            "lag_after": _NUMBER,
            "first_seq": _NUMBER,  # the range of the events of this generation
            "last_seq": _NUMBER,
            "cause_seq": _NUMBER,  # the events that filled the facets
            "generation_started_seq": _NUMBER,
            "ended_seq": _NUMBER,
            "coordinator_epoch": _NUMBER,  # the latest among the events
        }.items()
    ]
)


def generation_of_event() -> Column:
    """A rebalance belongs to the generation that it leads to. Every other event has the id of its generation."""
    return F.when(F.col("kind").isin(*BEGINNING), F.col("generation_id") + 1).otherwise(F.col("generation_id"))


def generation_rows(events: DataFrame) -> DataFrame:
    """Rows of COLUMNS and `is_open` from events with the columns of `silver.marked`.

    `is_open` is true for a row that is to be computed again, with the events that are still to come.
    """
    facets = _facets()
    grouped = (
        events.where(F.col("kind").isin(*ABOUT_GENERATIONS) & ~F.col("is_void"))
        .groupBy("group_id", "created_seq", F.col("of_generation").alias("generation_id"))
        .agg(
            *(_first_event(facet).alias(facet.seq) for facet in facets),
            F.min("seq").alias("first_seq"),
            F.max("seq").alias("last_seq"),
            F.max("coordinator_epoch").alias("coordinator_epoch"),
            F.max("is_open").alias("is_open"),
        )
    )
    filled = {name: F.col(facet.seq)[name] for facet in facets for name in facet.columns}
    filled |= {facet.seq: F.col(facet.seq)["seq"] for facet in facets}
    filled["outcome"] = F.coalesce(filled["outcome"], F.lit(IN_PROGRESS))
    columns = (
        filled.get(column.name, F.col(column.name)).cast(column.dataType).alias(column.name) for column in COLUMNS
    )
    return grouped.select(*columns, "is_open")


def _first_event(facet: Facet) -> Column:
    """An aggregate: the columns of the facet from the event with the lowest seq, as a struct; null without an event."""
    values = F.struct("seq", *(column.alias(name) for name, column in facet.columns.items()))
    return F.min_by(values, F.when(F.col("kind").isin(*facet.kinds), F.col("seq")))
