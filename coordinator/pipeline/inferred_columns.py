"""What the tables have of inferred events, beside what their structs say."""

from typing import Final

from coordinator.observe.group_so_far import Event
from coordinator.pipeline.events import OtherEvent
from coordinator.pipeline.generations import Row, text_of_triggers


def for_silver(event: Event) -> OtherEvent:
    """An inferred event as the table of all events has it."""
    member = event.get("member") or {}
    return OtherEvent(
        event["kind"],
        event["group_id"],
        event["seq"],
        event["created_seq"],
        event["time_ms"],
        event["generation_id"],
        event["state"],
        cause=event.get("cause"),
        member_id=member.get("member_id"),
        client_id=member.get("client_id"),
    )


UNREPORTED: Final = (
    "sentence",
    "partitions_moved_needed",
    "unowned_partition_ms",
    "silent_partition_ms",
    "commits_rejected",
    "coordinator_epoch",
    "slowest_to_join_member_id",
    "slowest_to_join_client_id",
    "slowest_join_ms",
)
"""Columns of a generation that the records do not tell."""


def columns_of(event: Event, before: Row) -> Row:
    """The columns of the latest generation that only inferred events tell, after this one, and `before` it."""
    if event["kind"] == "rebalance.started":
        member = event["member"] or {}
        names = ("member_id", "client_id", "client_host", "group_instance_id")
        return {
            **dict.fromkeys(UNREPORTED),
            "cause": event["cause"],
            "cause_is_inferred": True,
            "triggers": text_of_triggers(event["triggers"]),
            "generations_unseen": event["generations_unseen"],
            "rebalance_started_ms": event["started_ms"],
            **{f"cause_{name}": member.get(name) for name in names},
        }
    if "triggers" in event:  # a classic group tells more of them when its generation has started
        before = {**before, "triggers": text_of_triggers(event["triggers"])}
    if event["kind"] == "generation.started" and "started_ms" in event:
        return {**before, "generation_started_ms": event["started_ms"]}
    return before
