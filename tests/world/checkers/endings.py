"""How a rebalance ended: true by the states that the group came to, and by the starts of the coordinator."""

from typing import Final

from coordinator.explain.claims import endings as claims
from coordinator.explain.claims.claim import Claim
from tests.world.checkers.context import Check, Context, written_until
from tests.world.checkers.course import arrived, started_ms, state_at
from tests.world.checkers.tolerances import EXPIRY_MS, INSTANT_MS, NETWORK_MS
from tests.world.truth import Truth

ONGOING: Final = frozenset({"PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"})


def _came_to(truth: Truth, state: str, at_ms: int) -> bool:
    """Whether the group is in this state from then on."""
    found = state_at(truth, at_ms + INSTANT_MS)
    return found is not None and found.state == state and abs(found.at_ms - at_ms) <= EXPIRY_MS


def stable(claim: claims.Stable, truth: Truth, context: Context) -> str | None:
    if claim.at_ms is None or truth.went_on_at(claim.at_ms):
        return None
    # Of several states in one iteration of the event loop the last one alone is written down.
    was_so = any(
        (state.state == "Stable" and state.generation_id == context.generation_id and state.at_ms <= claim.at_ms)
        or (state.at_ms == claim.at_ms and state.generation_id > context.generation_id)
        for state in truth.states
    )
    return None if was_so else "the group was not stable in this generation"


def superseded(claim: claims.Superseded, truth: Truth, context: Context) -> str | None:
    was_stable = [
        state
        for state in truth.states
        if state.state == "Stable"
        and state.generation_id == context.generation_id
        and context.began_ms - INSTANT_MS <= state.at_ms < context.known_ms - INSTANT_MS
    ]
    if was_stable:
        return f"it was stable after {was_stable[0].at_ms - context.began_ms} ms"
    ended_ms = context.ended_ms
    is_known = claim.after_ms is not None and ended_ms is not None
    if is_known and abs(context.began_ms + (claim.after_ms or 0) - (ended_ms or 0)) > NETWORK_MS:
        return f"it was superseded after {(ended_ms or 0) - context.began_ms} ms"
    return _had_synced(claim, truth, context)


def _had_synced(claim: claims.Superseded, truth: Truth, context: Context) -> str | None:
    from_ms = started_ms(truth, context)
    if from_ms is None:
        return None
    for member in claim.never_synced:
        if arrived(truth, member, "SyncGroup", from_ms, context.known_ms - INSTANT_MS):
            return f"{member.member_id} had sent SyncGroup"
    return None


def converted(claim: claims.Converted, truth: Truth, context: Context) -> str | None:
    found = [state for state in truth.states if claim.at_ms is None or state.at_ms <= claim.at_ms + INSTANT_MS]
    # Of what is read at once after a pause, one request may convert it, and the next one convert it back.
    if claim.at_ms is not None and truth.went_on_at(claim.at_ms):
        return None
    then = found[-1:] if claim.at_ms is None else [*found[-1:], *(each for each in found if each.at_ms >= claim.at_ms)]
    is_consumer_group = claim.group_type == "consumer"
    if not any(each.is_consumer_group == is_consumer_group for each in then):
        return f"it was no {claim.group_type} group then"
    return None


def emptied(claim: claims.Emptied, truth: Truth, context: Context) -> str | None:
    if claim.at_ms is None or truth.went_on_at(claim.at_ms):
        return None
    there = [membership for membership in truth.all_memberships() if membership.from_ms < claim.at_ms - INSTANT_MS]
    left = [each for each in there if each.until_ms > claim.at_ms + EXPIRY_MS]
    return f"{left[0].member_id} was a member still" if left else None


def cut_short(claim: claims.CutShort, truth: Truth, context: Context) -> str | None:
    from_ms = context.began_ms - INSTANT_MS
    starts = truth.starts(from_ms, context.reported_ms + INSTANT_MS)
    return (
        None
        if starts or truth.disk_failed_within(from_ms, context.reported_ms)
        else "the coordinator never loaded it again"
    )


def in_progress(claim: claims.InProgress, truth: Truth, context: Context) -> str | None:
    now = state_at(truth, context.reported_ms)
    if now is None or (now.state not in ONGOING and truth.was_away(now.at_ms, context.reported_ms) == 0):
        return f"the group is {now.state if now else 'not there'}"
    until_ms = written_until(truth, context)
    for member in claim.waits_for:
        if arrived(truth, member, "JoinGroup", context.began_ms + INSTANT_MS, until_ms - INSTANT_MS):
            return f"{member.member_id} has joined"
    return None


def end_unknown(claim: claims.EndUnknown, truth: Truth, context: Context) -> str | None:
    """It is counted as weak; what is not known cannot be contradicted."""
    return None


def came_back_with_other_topics(claim: claims.CameBackWithOtherTopics, truth: Truth, context: Context) -> str | None:
    process = truth.process_of(claim.member.member_id)
    if process is None:
        return None
    said = [subscription.topics for subscription in process.subscriptions if subscription.at_ms <= claim.at_ms]
    if said and set(said[-1]) != set(claim.topics_now):
        return f"it subscribes to {said[-1]}"
    return None


def events_missing(claim: claims.EventsMissing, truth: Truth, context: Context) -> str | None:
    return "no event of this world is missing"


CHECKS: Final[dict[type[Claim], Check]] = {
    claims.Stable: stable,
    claims.Superseded: superseded,
    claims.Converted: converted,
    claims.Emptied: emptied,
    claims.CutShort: cut_short,
    claims.InProgress: in_progress,
    claims.EndUnknown: end_unknown,
    claims.CameBackWithOtherTopics: came_back_with_other_topics,
    claims.EventsMissing: events_missing,
}
