"""The rows of the gold table `generations`: one per generation of a group, with its cause, durations and price.

A row says what `coordinator groups why` says of the generation, from the same `explain.generation.Generation`. It is
written once, when the generation has ended. Until then it is in the table `open_generations`.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from coordinator.explain.generation import Generation, Outcome
from coordinator.explain.history import GroupHistory
from coordinator.explain.story import sentence

Row = dict[str, Any]

_to_json: Final = msgspec.json.Encoder().encode


def row_of(history: GroupHistory, generation: Generation) -> Row:
    """The row of a generation of `history` as it is now."""
    row = {
        "group_id": generation.group_id,
        "created_seq": generation.created_seq,
        "generation_id": generation.generation_id,
        "outcome": generation.outcome.value,
        "cause": None if generation.cause is None else generation.cause.value,
        "cause_is_inferred": False,
        "reason": generation.reason or None,
        "triggers": text_of_triggers(generation.triggers),
        "generations_unseen": None,
        "sentence": sentence(history, generation),
        "rebalance_started_ms": generation.rebalance_started_ms,
        "generation_started_ms": generation.generation_started_ms,
        "stable_ms": generation.ended_ms if generation.outcome is Outcome.STABLE else None,
        "rebalance_ended_ms": generation.ended_ms,
        "join_ms": generation.join_ms,
        "sync_ms": generation.sync_ms,
        "rebalance_ms": generation.rebalance_ms,
        "members": generation.member_count,
        "leader": generation.leader or None,
        "protocol_name": generation.protocol_name or None,
        "partitions": generation.partitions,
        "partitions_moved": generation.partitions_moved,
        "partitions_moved_needed": generation.partitions_moved_needed,
        "unowned_partition_ms": generation.unowned_partition_ms,
        "silent_partition_ms": generation.silent_partition_ms,
        "commits_rejected": generation.commits_rejected,
        "lag_before": generation.lag_before,
        "lag_after": generation.lag_after,
        "first_seq": generation.first_seq,
        "last_seq": generation.last_seq,
        "coordinator_epoch": generation.coordinator_epoch,
    }
    member = generation.member
    for name in ("member_id", "client_id", "client_host", "group_instance_id"):
        row[f"cause_{name}"] = None if member is None else getattr(member, name)
    for phase, slowest in (("join", generation.slowest_join), ("sync", generation.slowest_sync)):
        who, took_ms = slowest or (None, None)
        row[f"slowest_to_{phase}_member_id"] = None if who is None else who.member_id
        row[f"slowest_to_{phase}_client_id"] = None if who is None else who.client_id
        row[f"slowest_{phase}_ms"] = took_ms
    return row


def text_of_triggers(triggers: Sequence[Any]) -> str | None:
    """As JSON; None if there are none."""
    return _to_json(triggers).decode() if triggers else None
