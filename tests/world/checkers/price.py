"""What a rebalance cost: true by who processed what when, and by what leaders assigned."""

from collections.abc import Iterator
from typing import Final

from coordinator.explain.claims import price as claims
from coordinator.explain.claims.claim import Claim
from tests.world.checkers.context import Check, Context
from tests.world.checkers.tolerances import BEAT_MS, INSTANT_MS, NETWORK_MS, SYNC_MS
from tests.world.topics import RECORDS_PER_SECOND, Partition
from tests.world.truth import Plan, Truth

FORGETS: Final = frozenset({"delete offsets", "delete group"})


class Assigned(dict[Partition, tuple[str, int, str | None]]):
    """Partition → its member in a generation, when that was assigned it, and the owner before, if it had one."""


def plans_until(truth: Truth, context: Context) -> Iterator[Plan]:
    """Those until the generation was stable. A classic member of a consumer group sends SyncGroup after that."""
    for plan in truth.plans:
        is_late = context.is_epoch and plan.is_synced and plan.generation_id == context.generation_id
        if plan.at_ms <= context.known_ms or (is_late and plan.at_ms <= context.known_ms + SYNC_MS):
            yield plan


def assigned_in(truth: Truth, context: Context) -> Assigned:
    """What the members of a generation were assigned, up to when it was stable."""
    found = Assigned()
    owners: dict[Partition, str] = {}
    last_ms = context.begin_ms
    for plan in plans_until(truth, context):
        if truth.gone_between(last_ms, plan.at_ms):
            owners = {}  # another group of the same name
        last_ms = plan.at_ms
        is_of_it = plan.at_ms >= context.disturbed_ms
        for member_id, partitions in plan.assigned.items():
            for each in partitions:
                before = owners.get(each)
                if is_of_it and (each not in found or found[each][0] != member_id):
                    first = found[each][2] if each in found else before
                    found[each] = member_id, plan.at_ms, first
                owners[each] = member_id
    return found


def assigned_at_the_end(truth: Truth, context: Context) -> dict[Partition, str]:
    """Partition → member, when the generation was stable: what nobody was assigned any more is left out."""
    last: dict[str, frozenset[Partition]] = {}
    for plan in plans_until(truth, context):
        if plan.is_whole:
            last = dict(plan.assigned)
        else:
            last.update(plan.assigned)
    present = {each.member_id for each in truth.all_memberships() if each.from_ms <= context.known_ms < each.until_ms}
    return {each: member_id for member_id, partitions in last.items() if member_id in present for each in partitions}


def gaps(truth: Truth, context: Context) -> dict[Partition, tuple[int, int]]:
    """Partition → how long nobody processed it before its member of this generation had it: at least, and at most."""
    found: dict[Partition, tuple[int, int]] = {}
    for partition, (_, at_ms, before) in assigned_in(truth, context).items():
        gap = None if before is None else truth.gap_before(partition, at_ms)
        if gap is not None:
            least, most = gap
            found[partition] = min(least, at_ms - _last_assigned(truth, partition, at_ms)), most
    return found


def _last_assigned(truth: Truth, partition: Partition, at_ms: int) -> int:
    """When the partition was last assigned before, to a process that could have begun with it."""
    found = 0
    for plan in truth.plans:
        if plan.at_ms >= at_ms:
            break
        for member_id, partitions in plan.assigned.items():
            process = truth.process_of(member_id)
            if partition in partitions and process is not None and process.ran([(plan.at_ms, plan.at_ms + 1)]):
                found = plan.at_ms
    return found


def unowned(claim: claims.Unowned, truth: Truth, context: Context) -> str | None:
    """There is one claim for the partitions of members that had stopped before, by name, and one for the rest."""
    known = _meant(claim, truth, context)
    if not known:
        return "no such partition had an owner before"
    at_least = max(least for least, _ in known.values())
    at_most = max(most for _, most in known.values())
    if claim.longest_ms > at_most + BEAT_MS:
        return f"it was {at_most} ms at most"
    slack_ms = NETWORK_MS + (SYNC_MS if context.is_epoch else 0)
    if not claim.is_at_least and claim.longest_ms + slack_ms < at_least:
        return f"it was {at_least} ms at least"
    idle = sum(most > INSTANT_MS for _, most in known.values())
    if claim.partitions > idle:
        return f"only {idle} such partitions had no owner for a time"
    ranked = sorted((most for _, most in known.values()), reverse=True)
    if claim.shortest_ms > ranked[claim.partitions - 1] + BEAT_MS:
        return f"of {claim.partitions} partitions one had no owner for {ranked[claim.partitions - 1]} ms at most"
    told = sum(each.partitions for each in context.told if isinstance(each, claims.Unowned))
    missing = sum(least > BEAT_MS for least, _ in gaps(truth, context).values())
    if told < missing:
        return f"{missing} partitions had no owner, and {told} are told of"
    return None


def _meant(claim: claims.Unowned, truth: Truth, context: Context) -> dict[Partition, tuple[int, int]]:
    """The gaps of the partitions that a claim is about, by their last owners."""
    named = {
        truth.identity(owner.member_id)
        for each in context.told
        if isinstance(each, claims.Unowned) and (each is claim or not claim.owners)
        for owner in each.owners
    }
    assigned, found = assigned_in(truth, context), gaps(truth, context)
    return {
        each: gap
        for each, gap in found.items()
        if (truth.identity(assigned[each][2] or "") in named) == bool(claim.owners)
    }


def unowned_in_sum(claim: claims.UnownedInSum, truth: Truth, context: Context) -> str | None:
    known = gaps(truth, context)
    at_most = sum(most for _, most in known.values()) + BEAT_MS * len(known)
    return f"it was {at_most} ms at most" if claim.partition_ms > at_most else None


def moved(claim: claims.Moved, truth: Truth, context: Context) -> str | None:
    if context.ended_ms is None:
        return None
    assigned = assigned_in(truth, context)
    now = assigned_at_the_end(truth, context)
    first = sum(before is None for _, _, before in assigned.values())
    others = sum(
        before is not None and not truth.is_same_member(before, now.get(each, member_id))
        for each, (member_id, _, before) in assigned.items()
        if each in now
    )
    if claim.moved != others:
        return f"{others} partitions have another owner than before"
    if claim.first_owned != first:
        return f"{first} partitions have their first owner"
    if claim.partitions != len(now) + claim.without_owner:
        return f"{len(now)} partitions are assigned"
    if claim.needlessly is not None and claim.needlessly > claim.moved:
        return "more than moved at all"
    return None


def nothing_assigned(claim: claims.NothingAssigned, truth: Truth, context: Context) -> str | None:
    now = assigned_at_the_end(truth, context)
    return f"{len(now)} partitions are assigned" if now else None


def commits_refused(claim: claims.CommitsRefused, truth: Truth, context: Context) -> str | None:
    since_ms = context.stable_before_ms or context.begin_ms
    found = [each for each in truth.refused_commits if since_ms - INSTANT_MS <= each <= context.known_ms + NETWORK_MS]
    if claim.count > len(found):
        return f"{len(found)} were refused"
    return None


def lag(claim: claims.Lag, truth: Truth, context: Context) -> str | None:
    if any(each.what in FORGETS for each in truth.acts):
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
