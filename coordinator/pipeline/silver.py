"""Silver: each event once, typed, with what was carried over from the batches before.

A batch needs of earlier batches only: which `seq` of each group was the last, which are missing, and the events of a
generation that has not ended. This is the *state*: one row per group, written with each batch, so a batch never reads
the tables. The state of batch N is a folder of its own, so a batch that runs again after a crash starts from the same.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from coordinator.pipeline.events import parsed, union_type
from coordinator.pipeline.generations import ABOUT_GENERATIONS, ENDING, generation_of_event

STATE_KIND: Final = "(state)"
"""The kind of the row that brings the state of a group into the batch. No event has it."""

MISSING_MAX: Final = 1_000
"""How many missing events of a group are remembered. A missing event that comes later is accepted; others are not."""

STATE_COLUMNS: Final = "group_id string, seq bigint, missing array<bigint>, open array<string>"

NEVER_VOID_KINDS: Final = ("group.snapshot", "offsets.committed", "offsets.expired", "offsets.deleted", "offsets.reset")

_FLAGS: Final = ("is_new", "is_late", "is_open", "is_void", "of_generation", "gap_from")
_COMES_WITH: Final = ("partition", "offset", "timestamp", "value")


def silver_columns() -> list[str]:
    """Where the record is in the topic, the event as it came, and its fields."""
    return [*_COMES_WITH, *union_type().names]


def rejects(events: DataFrame) -> DataFrame:
    """The records that are no events, with the reason: `events` are those of `parsed`, of a batch of bronze."""
    return events.withColumn("why", _why_rejected()).where(F.col("why").isNotNull())


def _why_rejected() -> Column:
    needed = ("kind", "group_id", "seq", "created_seq", "time_ms", "generation_id", "state")
    reason = F.when(F.col("kind").isNull(), "not a JSON object with a kind")
    of_group = ~F.col("kind").startswith("coordinator.")
    for name in needed[1:]:
        reason = reason.when(of_group & F.col(name).isNull(), f"no valid {name}")
    return reason


def with_state(batch: DataFrame, state: DataFrame) -> DataFrame:
    """The rows of `batch` (of `parsed`) that are events, and those of the state."""
    open_events = parsed(state.select(F.explode("open").alias("value"))).withColumn("is_carried", F.lit(True))
    last = state.select("group_id", "seq", "missing", F.lit(STATE_KIND).alias("kind"), F.lit(True).alias("is_carried"))
    fresh = batch.where(_why_rejected().isNull()).withColumn("is_carried", F.lit(False))
    return fresh.unionByName(open_events, allowMissingColumns=True).unionByName(last, allowMissingColumns=True)


def marked(events: DataFrame) -> DataFrame:
    """Events of `with_state` with the columns that say what is new, void, missing, and to be carried on.

    is_new: not seen before; is_late: it fills a gap of an earlier batch; is_open: it belongs to the latest generation
    of its group, which has not ended; gap_from: the first `seq` that is missing before this one.
    """
    by_group = Window.partitionBy("group_id")
    in_order = by_group.orderBy("seq", F.col("is_carried").desc())
    seq, is_state = F.col("seq"), F.col("kind") == STATE_KIND
    events = events.withColumn("last_seq", F.max(F.when(is_state, seq)).over(by_group))
    events = events.withColumn("missing_before", F.max(F.when(is_state, F.col("missing"))).over(by_group))
    events = events.withColumn("seq_before", F.lag("seq").over(in_order))
    is_late = (seq <= F.col("last_seq")) & F.array_contains("missing_before", seq)
    is_after = F.col("last_seq").isNull() | (seq > F.col("last_seq"))
    is_repeated = F.col("seq_before").eqNullSafe(seq) & F.col("group_id").isNotNull()
    is_fresh = ~F.col("is_carried")
    events = events.withColumn("is_late", is_fresh & F.coalesce(is_late, F.lit(False)) & ~is_repeated)
    events = events.withColumn(
        "is_new", is_fresh & ~is_repeated & (is_after | F.col("is_late") | F.col("group_id").isNull())
    )
    expected = F.when(seq == F.col("created_seq"), seq).otherwise(
        F.coalesce(F.greatest(F.col("seq_before"), F.col("last_seq")) + 1, F.col("created_seq"))
    )
    events = events.withColumn("gap_from", F.when(F.col("is_new") & is_after & (expected < seq), expected))
    events = events.where(F.col("is_carried") | F.col("is_new"))
    return _generations_marked(events)


def _generations_marked(events: DataFrame) -> DataFrame:
    """Add of_generation, is_void and is_open; also for events of `silver`, which are all new."""
    by_group = Window.partitionBy("group_id")
    void_from_seq = F.col("void_from_seq")
    void = F.when(void_from_seq.isNotNull(), F.struct(void_from_seq.alias("first"), (F.col("seq") - 1).alias("last")))
    events = events.withColumn("voids", F.collect_list(void).over(by_group))
    in_void = F.exists("voids", lambda void: F.col("seq").between(void["first"], void["last"]))
    events = events.withColumn("is_void", in_void & ~F.col("kind").isin(*NEVER_VOID_KINDS)).drop("voids")
    of_generation = F.when(F.col("kind").isin(*ABOUT_GENERATIONS) & ~F.col("is_void"), generation_of_event())
    events = events.withColumn("of_generation", of_generation)
    key = F.when(F.col("of_generation").isNotNull(), F.struct("created_seq", "of_generation"))
    is_ended = F.max(F.col("kind").isin(*ENDING)).over(Window.partitionBy("group_id", "created_seq", "of_generation"))
    is_latest = key == F.max(key).over(by_group)
    return events.withColumn("is_open", F.coalesce(~is_ended & is_latest, F.lit(False)))


def of_groups(silver: DataFrame) -> DataFrame:
    """All events of some groups, marked as one batch would be: for the rows that have to be computed again."""
    return _generations_marked(silver.where(F.col("group_id").isNotNull()))


def next_state(events: DataFrame) -> DataFrame:
    """The state after the batch of these events (of `marked`)."""
    gap = F.sequence("gap_from", F.least(F.col("seq") - 1, F.col("gap_from") + MISSING_MAX))
    missing = F.array_union(
        F.coalesce(F.max("missing_before"), F.array().cast("array<bigint>")),
        F.flatten(F.collect_list(F.when(F.col("gap_from").isNotNull(), gap))),
    )
    came = F.collect_list(F.when(F.col("is_late"), F.col("seq")))
    return (
        events.where(F.col("group_id").isNotNull())
        .groupBy("group_id")
        .agg(
            F.max("seq").alias("seq"),
            F.slice(F.array_except(missing, came), 1, MISSING_MAX).alias("missing"),
            F.collect_list(F.when(F.col("is_open"), F.col("value"))).alias("open"),
        )
    )


def empty_state(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], StructType.fromDDL(STATE_COLUMNS))


def gaps(events: DataFrame) -> DataFrame:
    """One row per range of `seq` that is missing (of `marked`)."""
    return events.where(F.col("gap_from").isNotNull()).select(
        "group_id",
        "created_seq",
        F.col("gap_from").alias("first_seq"),
        (F.col("seq") - 1).alias("last_seq"),
        F.timestamp_millis("time_ms").alias("next_event_at"),
        "partition",
        "offset",
    )
