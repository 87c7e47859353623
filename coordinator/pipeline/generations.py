"""The rows of the gold table `generations`: one per generation of a group, with its cause, durations and price.

A row combines three events. Each of them fills its own columns; if two events would fill the same, the first does:

    rebalance.started                                        cause and start
    generation.started, group.emptied                        members, leader, protocol
    generation.stable, rebalance.superseded, group.emptied   outcome

A row is written once, when the generation has ended, a later one has begun or a crash has cut it short. Until then it
is part of the state of its group and of the table `open_generations`.
"""

from typing import Any, Final

Event = dict[str, Any]
Row = dict[str, Any]

IN_PROGRESS: Final = "in_progress"
"""The outcome of a generation without an event about its end so far."""

CUT_SHORT: Final = "cut_short"
"""The outcome of a generation that a crash of the coordinator ended. Clients may have seen it all the same."""

KINDS: Final = frozenset(
    {
        "rebalance.started",
        "generation.started",
        "member.assigned",
        "generation.stable",
        "rebalance.superseded",
        "group.emptied",
    }
)
"""member.assigned fills no column, but is included in the range of `seq` of a row."""

_NAMED_BY_BEGINNING: Final = {"cause": "cause", "reason": "reason", "lag": "lag_before"}
_NAMED_BY_START: Final = ("leader", "protocol_name", "join_ms", "members", "triggers", "slowest_join_ms")
_NAMED_BY_STABLE: Final = (
    "sync_ms",
    "partitions",
    "partitions_moved",
    "partitions_moved_needed",
    "unowned_partition_ms",
    "silent_partition_ms",
    "commits_rejected",
    "slowest_sync_ms",
)


def generation_of(event: Event) -> int:
    """A rebalance belongs to the generation that it leads to. Every other event has the id of its generation."""
    generation_id: int = event["generation_id"]
    return generation_id + 1 if event["kind"] == "rebalance.started" else generation_id


def new_row(event: Event) -> Row:
    return {
        "group_id": event["group_id"],
        "created_seq": event["created_seq"],
        "generation_id": generation_of(event),
        "outcome": IN_PROGRESS,
        "first_seq": event["seq"],
    }


def add_event(row: Row, event: Event) -> None:
    """Fill the columns that are the event's."""
    row["last_seq"], row["coordinator_epoch"] = event["seq"], event["coordinator_epoch"]
    match event["kind"]:
        case "rebalance.started":
            _begin(row, event)
        case "generation.started":
            _start(row, event)
        case "group.emptied":
            _start(row, {**event, "members": 0, "join_ms": event.get("rebalance_ms")})
            _end(row, event, "emptied")
        case "rebalance.superseded":
            _end(row, event, "superseded")
        case "generation.stable":
            _end(row, event, "stable")


def _begin(row: Row, event: Event) -> None:
    if "rebalance_started_ms" in row:
        return
    # Records of `__consumer_offsets` may not tell when it began: null then.
    row["rebalance_started_ms"] = event.get("started_ms", event["time_ms"])
    row["cause_is_inferred"] = event.get("is_inferred", False)
    row["generations_unseen"] = event.get("generations_unseen")
    for field, column in _NAMED_BY_BEGINNING.items():
        row[column] = event.get(field)
    member = event.get("member") or {}
    for field in ("member_id", "client_id", "client_host", "group_instance_id"):
        row[f"cause_{field}"] = member.get(field)


def _start(row: Row, event: Event) -> None:
    if "generation_started_ms" in row:
        return
    row["generation_started_ms"] = event.get("started_ms", event["time_ms"])
    for field in _NAMED_BY_START:
        row[field] = event.get(field)
    slowest = event.get("slowest_member") or {}
    row["slowest_to_join_member_id"] = slowest.get("member_id")
    row["slowest_to_join_client_id"] = slowest.get("client_id")


def _end(row: Row, event: Event, outcome: str) -> None:
    row["outcome"], row["rebalance_ended_ms"] = outcome, event["time_ms"]
    row["rebalance_ms"] = event.get("rebalance_ms")
    if outcome != "stable":
        return
    row["stable_ms"] = event["time_ms"]
    for field in _NAMED_BY_STABLE:
        row[field] = event.get(field)
    row["lag_after"] = event.get("lag")
    slowest = event.get("slowest_member") or {}
    row["slowest_to_sync_member_id"] = slowest.get("member_id")
    row["slowest_to_sync_client_id"] = slowest.get("client_id")
