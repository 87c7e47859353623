"""Claims about how a rebalance ended."""

from collections.abc import Callable, Iterator
from typing import Final

from coordinator.explain.claims.claim import Claim, derived, seen, unknown
from coordinator.explain.claims.endings import (
    CameBackWithOtherTopics,
    Converted,
    CutShort,
    Emptied,
    EndUnknown,
    EventsMissing,
    InProgress,
    Stable,
    Superseded,
)
from coordinator.explain.folded_group import NOT_READY
from coordinator.explain.generation import Outcome
from coordinator.explain.makers.context import Context


def ending_claims(context: Context) -> Iterator[Claim]:
    """How it ended, what came of static members meanwhile, and whether all its events are there."""
    yield _ENDINGS[context.generation.outcome](context)
    yield from _restarted_with_other_topics(context)
    if context.generation.has_gap and context.generation.rebalance_started_ms is not None:
        yield EventsMissing(evidence=unknown(context.generation.first_seq, context.generation.last_seq))


def _stable(context: Context) -> Claim:
    return Stable(at_ms=context.generation.ended_ms, evidence=seen(context.generation.last_seq))


def _superseded(context: Context) -> Claim:
    generation = context.generation
    evidence = seen(generation.last_seq)
    if generation.converted_to:
        return Converted(group_type=generation.converted_to, at_ms=generation.ended_ms, evidence=evidence)
    started_ms, ended_ms = generation.generation_started_ms, generation.ended_ms
    is_later = started_ms is not None and ended_ms is not None and started_ms > ended_ms
    return Superseded(
        after_ms=generation.rebalance_ms,
        is_epoch=generation.is_epoch,
        had_target=generation.has_gap if started_ms is None else not is_later,
        target_later_ms=(started_ms or 0) - (ended_ms or 0) if is_later else None,
        never_synced=tuple(generation.never_synced) if generation.protocol.joins_again else (),
        evidence=evidence,
    )


def _emptied(context: Context) -> Claim:
    return Emptied(at_ms=context.generation.ended_ms, evidence=seen(context.generation.last_seq))


def _cut_short(context: Context) -> Claim:
    generation = context.generation
    if not generation.is_void:
        return CutShort(at_ms=generation.ended_ms, evidence=seen(generation.last_seq))
    later = next((load for load in context.history.loads if load.seq > generation.last_seq), None)
    return CutShort(
        at_ms=None if later is None else later.time_ms,
        is_void=True,
        evidence=derived(generation.last_seq, None if later is None else later.seq),
    )


def _in_progress(context: Context) -> Claim:
    generation, history = context.generation, context.history
    evidence = derived(generation.last_seq)
    has_started = generation.generation_started_ms is not None
    if (
        history.is_observed
        and not generation.protocol.joins_again
        and not any(member.is_assigned for member in generation.members.values())
    ):
        return EndUnknown(evidence=unknown(generation.last_seq))  # lines do not tell what members hold
    joins_again = generation.protocol.joins_again
    if not joins_again or has_started or history.last_ms is None or history.is_observed:
        is_ready = history.state != NOT_READY
        topology = None if is_ready else history.topology
        return InProgress(
            is_epoch=generation.is_epoch,
            has_started=has_started or joins_again,
            is_ready=is_ready,
            topology_status="" if topology is None else topology.status,
            topics=() if topology is None else tuple(topology.topics),
            unnamed_topics=0 if topology is None else topology.unnamed_topics,
            evidence=evidence,
        )
    came = {member_id for member_id, part in generation.members.items() if part.join_ms is not None}
    missing = tuple(member.member for member in history.members.values() if member.member.member_id not in came)
    return InProgress(waits_for=missing, evidence=evidence)


def _unknown(context: Context) -> Claim:
    return EndUnknown(evidence=unknown(context.generation.last_seq))


_ENDINGS: Final[dict[Outcome, Callable[[Context], Claim]]] = {
    Outcome.STABLE: _stable,
    Outcome.SUPERSEDED: _superseded,
    Outcome.EMPTIED: _emptied,
    Outcome.CUT_SHORT: _cut_short,
    Outcome.IN_PROGRESS: _in_progress,
    Outcome.UNKNOWN: _unknown,
}


def _restarted_with_other_topics(context: Context) -> Iterator[CameBackWithOtherTopics]:
    """A static member that comes back gets what it had, whatever it subscribes to now (KIP-345)."""
    generation, history = context.generation, context.history
    replaced = list(generation.replaced_while_stable)
    if generation is history.latest and not generation.is_open:
        replaced += history.pending_changes.replaced
    if not replaced:
        return
    owned = {topic for part in generation.members.values() for topic in part.partitions}
    for replacement in replaced:
        now, before = replacement.subscribed_topics, replacement.old_subscribed_topics
        if now and before and set(now) != set(before):
            yield CameBackWithOtherTopics(
                member=replacement.member,
                at_ms=replacement.at_ms,
                topics_before=before,
                topics_now=now,
                unowned=tuple(sorted(set(now) - set(before) - owned)),
                evidence=seen(replacement.seq),
            )
