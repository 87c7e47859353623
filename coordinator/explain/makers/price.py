"""Claims about what a rebalance cost."""

from collections.abc import Iterator
from typing import Final

from coordinator.audit.schema import CoordinatorEvent, CoordinatorPaused, CoordinatorUnavailable
from coordinator.explain.claims.claim import Claim, derived, seen
from coordinator.explain.claims.price import CommitsRefused, Lag, Moved, NothingAssigned, Unowned, UnownedInSum
from coordinator.explain.generation import Generation
from coordinator.explain.history import STARTS
from coordinator.explain.makers.causes import CONSUMERS
from coordinator.explain.makers.context import Context
from coordinator.explain.makers.workers import worker_claims
from coordinator.explain.owners import Absence

COMES_BACK_MS: Final = 3_000
"""Within this time after the coordinator is back, clients find it again and send what they wanted to send meanwhile.

It is one heartbeat interval of most clients; their connections wait for up to a second between two attempts.
"""


GAPS: Final = (CoordinatorPaused, CoordinatorUnavailable)
"""Events about times in which the coordinator handled nothing, and lived."""


def price_claims(context: Context) -> Iterator[Claim]:
    """What moved, what had no owner, and what that did to the lag."""
    generation = context.generation
    if generation.partitions is not None and generation.partitions_moved is not None:
        yield from moved(generation)
    yield from worker_claims(context)
    yield from unowned(context)
    if generation.commits_rejected:
        yield CommitsRefused(count=generation.commits_rejected, evidence=seen(generation.last_seq))
    if generation.lag_before is not None and generation.lag_before >= 0:  # else the offsets are those of another topic
        yield Lag(
            before=generation.lag_before,
            after=generation.lag_after,
            evidence=seen(generation.first_seq, generation.last_seq),
        )


def moved(generation: Generation) -> Iterator[Claim]:
    """What has another owner than before, or that nothing was assigned."""
    total = generation.partitions_in_all or 0
    if not total:
        if generation.protocol_type == CONSUMERS:
            yield NothingAssigned(is_epoch=generation.is_epoch, evidence=seen(generation.last_seq))
        return
    yield Moved(
        partitions=total,
        moved=generation.partitions_moved or 0,
        needlessly=generation.moved_needlessly,
        first_owned=generation.first_owned,
        without_owner=generation.without_owner,
        is_epoch=generation.is_epoch,
        evidence=derived(generation.first_seq, generation.last_seq),
    )


def unowned(context: Context) -> Iterator[Claim]:
    """What nobody consumed: since the rebalance began, and what was without an owner before."""
    generation = context.generation
    if context.history.is_polled(generation):
        return
    if not generation.absences:
        yield from _unowned_in_sum(generation)
        return
    since: list[Absence] = []
    earlier: list[Absence] = []
    for absence in generation.absences:
        # What the generation before revoked, for this one to assign, is part of the same cooperative rebalance.
        (since if absence.is_revoked or absence.stopped_ms >= generation.disturbed_ms else earlier).append(absence)
    # When members of another Kafka's classic group gave up what they had for the rebalance is not seen.
    if since and not (generation.protocol.joins_again and context.history.is_observed):
        yield _unowned_since(context, since)
    if earlier:
        yield _unowned_before(context, earlier)


def _is_at_least(context: Context, absences: list[Absence]) -> bool:
    """Whether an owner may have stopped earlier: it was told so late that the coordinator has to have been away.

    What stopped while it was away is known by the first request after that, if not by the want of any. Of a partition
    that had no owner several times it is not sure then which time was the longest, and with which ones it is told.
    """
    history = context.history
    if any(absence.is_unsure and absence.shorter for absence in context.generation.absences):
        return True
    if any(absence.is_unsure for absence in absences):
        return True
    away = [
        (
            coordinator_event.from_ms if isinstance(coordinator_event, GAPS) else coordinator_event.time_ms,
            _back_ms(coordinator_event),
        )
        for coordinator_event in history.coordinator_events
        if isinstance(coordinator_event, (*GAPS, *STARTS))
    ]
    away += [(load.time_ms, load.time_ms) for load in history.loads]
    stops = {stopped_ms for absence in absences for stopped_ms in (absence.stopped_ms, *absence.shorter)}
    return any(from_ms <= stopped_ms <= until_ms + COMES_BACK_MS for stopped_ms in stops for from_ms, until_ms in away)


def _back_ms(event: CoordinatorEvent) -> int:
    return event.until_ms if isinstance(event, GAPS) else event.time_ms


def _was_unavailable(context: Context) -> bool:
    """Whether members may have joined in the rebalance, and so given up what they had, when nothing could be written.

    An epoch, whose steps are stored, goes on after that.
    """
    from_ms, until_ms = context.generation.disturbed_ms, context.generation.ended_ms or 0
    return any(
        isinstance(event, CoordinatorUnavailable) and event.from_ms <= until_ms and from_ms <= event.until_ms
        for event in context.history.coordinator_events
    )


def _unowned_since(context: Context, absences: list[Absence]) -> Unowned:
    generation = context.generation
    longest = max(absences, key=lambda absence: absence.ms)
    return Unowned(
        partitions=sum(absence.partitions for absence in absences),
        of=generation.partitions_in_all or 0,
        from_ms=longest.stopped_ms,
        to_ms=longest.assigned_ms,
        shortest_ms=min(absence.ms for absence in absences),
        rebalances=generation.tries,
        is_at_least=_is_at_least(context, absences),
        or_more=generation.absences_are_partial or _was_unavailable(context),
        evidence=derived(generation.first_seq, generation.last_seq),
    )


def _unowned_before(context: Context, absences: list[Absence]) -> Unowned:
    generation = context.generation
    longest = max(absences, key=lambda absence: absence.ms)
    began_ms = generation.disturbed_ms
    return Unowned(
        partitions=sum(absence.partitions for absence in absences),
        of=generation.partitions_in_all or 0,
        from_ms=longest.stopped_ms,
        to_ms=longest.assigned_ms,
        shortest_ms=min(absence.ms for absence in absences),
        rebalances=generation.tries,
        owners=tuple({absence.member.member_id: absence.member for absence in absences}.values()),
        before_ms=max(min(began_ms, absence.assigned_ms) - absence.stopped_ms for absence in absences),
        after_ms=max(absence.assigned_ms - max(began_ms, absence.stopped_ms) for absence in absences),
        several=len(absences) > 1,
        is_at_least=_is_at_least(context, absences),
        or_more=generation.absences_are_partial or _was_unavailable(context),
        evidence=derived(generation.first_seq, generation.last_seq),
    )


def _unowned_in_sum(generation: Generation) -> Iterator[UnownedInSum]:
    """As the coordinator counted it, if the events do not tell who owned what."""
    if generation.unowned_partition_ms:
        yield UnownedInSum(partition_ms=generation.unowned_partition_ms, evidence=seen(generation.last_seq))
    if generation.silent_partition_ms:
        yield UnownedInSum(partition_ms=generation.silent_partition_ms, before=True, evidence=seen(generation.last_seq))
