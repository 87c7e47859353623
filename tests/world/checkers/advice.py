"""What to try: true by what was wrong in the world, and by the same history played again with it."""

from collections.abc import Callable
from typing import Final

from coordinator.explain.claims import advice as claims
from coordinator.explain.claims import silences
from coordinator.explain.claims.advice import Try
from coordinator.explain.claims.claim import Claim
from tests.world.checkers.context import Check, Context
from tests.world.checkers.silences import done_to, own_fault
from tests.world.checkers.tolerances import BEAT_MS, EXPIRY_MS, NETWORK_MS
from tests.world.effects import (
    idle_ms,
    is_disturbed,
    is_joined,
    longer_session_helps,
    longer_session_keeps_place,
    moves,
    owners_at,
    processes_at,
    static_membership_helps,
    was_stable_with_others,
    with_assignor,
)
from tests.world.spans import overlap, without
from tests.world.truth import AwayKind, Ended, Membership, ProcessTruth, Truth, Way

ABOVE_MS: Final = BEAT_MS
"""How much longer than what it has to outlast a session timeout is, to try it: until the next heartbeat."""

Given = claims.Advice


def advice(claim: Given, truth: Truth, context: Context) -> str | None:
    """Its reasons are among what is told, and what it says holds."""
    strangers = [each for each in claim.because if each not in context.told]
    if strangers:
        return f"it follows from {type(strangers[0]).__name__}, which is not told"
    check = BY_KIND.get(claim.kind)
    return None if check is None else check(claim, truth, context)


def _removal(claim: Given, truth: Truth, context: Context) -> Membership | None:
    """The member that it is about: the one that it names, or that its reasons are about."""
    named = [claim.member, *(getattr(each, "member", None) for each in claim.because)]
    for member_id in named:
        if member_id is not None:
            return truth.removal(member_id.member_id, context.known_ms + EXPIRY_MS)
    return None


def _process(claim: Given, truth: Truth, context: Context) -> ProcessTruth | None:
    named = [claim.member, *(getattr(each, "member", None) for each in claim.because)]
    return next((truth.process_of(member_id.member_id) for member_id in named if member_id is not None), None)


def _timeout_ms(removal: Membership, context: Context) -> int:
    """The session timeout of a member."""
    process, setup = removal.process, context.history.setup
    assert process is not None
    if process.kind.is_modern:
        return setup.consumer_session_ms
    return setup.consumers[process.consumer].session_timeout_ms


def _by_coordinator(removal: Membership, from_ms: int, truth: Truth, context: Context) -> str:
    """What the coordinator did to a member that would have been heard without it."""
    process, timeout_ms = removal.process, _timeout_ms(removal, context)
    assert process is not None
    fault_ms = own_fault(process, truth, removal.until_ms - timeout_ms, removal.until_ms)
    return done_to(process, from_ms, removal.until_ms) if fault_ms + BEAT_MS < timeout_ms else ""


def coordinator_stood_still(claim: Given, truth: Truth, context: Context) -> str | None:
    paused = any(each.kind is AwayKind.PAUSED and each.from_ms <= context.known_ms for each in truth.away)
    return None if paused else "it did not stand still"


def right_is_missing(claim: Given, truth: Truth, context: Context) -> str | None:
    process = _process(claim, truth, context)
    if process is None or process.refused.within(context.begin_ms, context.known_ms):
        return None
    return "it had all rights"


def quota_is_too_small(claim: Given, truth: Truth, context: Context) -> str | None:
    process = _process(claim, truth, context)
    if process is None or process.muted.within(context.begin_ms, context.known_ms):
        return None
    return "its connection was always read"


def process_ended(claim: Given, truth: Truth, context: Context) -> str | None:
    """It says that its process ended, or that something closed its connection."""
    removal = _removal(claim, truth, context)
    if removal is None or removal.process is None:
        return None
    from_ms = removal.until_ms - _timeout_ms(removal, context) - BEAT_MS
    # One that became a member when a pause was over had sent that, and may have closed its connection, in the pause.
    paused = (each.from_ms for each in truth.away if each.kind is AwayKind.PAUSED and each.until_ms == removal.from_ms)
    sent_ms = min(paused, default=removal.from_ms)
    if any(sent_ms <= disconnection <= removal.until_ms for disconnection in removal.process.disconnections):
        return None
    if removal.process.ended_ms < removal.until_ms and removal.process.ended is not Ended.POWER:
        return None
    why = _by_coordinator(removal, from_ms, truth, context)
    return why or "its connection was never closed"


def silent(claim: Given, truth: Truth, context: Context) -> str | None:
    """It says that something stopped the member, and where a longer session timeout helps."""
    removal = _removal(claim, truth, context)
    if removal is None or removal.process is None:
        return None
    since = [each.since_ms for each in claim.because if isinstance(each, silences.Silent) and each.since_ms is not None]
    from_ms = min(since, default=removal.until_ms - 2 * BEAT_MS)
    why = _by_coordinator(removal, from_ms, truth, context)
    if why and not claim.is_conditional:
        return why
    timeout_ms = _timeout_ms(removal, context)
    if claim.above_ms is not None and not context.is_epoch and claim.above_ms != timeout_ms:
        return f"its session timeout is {timeout_ms} ms"
    return None


def connection_lost(claim: Given, truth: Truth, context: Context) -> str | None:
    """It says that something closed the connection of a process that lives, and which timeout outlasts that."""
    removal = _removal(claim, truth, context)
    closed = [] if removal is None or removal.process is None else removal.process.disconnections
    if removal is not None and not any(each <= removal.until_ms for each in closed):
        return "its connection was never closed"
    return session_outlasts(claim, truth, context)


def session_outlasts(claim: Given, truth: Truth, context: Context) -> str | None:
    """It says that the process lives, and which session timeout would have outlasted its silence."""
    removal = _removal(claim, truth, context)
    if removal is None or removal.process is None:
        return None
    if not removal.process.lived_at(removal.until_ms):
        return "its process had ended"
    if claim.above_ms is None:
        return None
    if not longer_session_helps(context.history, removal, claim.above_ms + ABOVE_MS):
        return f"with a session timeout of {claim.above_ms + ABOVE_MS} ms it would have been removed, too"
    return None


def busy(claim: Given, truth: Truth, context: Context) -> str | None:
    """It says that the application was busy between two calls of poll(), or its process stood still."""
    process = _process(claim, truth, context)
    if process is None:
        return None
    hindered = [
        *process.blocked.all,
        *process.suspended.all,
        *process.starved.all,
        *process.cut.all,
        *process.proxied.all,
        *process.out.all,
    ]
    hindered.append((process.ended_ms, context.known_ms + 1))
    from_ms = context.disturbed_ms - BEAT_MS
    able = without([(from_ms, context.known_ms)], hindered)
    if overlap(able, from_ms, context.known_ms) >= context.known_ms - from_ms - NETWORK_MS:
        return "it was neither busy nor did it stand still"
    return None


def longer_poll_interval(claim: Given, truth: Truth, context: Context) -> str | None:
    process = _process(claim, truth, context)
    if process is None or claim.is_conditional:
        return None
    ways = {departure.way for departure in process.departures if departure.at_ms <= context.known_ms}
    return None if Way.POLL_TIMEOUT in ways else "it did not exceed max.poll.interval.ms"


def static_membership(claim: Given, truth: Truth, context: Context) -> str | None:
    removal = _removal(claim, truth, context)
    if removal is None or removal.process is None:
        return None
    if removal.process.instance_id is not None:
        return "it has a group.instance.id"
    consumer, number = removal.process.consumer, removal.process.number
    if not any(process.consumer == consumer and process.number > number for process in truth.processes):
        return None if removal.process.lived_at(removal.until_ms) else "it was not restarted"
    if not static_membership_helps(context.history, removal):
        return "with it the group would have rebalanced, too"
    return None


def session_for_restarts(claim: Given, truth: Truth, context: Context) -> str | None:
    """It says: if the static member was restarted, which session timeout would have kept its place."""
    removal = _removal(claim, truth, context)
    if removal is None or removal.process is None:
        return None
    if removal.process.instance_id is None:
        return "it is no static member"
    if removal.process.lived_at(removal.until_ms) or claim.above_ms is None:
        return None
    named = (each.new_member.member_id for each in claim.because if isinstance(each, silences.Back))
    back = truth.process_of(next(named, ""))
    if not longer_session_keeps_place(context.history, removal, claim.above_ms + ABOVE_MS, back):
        return f"with a session timeout of {claim.above_ms + ABOVE_MS} ms it would have been removed, too"
    return None


def stickier_assignor(claim: Given, truth: Truth, context: Context) -> str | None:
    """It says that the other assignor moves no more than it has to."""
    if claim.change is None:
        return None
    window = context.disturbed_ms, context.known_ms + BEAT_MS
    other = with_assignor(context.history, claim.change.assignor)
    if owners_at(other, context.disturbed_ms) != owners_at(truth, context.disturbed_ms):
        return None  # the other assignor had assigned otherwise before: both cannot be compared
    if processes_at(other, context.known_ms) != processes_at(truth, context.known_ms):
        return None  # another assignor takes more or fewer rebalances, and meanwhile others came or went
    if any(is_joined(each, context.known_ms, window[1]) for each in (truth, other)):
        return None  # what moves after that is due to those that came or went
    if is_disturbed(other, context.disturbed_ms):
        return None  # the rebalance before was not over then
    if was_stable_with_others(other, context.disturbed_ms, window[1]):
        return None  # what was one rebalance is several
    others, now = moves(other, *window), moves(truth, *window)
    return f"{others} partitions would have moved, and {now} did" if others >= now else None


def cooperative_assignor(claim: Given, truth: Truth, context: Context) -> str | None:
    """It says that members go on consuming what they keep."""
    if claim.change is None:
        return None
    window = context.disturbed_ms, context.known_ms
    other = with_assignor(context.history, claim.change.assignor)
    owners = owners_at(truth, context.disturbed_ms)
    if owners_at(other, context.disturbed_ms) != owners:
        return None
    if processes_at(other, context.known_ms) != processes_at(truth, context.known_ms):
        return None
    if is_disturbed(other, context.disturbed_ms):
        return None  # it was amid another rebalance then
    if processes_at(other, context.disturbed_ms) != processes_at(truth, context.disturbed_ms):
        return None
    other_ms, now_ms = idle_ms(other, owners, *window), idle_ms(truth, owners, *window)
    return f"partitions would have been idle for {other_ms} ms, and were for {now_ms}" if other_ms >= now_ms else None


def static_is_gone_for_good(claim: Given, truth: Truth, context: Context) -> str | None:
    process = _process(claim, truth, context)
    return "it is no static member" if process is not None and process.instance_id is None else None


def rebalance_timeout_of_nothing(claim: Given, truth: Truth, context: Context) -> str | None:
    return "all clients ask for a positive time"


def larger_group_size(claim: Given, truth: Truth, context: Context) -> str | None:
    return "the group may have as many members" if context.history.setup.max_size >= 100 else None


def impossible(claim: Given, truth: Truth, context: Context) -> str | None:
    return "nothing in this world brings it about"


BY_KIND: Final[dict[Try, Callable[[Given, Truth, Context], str | None]]] = {
    Try.COORDINATOR_STOOD_STILL: coordinator_stood_still,
    Try.RIGHT_IS_MISSING: right_is_missing,
    Try.QUOTA_IS_TOO_SMALL: quota_is_too_small,
    Try.REBALANCE_TIMEOUT_OF_NOTHING: rebalance_timeout_of_nothing,
    Try.PROCESS_ENDED: process_ended,
    Try.STATIC_IS_GONE_FOR_GOOD: static_is_gone_for_good,
    Try.SILENT_ON_OPEN_CONNECTION: silent,
    Try.SILENT: silent,
    Try.CONNECTION_LOST: connection_lost,
    Try.SESSION_OUTLASTS: session_outlasts,
    Try.SESSION_FOR_RESTARTS: session_for_restarts,
    Try.SHORTER_POLL: busy,
    Try.LATE_TO_REJOIN: busy,
    Try.LATE_TO_SYNC: busy,
    Try.LONGER_POLL_INTERVAL: longer_poll_interval,
    Try.STATIC_MEMBERSHIP: static_membership,
    Try.STICKIER_ASSIGNOR: stickier_assignor,
    Try.COOPERATIVE_ASSIGNOR: cooperative_assignor,
    Try.LARGER_GROUP_SIZE: larger_group_size,
    Try.SMALLER_ASSIGNMENT: impossible,
}

CHECKS: Final[dict[type[Claim], Check]] = {claims.Advice: advice}
