"""Tells a group epoch of a consumer group (KIP-848) in words, where its story differs from that of a generation."""

from typing import Final

from coordinator.core.causes import Cause
from coordinator.explain.generation import Generation, Removal
from coordinator.explain.reconciliation import revocation_told
from coordinator.explain.words import Clock, Names, duration

CHANGED_SUBSCRIPTIONS: Final = "changed their subscriptions"
DID_NOT_GIVE_UP: Final = "did not give up their partitions within the rebalance timeout"


def what_several_did(cause: Cause, removals: list[Removal]) -> str | None:
    """What several members did, after their names; None: the same as members of a classic group.

    Members of the classic protocol may be late to rejoin, too. `removals` are theirs, with a cause that removes.
    """
    if cause is Cause.METADATA_CHANGED:
        return CHANGED_SUBSCRIPTIONS
    if cause is Cause.REBALANCE_TIMEOUT and all(each.was_revoking for each in removals):
        return DID_NOT_GIVE_UP
    return None


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


def superseded(generation: Generation) -> str:
    """How an epoch ended that was not the last one of its group."""
    took = f" after {duration(generation.rebalance_ms)}" if generation.rebalance_ms is not None else ""
    started_ms, ended_ms = generation.generation_started_ms, generation.ended_ms
    if started_ms is None and not generation.has_gap:
        return f"It never became stable:{took} the group epoch rose again before its target assignment was computed."
    if started_ms is None or ended_ms is None or started_ms <= ended_ms:
        return f"It never became stable:{took} the group epoch rose again before all members had their assignments."
    return (
        f"It never became stable:{took} the group epoch rose again before its target assignment was computed."
        f" That came {duration(started_ms - ended_ms)} later, for members to reconcile with until a newer one is there."
    )


def late_target(generation: Generation, clock: Clock) -> str | None:
    """The target of an earlier epoch that came while this one waited for its own; None if it made no difference."""
    late = generation.late_target
    if late is None:
        return None
    at = clock(late.at_ms)
    if generation.is_open and generation.generation_started_ms is None:
        return (
            f"At {at} the target assignment of group epoch {late.epoch} was computed: members reconcile with it until"
            " that of this epoch is there."
        )
    if not late.was_used:
        return None
    return (
        f"At {at} the target assignment of group epoch {late.epoch} was computed, and members reconciled with it first."
    )


def in_progress(generation: Generation) -> str:
    if generation.generation_started_ms is None:
        return (
            "It is still in progress: a heartbeat of a member computes its target assignment, once the assignment"
            " interval since the last one is over."
        )
    return "It is still in progress: not all members have their assignments."
