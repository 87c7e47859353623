"""Claims about how long a rebalance took, and who held it up."""

from collections.abc import Iterator
from typing import Final

from coordinator.core.causes import Cause
from coordinator.explain.claims.claim import Claim, derived, seen
from coordinator.explain.claims.course import (
    EarlierTarget,
    GaveUpLate,
    HeldUp,
    NeverRejoined,
    NeverSynced,
    PendingIds,
    SlowSync,
    Took,
)
from coordinator.explain.generation import Generation, Outcome
from coordinator.explain.makers.context import Context

HOLD_UP_MS: Final = 500
"""From how many ms on a member that came later than all others is said to have held up the rebalance."""


def course_claims(context: Context) -> Iterator[Claim]:
    """How long it took, and who held it up."""
    generation = context.generation
    if generation.outcome is Outcome.STABLE and generation.join_ms is not None and generation.sync_ms is not None:
        yield Took(
            join_ms=generation.join_ms,
            sync_ms=generation.sync_ms,
            member_count=generation.member_count or 0,
            is_epoch=generation.is_epoch,
            waited_for_more=_waited_for_more(generation),
            evidence=seen(generation.last_seq),
        )
    if generation.protocol.joins_again:
        yield from _join_delays(context)
        yield from _sync_delays(generation)
    else:
        yield from _earlier_target(generation)
        yield from _gave_up_late(generation)


def _join_delays(context: Context) -> Iterator[Claim]:
    generation = context.generation
    late = [late_member for late_member in generation.late_members if late_member.cause is Cause.REBALANCE_TIMEOUT]
    # Of a group of another Kafka that is seen of members whose requests passed by a node.
    held = generation.held_up() if not context.history.is_observed or generation.joins_are_seen else None
    if late:
        yield NeverRejoined(
            members=tuple(removal.member for removal in late),
            limit_ms=max((removal.rebalance_timeout_ms or 0 for removal in late), default=0) or None,
            others_waited=any(part.join_ms is not None for part in generation.members.values()),
            evidence=seen(*(removal.seq for removal in late)),
        )
    elif held is not None and held[1] >= HOLD_UP_MS:
        yield HeldUp(member=held[0], held_up_ms=held[1], evidence=derived(generation.first_seq, generation.last_seq))
    pending = _never_joined(context)
    if pending:
        yield PendingIds(member_ids=pending, evidence=seen(generation.last_seq))


def _never_joined(context: Context) -> tuple[str, ...]:
    """The member ids with which nobody tried to join: others were refused, as the group was full."""
    refused = {rejected.member.member_id for rejected in context.history.rejected if rejected.api == "JoinGroup"}
    return tuple(
        pending_member for pending_member in context.generation.pending_members if pending_member not in refused
    )


def _waited_for_more(generation: Generation) -> bool:
    """Whether the join phase was the time that an empty group waits for further members: nobody held it up."""
    if not generation.is_from_empty or generation.has_gap or not generation.protocol.joins_again:
        return False
    return bool(generation.join_ms) and not generation.late_members and not generation.pending_members


def _sync_delays(generation: Generation) -> Iterator[Claim]:
    late = [late_member for late_member in generation.late_members if late_member.cause is Cause.SYNC_TIMEOUT]
    if late:
        yield NeverSynced(
            members=tuple(removal.member for removal in late), evidence=seen(*(removal.seq for removal in late))
        )
    if generation.slowest_sync is not None and generation.slowest_sync[1] >= HOLD_UP_MS:
        slowest, sync_ms = generation.slowest_sync
        is_leader = slowest.member_id == generation.leader
        yield SlowSync(member=slowest, sync_ms=sync_ms, is_leader=is_leader, evidence=seen(generation.last_seq))


def _earlier_target(generation: Generation) -> Iterator[EarlierTarget]:
    """The target of an earlier epoch that came while this one waited for its own, if it made a difference."""
    late = generation.late_target
    if late is None:
        return
    is_waiting = generation.is_open and generation.generation_started_ms is None
    if is_waiting or late.was_used:
        yield EarlierTarget(
            epoch=late.epoch,
            at_ms=late.at_ms,
            was_used=late.was_used and not is_waiting,
            evidence=seen(generation.last_seq),
        )


def _gave_up_late(generation: Generation) -> Iterator[GaveUpLate]:
    """Which member held up others, that waited for its partitions."""
    slowest = None if generation.reconciliations is None else generation.reconciliations.slowest()
    if slowest is None:
        return
    until_ms = slowest.gave_up_ms if slowest.gave_up_ms is not None else generation.ended_ms
    if until_ms is not None and until_ms - (slowest.waited_since_ms or until_ms) < HOLD_UP_MS:
        return
    yield GaveUpLate(
        member=slowest.member,
        partitions=slowest.partitions,
        count=slowest.count,
        waiting=tuple(slowest.waiting.values()),
        tasks=tuple(sorted({task for tasks in slowest.tasks.values() for task in tasks})),
        waited_since_ms=slowest.waited_since_ms,
        asked_ms=slowest.asked_ms,
        gave_up_ms=slowest.gave_up_ms,
        was_removed=slowest.was_removed,
        is_over=generation.ended_ms is not None,
        evidence=derived(generation.first_seq, generation.last_seq),
    )
