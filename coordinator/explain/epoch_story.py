"""Tells a group epoch of a consumer group (KIP-848) in words, where its story differs from that of a generation."""

from typing import Final

from coordinator.core.causes import Cause
from coordinator.explain.generation import Generation
from coordinator.explain.reconciliation import revocation_told
from coordinator.explain.words import Names, duration

SEVERAL: Final = {
    Cause.METADATA_CHANGED: "changed their subscriptions",
    Cause.REBALANCE_TIMEOUT: "did not give up their partitions within the rebalance timeout",
}
"""What several members did, after their names, where it is not what members of a classic group do."""


def how_long(join_ms: int, sync_ms: int, count: int) -> str:
    """The time to the target assignment, and from there until `count` members had it."""
    whole = {1: "its one member", 2: "both members"}.get(count, f"all {count:,} members")
    return (
        f"It took {duration(join_ms + sync_ms)}: {duration(join_ms)} until the target assignment was computed,"
        f" {duration(sync_ms)} more until {whole} had it."
    )


def held_up(generation: Generation, names: Names, held_up_ms: int) -> str | None:
    """Which member held up others, that waited for its partitions; None if that was shorter than `held_up_ms`."""
    slowest = None if generation.reconciliations is None else generation.reconciliations.slowest()
    return None if slowest is None else revocation_told(slowest, names, held_up_ms, generation.ended_ms)


def superseded(rebalance_ms: int | None) -> str:
    """How an epoch ended that was not the last one of its group."""
    took = f" after {duration(rebalance_ms)}" if rebalance_ms is not None else ""
    return f"It never became stable:{took} the group epoch rose again before all members had their assignments."


def in_progress(generation: Generation) -> str:
    if generation.generation_started_ms is None:
        return (
            "It is still in progress: a heartbeat of a member computes its target assignment, once the assignment"
            " interval since the last one is over."
        )
    return "It is still in progress: not all members have their assignments."
