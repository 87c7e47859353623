"""What happened beside the rebalances: true by what administrators and the coordinator did."""

from typing import Final

from coordinator.core.causes import Cause
from coordinator.explain.claims import notes as claims
from coordinator.explain.claims.claim import Claim
from tests.world.checkers.context import Check, Context
from tests.world.checkers.tolerances import EXPIRY_MS, INSTANT_MS, NETWORK_MS
from tests.world.truth import Truth


def place_taken(claim: claims.PlaceTaken, truth: Truth, context: Context) -> str | None:
    process = truth.process_of(claim.member.member_id)
    if process is None:
        return None
    if process.instance_id is None:
        return "it is no static member"
    before = truth.process_of(claim.before.member_id)
    if before is not None and before.instance_id != process.instance_id:
        return f"{claim.before.member_id} has another instance id"
    return None


def offsets_set(claim: claims.OffsetsSet, truth: Truth, context: Context) -> str | None:
    if any(act.what == "reset" and act.at_ms <= claim.at_ms for act in truth.acts):
        return None
    earlier: dict[object, int] = {}
    for at_ms, _, partition, offset in sorted(truth.commits):
        if at_ms <= claim.at_ms and offset < earlier.get((partition[0], partition[2]), 0):
            return None  # a member went back, such as after its topic was made again
        earlier[partition[0], partition[2]] = offset
    return "nobody set any, and none went back"


def offsets_gone(claim: claims.OffsetsGone, truth: Truth, context: Context) -> str | None:
    acts = [act for act in truth.acts if act.what.startswith("delete") and act.at_ms <= claim.at_ms]
    gone = [
        topic_change
        for topic_change in truth.topic_changes
        if not topic_change.partitions and topic_change.at_ms <= claim.at_ms
    ]
    return None if acts or gone else "no administrator deleted any, and no topic is gone"


def refusal(claim: claims.Refusal, truth: Truth, context: Context) -> str | None:
    answers = (
        answer
        for process in truth.processes
        for answer in process.answers
        if abs(answer.at_ms - claim.at_ms) <= NETWORK_MS
    )
    if any(answer.error not in ("NONE", "MEMBER_ID_REQUIRED") for answer in answers):
        return None
    by_administrator = any(
        0 <= claim.at_ms - act.at_ms <= NETWORK_MS + truth.was_away(act.at_ms, claim.at_ms) for act in truth.acts
    )
    return None if by_administrator else "no request was refused then"


def loaded(claim: claims.Loaded, truth: Truth, context: Context) -> str | None:
    if truth.starts(claim.at_ms - EXPIRY_MS, claim.at_ms + EXPIRY_MS):
        return None
    # A coordinator that could not write loads again until it can: at most ten seconds later.
    return None if truth.disk_failed_within(context.begin_ms, claim.at_ms + EXPIRY_MS) else "it was not loaded then"


def group_converted(claim: claims.GroupConverted, truth: Truth, context: Context) -> str | None:
    found = [state for state in truth.states if state.state and abs(state.at_ms - claim.at_ms) <= EXPIRY_MS]
    before = [state.generation_id for state in truth.states if state.at_ms < claim.at_ms]
    if any(each.generation_id > (before[-1] if before else 0) + 1 for each in found):
        return None  # of several states in one iteration of the event loop the last one alone is written down
    if truth.was_away(claim.at_ms - EXPIRY_MS, claim.at_ms + 1):
        return None  # after a pause, much is read in one iteration
    wanted = claim.group_type == "consumer"
    return None if any(each.is_consumer_group == wanted for each in found) else "it was not converted then"


def group_gone(claim: claims.GroupGone, truth: Truth, context: Context) -> str | None:
    is_gone = any(not state.state and abs(state.at_ms - claim.at_ms) <= EXPIRY_MS for state in truth.states)
    restarted = truth.starts(claim.at_ms - EXPIRY_MS, claim.at_ms + EXPIRY_MS)
    if not is_gone and not restarted and not truth.disk_failed_within(context.begin_ms, claim.at_ms):
        return "the group was there"
    by_administrator = any(
        act.what == "delete group" and -INSTANT_MS <= claim.at_ms - act.at_ms <= context.reported_ms
        for act in truth.acts
    )
    if claim.event.cause is Cause.ADMIN and not by_administrator:
        return "nobody deleted it"
    return None


def impossible(claim: Claim, truth: Truth, context: Context) -> str | None:
    return "nothing in this world brings it about"


CHECKS: Final[dict[type[Claim], Check]] = {
    claims.PlaceTaken: place_taken,
    claims.OffsetsSet: offsets_set,
    claims.OffsetsGone: offsets_gone,
    claims.Refusal: refusal,
    claims.Loaded: loaded,
    claims.GroupConverted: group_converted,
    claims.GroupGone: group_gone,
    claims.AtTheCluster: impossible,
    claims.NotSeen: impossible,
}
