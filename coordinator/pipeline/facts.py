"""The gold tables with a row per fact: nothing in them changes later, so they are only appended to.

What lasts from one fact to another (who was a member, who owned a partition) is a view of them: `views`.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from coordinator.pipeline.events import TOPIC_PARTITIONS

MEMBERSHIP_KINDS: Final = ("member.joined", "member.removed", "static_member.replaced", "group.removed")
RATE_WINDOW: Final = "1 minute"


def _at() -> Column:
    return F.timestamp_millis("time_ms").alias("at")


def membership_changes(events: DataFrame) -> DataFrame:
    """One row per member that joined, was removed, or took the place of another (`old_member_id`)."""
    return events.where(F.col("kind").isin(*MEMBERSHIP_KINDS) & ~F.col("is_void")).select(
        "group_id",
        "created_seq",
        "seq",
        _at(),
        "kind",
        "generation_id",
        "member.member_id",
        "member.client_id",
        "member.client_host",
        "member.group_instance_id",
        "old_member_id",
        "cause",
        "reason",
        "session_timeout_ms",
        "subscribed_topics",
    )


def ownership_changes(events: DataFrame) -> DataFrame:
    """One row per partition that a member gained or lost by an assignment."""
    assigned = events.where((F.col("kind") == "member.assigned") & ~F.col("is_void"))
    common = ("group_id", "created_seq", "seq", _at(), "generation_id", "member.member_id", "member.client_id")
    changes = F.array(
        F.struct(F.lit("gained").alias("change"), F.col("gained").cast(TOPIC_PARTITIONS).alias("owned")),
        F.struct(F.lit("lost").alias("change"), F.from_json("lost", TOPIC_PARTITIONS).alias("owned")),
    )
    by_change = assigned.select(*common, F.inline(changes))
    by_topic = by_change.select("*", F.explode("owned").alias("topic", "indexes")).drop("owned")
    return by_topic.select("*", F.explode("indexes").alias("partition")).drop("indexes")


def commits(events: DataFrame) -> DataFrame:
    """One row per interval in which the group committed offsets."""
    return events.where(F.col("kind") == "offsets.committed").select(
        "group_id",
        "created_seq",
        "seq",
        _at(),
        "generation_id",
        "interval_ms",
        "commits",
        F.col("partitions").try_cast("bigint").alias("partitions"),
        "first_log_offset",
        "last_log_offset",
    )


def rebalance_counts(events: DataFrame) -> DataFrame:
    """The rebalances that started in each window. A batch adds its own rows: the rate of a window is their sum.

    So a partition that is read late counts like any other, however late, and no watermark has to be guessed.
    """
    started = events.where(F.col("kind") == "rebalance.started")
    window = F.window(F.timestamp_millis("time_ms"), RATE_WINDOW)
    counted = started.groupBy("group_id", window.alias("window"), "cause").agg(F.count("*").alias("rebalances"))
    return counted.select("group_id", F.col("window.start").alias("window_start"), "cause", "rebalances")
