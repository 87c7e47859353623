"""What a rebalance cost: true by who processed what when, and by what leaders assigned."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from coordinator.explain.claims import price as claims
from coordinator.explain.claims.claim import Claim
from tests.world.checkers.context import Check, Context
from tests.world.checkers.gaps import Gap, all_gaps, assigned_at_the_end, assigned_in, gaps, longest
from tests.world.checkers.tolerances import BEAT_MS, IDLE_MS, INSTANT_MS, NETWORK_MS, SYNC_MS
from tests.world.topics import RECORDS_PER_SECOND, Partition
from tests.world.truth import Truth

FORGETS: Final = frozenset({"delete offsets", "delete group"})


def unowned(claim: claims.Unowned, truth: Truth, context: Context) -> str | None:
    """There is one claim for the partitions of members that had stopped before, by name, and one for the rest."""
    every = list(all_gaps(truth, context))
    found = longest(every)
    meant = _meant(claim, every, found, truth, context)
    known = meant.perhaps
    if not known:
        return "no such partition had an owner before"
    at_least = max((each.least for each in meant.surely), default=0)
    at_most = max(each.most for each in known)
    if claim.longest_ms > at_most + BEAT_MS:
        return f"it was {at_most} ms at most"
    # A static member has its place again, and a classic one its part of an epoch, some ms before its SyncGroup.
    if not claim.is_at_least and claim.longest_ms + NETWORK_MS + SYNC_MS < at_least:
        return f"it was {at_least} ms at least"
    idle = sum(each.most > IDLE_MS for each in known)
    if claim.partitions > idle:
        return f"only {idle} such partitions had no owner for a time"
    shortest = sorted((each.most for each in known), reverse=True)[claim.partitions - 1]
    if claim.shortest_ms > shortest + BEAT_MS:
        return f"of {claim.partitions} partitions one had no owner for {shortest} ms at most"
    of_these = [each for each in context.told if isinstance(each, claims.Unowned)]
    if any(each.or_more for each in of_these):
        return None
    told = sum(each.partitions for each in of_these)
    missing = sum(
        each.least - each.hidden > BEAT_MS and _counts(each) and _is_there(which, truth, context)
        for which, each in found.items()
    )
    return f"{missing} partitions had no owner, and {told} are told of" if told < missing else None


def _counts(gap: Gap) -> bool:
    """Whether it is surely one of the rebalance, and over."""
    return gap.is_over and not gap.was_kept and not gap.may_be_before


def _is_there(partition: Partition, truth: Truth, context: Context) -> bool:
    """Whether it was there still when the generation was stable: what was deleted is of no interest any more."""
    name, topic_id, _ = partition
    return truth.topic_at(name, context.known_ms)[0] == topic_id and truth.topic_at(name, context.known_ms)[1] > 0


class Meant(NamedTuple):
    """The longest gaps of the partitions that a claim is about."""

    surely: list[Gap]
    perhaps: list[Gap]
    """Those that another claim may be about, too."""


def _meant(
    claim: claims.Unowned,
    every: Iterable[tuple[Partition, Gap]],
    found: dict[Partition, Gap],
    truth: Truth,
    context: Context,
) -> Meant:
    """Owners are named where they had stopped before the rebalance began; the other claim is about all others.

    What was taken from an owner that has gone since may be told of with either. A partition that had no owner several
    times is told of once, with the longest time (`found`).
    """
    named = {
        truth.identity(owner.member_id)
        for each in context.told
        if isinstance(each, claims.Unowned) and (each is claim or not claim.owners)
        for owner in each.owners
    }
    surely: list[tuple[Partition, Gap]] = []
    perhaps: list[tuple[Partition, Gap]] = []
    every = list(every)
    for which, gap in every:
        is_named = truth.identity(gap.owner) in named
        is_either = is_named and (gap.was_released or gap.stopped_ms >= context.disturbed_ms - BEAT_MS)
        if is_named == bool(claim.owners) or is_either:
            perhaps.append((which, gap))
            others = [each.most for place, each in every if place == which and each is not gap]
            is_longest = gap == found[which] and gap.least >= max(others, default=0)
            is_longest &= _is_there(which, truth, context)
            if not is_either and is_longest and _counts(gap):
                surely.append((which, gap))
    return Meant(list(longest(surely).values()), list(longest(perhaps).values()))


def unowned_in_sum(claim: claims.UnownedInSum, truth: Truth, context: Context) -> str | None:
    known = gaps(truth, context)
    at_most = sum(each.most for each in known.values()) + BEAT_MS * len(known)
    return f"it was {at_most} ms at most" if claim.partition_ms > at_most else None


def moved(claim: claims.Moved, truth: Truth, context: Context) -> str | None:
    if context.ended_ms is None or truth.went_on_at(context.ended_ms):
        return None
    # Who is removed in the ms in which the group became stable was there still, if it was removed after that.
    found = [_moved_to(claim, truth, context, with_leaving=each) for each in (False, True)]
    return found[0] if all(found) else None


def _moved_to(claim: claims.Moved, truth: Truth, context: Context, *, with_leaving: bool) -> str | None:
    assigned = assigned_in(truth, context)
    now = assigned_at_the_end(truth, context, with_leaving=with_leaving)
    first = sum(before is None for worker_id, (_, _, before) in assigned.items() if worker_id in now)
    others = sum(
        before is not None and not truth.is_same_member(before, now.get(worker_id, member_id))
        for worker_id, (member_id, _, before) in assigned.items()
        if worker_id in now
    )
    if claim.moved != others:
        return f"{others} partitions have another owner than before"
    if claim.first_owned != first:
        return f"{first} partitions have their first owner"
    if claim.partitions != len(now) + claim.without_owner:
        return f"{len(now)} partitions are assigned"
    there = {truth.identity(each) for each in now.values()} | _members_at(truth, context.known_ms)
    might_stay = sum(before is not None and truth.identity(before) in there for _, _, before in assigned.values())
    if claim.needlessly is not None and claim.needlessly > min(claim.moved, might_stay):
        return f"the owners of {might_stay} of these partitions were there to keep them"
    return None


def _members_at(truth: Truth, at_ms: int) -> set[str]:
    return {
        truth.identity(membership.member_id)
        for membership in truth.all_memberships()
        if membership.from_ms <= at_ms < membership.until_ms
    }


def nothing_assigned(claim: claims.NothingAssigned, truth: Truth, context: Context) -> str | None:
    now = assigned_at_the_end(truth, context)
    return f"{len(now)} partitions are assigned" if now else None


def commits_refused(claim: claims.CommitsRefused, truth: Truth, context: Context) -> str | None:
    since_ms = context.stable_before_ms or context.begin_ms
    found = [
        refused_commit
        for refused_commit in truth.refused_commits
        if since_ms - INSTANT_MS <= refused_commit <= context.known_ms + NETWORK_MS
    ]
    if claim.count > len(found):
        return f"{len(found)} were refused"
    return None


def lag(claim: claims.Lag, truth: Truth, context: Context) -> str | None:
    if any(act.what in FORGETS for act in truth.acts):
        return None  # which of these were refused, because the group consumes, is not written down
    partitions = len(truth.by_partition)
    slack = partitions * (RECORDS_PER_SECOND * NETWORK_MS // 1_000 + 1)
    for told, at_ms, when in ((claim.before, context.began_ms, "before"), (claim.after, context.ended_ms, "after")):
        if told is None or at_ms is None:
            continue
        # Of commits in the same ms, some may have come before and some after.
        known = truth.lags_at(at_ms)
        if not known or not min(known) - slack <= told <= max(known) + slack:
            return f"it was {known} {when}"
    return None


CHECKS: Final[dict[type[Claim], Check]] = {
    claims.Moved: moved,
    claims.NothingAssigned: nothing_assigned,
    claims.Unowned: unowned,
    claims.UnownedInSum: unowned_in_sum,
    claims.CommitsRefused: commits_refused,
    claims.Lag: lag,
}
