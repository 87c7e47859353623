"""Which claims are checked against what real clients did, and how: by the world's checkers, as far as the truth goes.

What needs to know which requests arrived when, or which states the group had, is not checked: no client tells it.
"""

from collections.abc import Iterator
from typing import Final

from coordinator.explain.claims import advice, causes, course, endings, findings, notes, price, silences
from coordinator.explain.claims.advice import Try
from coordinator.explain.claims.claim import Claim
from tests.world.checkers import advice as advice_checks
from tests.world.checkers.checks import CHECKS, strangers
from tests.world.checkers.context import Check, Context, Contradiction
from tests.world.checkers.tolerances import BEAT_MS, NETWORK_MS
from tests.world.spans import overlap, without
from tests.world.truth import Ended, ProcessTruth, Truth


def _hindered(process: ProcessTruth, truth: Truth, from_ms: int, until_ms: int) -> int:
    """For how many ms of a time the process stood still, its application was busy, it had ended, or nobody listened."""
    spans = [*process.suspended.all, *process.blocked.all, *process.out.all]
    spans += [(each.from_ms, each.until_ms) for each in truth.away]
    spans.append((process.ended_ms, until_ms + 1))
    able = without([(from_ms, until_ms)], spans)
    return until_ms - from_ms - overlap(able, from_ms, until_ms)


def silent(claim: silences.Silent, truth: Truth, context: Context) -> str | None:
    """Something kept it from sending for its session timeout, and it did not begin much before that."""
    process = truth.process_of(claim.member.member_id)
    if process is None or claim.timeout_ms is None:
        return None
    since_ms = claim.until_ms - claim.timeout_ms if claim.since_ms is None else claim.since_ms
    if _hindered(process, truth, since_ms - BEAT_MS, claim.until_ms) < claim.timeout_ms - BEAT_MS:
        return "it was able to send heartbeats"
    healthy_ms = _hindered(process, truth, since_ms + NETWORK_MS, since_ms + NETWORK_MS + BEAT_MS)
    if claim.since_ms is not None and claim.until_ms - since_ms > 2 * BEAT_MS and not healthy_ms:
        return f"it was able to send heartbeats for {BEAT_MS} ms after the silence is said to begin"
    return None


def came_again(claim: silences.CameAgain, truth: Truth, context: Context) -> str | None:
    process = truth.process_of(claim.member.member_id)
    if process is None or process.lived_at(claim.at_ms - NETWORK_MS):
        return None
    return "its process had ended"


def left(claim: causes.Left, truth: Truth, context: Context) -> str | None:
    """What clients say in words of their own is what they say."""
    return None if claim.way is causes.Way.OTHER else CHECKS[causes.Left](claim, truth, context)


def late(claim: causes.Late, truth: Truth, context: Context) -> str | None:
    process = truth.process_of(claim.member.member_id)
    if process is None:
        return None
    if not _hindered(process, truth, context.disturbed_ms - BEAT_MS, context.known_ms):
        return "nothing kept it from being in time"
    return None


def never_rejoined(claim: course.NeverRejoined, truth: Truth, context: Context) -> str | None:
    for member in claim.members:
        process = truth.process_of(member.member_id)
        if process is not None and not _hindered(process, truth, context.began_ms - BEAT_MS, context.known_ms):
            return f"nothing kept {member.member_id} from it"
    return None


def crash_loop(claim: findings.CrashLoop, truth: Truth, context: Context) -> str | None:
    theirs = [process for process in truth.processes if (process.client_id, process.host) == claim.client]
    theirs = theirs or [process for process in truth.processes if (process.instance_id,) == claim.client]
    ended = [their for their in theirs if their.ended is Ended.KILLED or their.instance_id is not None]
    if len(ended) + len(truth.away) < len(claim.crashes):
        return f"{len(ended)} processes of it were killed"
    return None


def told_advice(claim: advice.Advice, truth: Truth, context: Context) -> str | None:
    strange = [each for each in claim.because if each not in context.told]
    if strange:
        return f"it follows from {type(strange[0]).__name__}, which is not told"
    check = ADVICE.get(claim.kind)
    return None if check is None else check(claim, truth, context)


def session_outlasts(claim: advice.Advice, truth: Truth, context: Context) -> str | None:
    removal = advice_checks._removal(claim, truth, context)
    if removal is None or removal.process is None or removal.process.lived_at(removal.until_ms - NETWORK_MS):
        return None
    return "its process had ended"


def nobody_told(claim: Claim, truth: Truth, context: Context) -> str | None:
    return "nobody has done anything like that"


ADVICE: Final[dict[Try, Check]] = {
    Try.COORDINATOR_STOOD_STILL: advice_checks.coordinator_stood_still,
    Try.RIGHT_IS_MISSING: nobody_told,
    Try.QUOTA_IS_TOO_SMALL: nobody_told,
    Try.REBALANCE_TIMEOUT_OF_NOTHING: nobody_told,
    Try.STATIC_IS_GONE_FOR_GOOD: advice_checks.static_is_gone_for_good,
    Try.CONNECTION_LOST: session_outlasts,
    Try.SESSION_OUTLASTS: session_outlasts,
    Try.SHORTER_POLL: advice_checks.busy,
    Try.LATE_TO_REJOIN: advice_checks.busy,
    Try.LATE_TO_SYNC: advice_checks.busy,
    Try.LONGER_POLL_INTERVAL: advice_checks.longer_poll_interval,
    Try.LARGER_GROUP_SIZE: nobody_told,
    Try.SMALLER_ASSIGNMENT: nobody_told,
}

OWN: Final[dict[type[Claim], Check]] = {
    silences.Silent: silent,
    silences.CameAgain: came_again,
    causes.Left: left,
    causes.Late: late,
    course.NeverRejoined: never_rejoined,
    findings.CrashLoop: crash_loop,
    advice.Advice: told_advice,
    silences.Refused: nobody_told,
    silences.Muted: nobody_told,
    causes.RemovedByAdministrator: nobody_told,
    causes.Evicted: nobody_told,
    causes.AssignmentTooLarge: nobody_told,
    causes.FaultInjected: nobody_told,
    findings.TooOld: nobody_told,
    findings.HeldByCluster: nobody_told,
    findings.OutOfRange: nobody_told,
    findings.DeletedUnread: nobody_told,
    findings.WaitsForTransaction: nobody_told,
    findings.RightOnTopicLost: nobody_told,
    findings.SubscribedTopicMissing: nobody_told,
    notes.OffsetsGone: nobody_told,
    notes.GroupGone: nobody_told,
    notes.AtTheCluster: nobody_told,
    endings.EventsMissing: nobody_told,
}

AS_IN_THE_WORLD: Final[frozenset[type[Claim]]] = frozenset(
    {
        silences.Unheard,
        silences.StoodStill,
        silences.ConnectionClosed,
        silences.ConnectionOpen,
        silences.MayBeClosed,
        silences.Back,
        silences.CoordinatorAway,
        silences.UnheardSinceStart,
        causes.Joined,
        causes.LeftUnsaid,
        causes.DidNotComeBack,
        causes.TopicChanged,
        causes.Restarted,
        course.GaveUpLate,
        price.Moved,
        price.NothingAssigned,
        price.Unowned,
        price.UnownedInSum,
        endings.Emptied,
        endings.CutShort,
        findings.ComesAndGoes,
        findings.StaticRestarts,
        findings.RollingRestart,
        findings.Replaced,
        findings.PausesTooLong,
        findings.IdleMembers,
        findings.NoCommits,
        findings.SharedInstanceId,
        findings.WastedInstanceId,
        findings.StoppedForNothing,
        notes.PlaceTaken,
        notes.Loaded,
    }
)
"""Claims whose checkers ask for nothing that is not known here."""


def is_checked(claim: Claim) -> bool:
    return type(claim) in OWN or type(claim) in AS_IN_THE_WORLD


def check(claim: Claim, truth: Truth, context: Context) -> Contradiction | None:
    """What contradicts a claim; None: nothing does, as far as it can be checked."""
    why = next(strangers(claim, truth), None)
    if why is None and is_checked(claim):
        found = OWN.get(type(claim)) or CHECKS[type(claim)]
        why = found(claim, truth, context)
    return None if why is None else Contradiction(claim, why)


def reports_agree(truth: Truth) -> Iterator[str]:
    """What clients said that they were assigned, and the events of the group do not say."""
    for holding in truth.holdings:
        since_ms = holding.span[0]
        known = (
            plan
            for plan in truth.plans
            if since_ms - 10 * NETWORK_MS <= plan.at_ms <= since_ms + NETWORK_MS
            and any(holding.partition in partitions for partitions in plan.assigned.values())
        )
        if next(known, None) is None and not truth.was_away(since_ms - 10 * NETWORK_MS, since_ms):
            yield f"{holding.member_id} said that it has {holding.partition[0]}-{holding.partition[2]}"
