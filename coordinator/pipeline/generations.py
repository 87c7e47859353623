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


class _Nobody:
    """Has the names of a member, all null."""

    member_id = client_id = client_host = group_instance_id = None


_NOBODY: Final = _Nobody()


def row_of(history: GroupHistory, generation: Generation) -> Row:
    """The row of a generation of `history` as it is now."""
    member = generation.member or _NOBODY
    to_join, join_ms = generation.slowest_join or (_NOBODY, None)
    to_sync, sync_ms = generation.slowest_sync or (_NOBODY, None)
    return {
        "group_id": generation.group_id,
        "created_seq": generation.created_seq,
        "generation_id": generation.generation_id,
        "outcome": generation.outcome.value,
        "cause": None if generation.cause is None else generation.cause.value,
        "cause_member_id": member.member_id,
        "cause_client_id": member.client_id,
        "cause_client_host": member.client_host,
        "cause_group_instance_id": member.group_instance_id,
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
        "slowest_to_join_member_id": to_join.member_id,
        "slowest_to_join_client_id": to_join.client_id,
        "slowest_join_ms": join_ms,
        "sync_ms": generation.sync_ms,
        "slowest_to_sync_member_id": to_sync.member_id,
        "slowest_to_sync_client_id": to_sync.client_id,
        "slowest_sync_ms": sync_ms,
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
        "group_type": generation.group_type,
    }


def text_of_triggers(triggers: Sequence[Any]) -> str | None:
    """As JSON; None if there are none."""
    return _to_json(triggers).decode() if triggers else None
