"""Claims about what a rebalance cost."""

from collections.abc import Iterator

from coordinator.explain.claims.claim import Claim, derived, seen
from coordinator.explain.claims.price import CommitsRefused, Lag, Moved, NothingAssigned, Unowned, UnownedInSum
from coordinator.explain.generation import Generation
from coordinator.explain.makers.causes import CONSUMERS
from coordinator.explain.makers.context import Context
from coordinator.explain.makers.workers import worker_claims
from coordinator.explain.owners import Absence


def price_claims(context: Context) -> Iterator[Claim]:
    """What moved, what had no owner, and what that did to the lag."""
    generation = context.generation
    if generation.partitions is not None and generation.partitions_moved is not None:
        yield from moved(generation)
    yield from worker_claims(context)
    yield from unowned(generation)
    if generation.commits_rejected:
        yield CommitsRefused(count=generation.commits_rejected, evidence=seen(generation.last_seq))
    if generation.lag_before is not None:
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


def unowned(generation: Generation) -> Iterator[Claim]:
    """What nobody consumed: since the rebalance began, and what was without an owner before."""
    if not generation.absences:
        yield from _unowned_in_sum(generation)
        return
    since: list[Absence] = []
    earlier: list[Absence] = []
    for each in generation.absences:
        # What the generation before revoked, for this one to assign, is part of the same cooperative rebalance.
        (since if each.is_revoked or each.stopped_ms >= generation.disturbed_ms else earlier).append(each)
    if since:
        yield _unowned_since(generation, since)
    if earlier:
        yield _unowned_before(generation, earlier)


def _unowned_since(generation: Generation, absences: list[Absence]) -> Unowned:
    longest = max(absences, key=lambda each: each.ms)
    return Unowned(
        partitions=sum(each.partitions for each in absences),
        of=generation.partitions_in_all or 0,
        from_ms=longest.stopped_ms,
        to_ms=longest.assigned_ms,
        shortest_ms=min(each.ms for each in absences),
        rebalances=generation.tries,
        evidence=derived(generation.first_seq, generation.last_seq),
    )


def _unowned_before(generation: Generation, absences: list[Absence]) -> Unowned:
    longest = max(absences, key=lambda each: each.ms)
    began_ms = generation.disturbed_ms
    unsure = {each.member.member_id for each in generation.changes.removed if each.may_have_stopped_earlier}
    return Unowned(
        partitions=sum(each.partitions for each in absences),
        of=generation.partitions_in_all or 0,
        from_ms=longest.stopped_ms,
        to_ms=longest.assigned_ms,
        shortest_ms=min(each.ms for each in absences),
        rebalances=generation.tries,
        owners=tuple({each.member.member_id: each.member for each in absences}.values()),
        before_ms=max(min(began_ms, each.assigned_ms) - each.stopped_ms for each in absences),
        after_ms=max(each.assigned_ms - max(began_ms, each.stopped_ms) for each in absences),
        several=len(absences) > 1,
        is_at_least=any(each.member.member_id in unsure for each in absences),
        evidence=derived(generation.first_seq, generation.last_seq),
    )


def _unowned_in_sum(generation: Generation) -> Iterator[UnownedInSum]:
    """As the coordinator counted it, if the events do not tell who owned what."""
    if generation.unowned_partition_ms:
        yield UnownedInSum(partition_ms=generation.unowned_partition_ms, evidence=seen(generation.last_seq))
    if generation.silent_partition_ms:
        yield UnownedInSum(partition_ms=generation.silent_partition_ms, before=True, evidence=seen(generation.last_seq))
