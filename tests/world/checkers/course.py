"""How a rebalance went: true by when requests of members arrived, and when the group changed its state."""

from typing import Final

from coordinator.audit.schema import MemberRef
from coordinator.explain.claims import course as claims
from coordinator.explain.claims.claim import Claim
from tests.world.checkers.context import Check, Context
from tests.world.checkers.tolerances import BEAT_MS, EXPIRY_MS, INSTANT_MS, NETWORK_MS
from tests.world.truth import Fate, StateChange, Truth

COMPLETING: Final = "CompletingRebalance"
STABLE: Final = "Stable"


def started_ms(truth: Truth, context: Context) -> int | None:
    """When the join phase of the generation had ended."""
    found = (
        state.at_ms
        for state in truth.states
        if state.generation_id == context.generation_id
        and state.state in (COMPLETING, STABLE)
        and context.began_ms - INSTANT_MS <= state.at_ms <= context.known_ms + INSTANT_MS
    )
    return next(found, None)


def state_at(truth: Truth, at_ms: int) -> StateChange | None:
    return next((state for state in reversed(truth.states) if state.at_ms <= at_ms), None)


def arrived(truth: Truth, member: MemberRef, api: str, from_ms: int, until_ms: int) -> list[int]:
    """When requests of a member were read by the coordinator, both ends included."""
    found = truth.arrivals(member.member_id, from_ms - 1, until_ms + 1)
    return [each.at_ms for each in found if each.api == api and each.fate is Fate.HANDLED]


def took(claim: claims.Took, truth: Truth, context: Context) -> str | None:
    if context.ended_ms is None:
        return None
    reported_ms = claim.join_ms + claim.sync_ms
    if abs(context.began_ms + reported_ms - context.ended_ms) > NETWORK_MS:
        return f"it took {context.ended_ms - context.began_ms} ms"
    stable = [state for state in truth.states if state.state == STABLE and state.at_ms == context.ended_ms]
    is_seen = bool(stable) and not truth.went_on_at(context.ended_ms)
    if is_seen and claim.member_count not in {each.members for each in stable}:
        return f"it has {stable[0].members} members"
    started = started_ms(truth, context)
    if started is not None and not claim.is_epoch and abs(started - context.began_ms - claim.join_ms) > NETWORK_MS:
        return f"all had joined after {started - context.began_ms} ms"
    return None


def held_up(claim: claims.HeldUp, truth: Truth, context: Context) -> str | None:
    until_ms = started_ms(truth, context)
    if until_ms is None:
        return None
    last: dict[str, int] = {}
    after: dict[str, int] = {}
    before: set[str] = set()
    now: set[str] = set()
    for membership in truth.all_memberships():
        if membership.process is not None and membership.from_ms <= until_ms <= membership.until_ms:
            # Another one may have taken its place in that ms.
            if membership.from_ms < until_ms:
                before.add(membership.member_id)
            if membership.until_ms > until_ms:
                now.add(membership.member_id)
            ref = MemberRef(membership.member_id)
            joins = arrived(truth, ref, "JoinGroup", context.began_ms - INSTANT_MS, until_ms)
            if joins:
                # One that asks again, as over a new connection, has joined: nobody waits for that.
                last[membership.member_id] = min(joins)
                # What came in the ms in which it began may have come before that.
                after[membership.member_id] = min(
                    (join for join in joins if join > context.began_ms), default=min(joins)
                )
    if claim.member.member_id not in last:
        return "no JoinGroup of it arrived"
    found = [
        _held_up(claim.member.member_id, {each: joins[each] for each in joins if each in ids}, context)
        for joins in (last, after)
        for ids in (now | {claim.member.member_id}, before | {claim.member.member_id})
    ]
    if all(abs(each - claim.held_up_ms) > NETWORK_MS for each in found):
        return f"it came {found[0]} ms after all others"
    return None


def _held_up(member_id: str, joined: dict[str, int], context: Context) -> int:
    others_ms = max((each for other, each in joined.items() if other != member_id), default=context.began_ms)
    return joined[member_id] - max(others_ms, context.began_ms)


def _until(truth: Truth, member: MemberRef, context: Context) -> int:
    removal = truth.removal(member.member_id, context.known_ms + INSTANT_MS)
    is_of_it = removal is not None and removal.until_ms >= context.began_ms
    return context.known_ms if removal is None or not is_of_it else removal.until_ms


def never_rejoined(claim: claims.NeverRejoined, truth: Truth, context: Context) -> str | None:
    for member in claim.members:
        until_ms = _until(truth, member, context) - INSTANT_MS
        if joins := arrived(truth, member, "JoinGroup", context.began_ms + INSTANT_MS, until_ms):
            return f"{member.member_id} rejoined {joins[0] - context.began_ms} ms after it began"
    return None


def pending_ids(claim: claims.PendingIds, truth: Truth, context: Context) -> str | None:
    until_ms = started_ms(truth, context) or context.known_ms
    for member_id in claim.member_ids:
        process = truth.process_of(member_id)
        if process is None:
            return f"{member_id} was given to nobody"
        # Its JoinGroup may have come, and been refused by a full group.
        theirs = [membership for membership in truth.all_memberships() if membership.member_id == member_id]
        if any(their.from_ms < until_ms - INSTANT_MS for their in theirs):
            return f"{member_id} joined"
    return None


def never_synced(claim: claims.NeverSynced, truth: Truth, context: Context) -> str | None:
    return _synced(claim.members, truth, context)


def _synced(members: tuple[MemberRef, ...], truth: Truth, context: Context) -> str | None:
    from_ms = started_ms(truth, context)
    if from_ms is None:
        return None
    for member in members:
        until_ms = _until(truth, member, context) - INSTANT_MS
        if arrived(truth, member, "SyncGroup", from_ms, until_ms):
            return f"{member.member_id} sent SyncGroup"
    return None


def slow_sync(claim: claims.SlowSync, truth: Truth, context: Context) -> str | None:
    from_ms = started_ms(truth, context)
    if from_ms is None or context.is_epoch:
        return None
    syncs = arrived(truth, claim.member, "SyncGroup", from_ms, context.known_ms)
    if not syncs:
        return "it sent none"
    if abs(syncs[0] - from_ms - claim.sync_ms) > NETWORK_MS:
        return f"it came after {syncs[0] - from_ms} ms"
    return None


def gave_up_late(claim: claims.GaveUpLate, truth: Truth, context: Context) -> str | None:
    """By what the process holds: it shows in its next heartbeat that it gave partitions up."""
    process = truth.process_of(claim.member.member_id)
    if process is None:
        return None
    named = {(topic, index) for topic, indexes in claim.partitions.items() for index in indexes}
    until_ms = claim.gave_up_ms or context.reported_ms
    removal = truth.removal(claim.member.member_id, until_ms + EXPIRY_MS)
    was_removed = removal is not None and abs(removal.until_ms - until_ms) <= EXPIRY_MS
    if claim.was_removed and not was_removed:
        return "it was not removed then"
    for holding in truth.holdings:
        name, _, index = holding.partition
        if holding.process is not process or (name, index) not in named:
            continue
        start, end = holding.span
        if claim.asked_ms is not None and start < claim.asked_ms and end < claim.asked_ms - BEAT_MS:
            continue  # an earlier holding
        if claim.gave_up_ms is None or was_removed or start >= claim.gave_up_ms - BEAT_MS:
            continue
        if end > claim.gave_up_ms + NETWORK_MS:
            return f"it used {name}-{index} for {end - claim.gave_up_ms} ms more"
    return None


def earlier_target(claim: claims.EarlierTarget, truth: Truth, context: Context) -> str | None:
    return "each target assignment of this world is computed at once"


CHECKS: Final[dict[type[Claim], Check]] = {
    claims.Took: took,
    claims.HeldUp: held_up,
    claims.NeverRejoined: never_rejoined,
    claims.PendingIds: pending_ids,
    claims.NeverSynced: never_synced,
    claims.SlowSync: slow_sync,
    claims.GaveUpLate: gave_up_late,
    claims.EarlierTarget: earlier_target,
}
