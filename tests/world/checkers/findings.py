"""Findings: true by what clients did over a longer time."""

from typing import Final

from coordinator.explain.claims import findings as claims
from coordinator.explain.claims.claim import Claim
from coordinator.explain.facts import RETURN_MS
from tests.world.checkers.context import Check, Context, written_until
from tests.world.checkers.tolerances import EXPIRY_MS, INSTANT_MS, NETWORK_MS
from tests.world.clients import COOPERATIVE
from tests.world.truth import Answer, Fate, Membership, ProcessTruth, StateChange, Truth, Way

JOINS: Final = frozenset({"JoinGroup", "ConsumerGroupHeartbeat"})
GOODBYES: Final = frozenset({"LeaveGroup", "ConsumerGroupHeartbeat"})
PREPARING: Final = "PreparingRebalance"
"""A rebalance of a classic group has begun, which may lead to no generation; an epoch rises as one begins."""
EMPTY: Final = "Empty"
NO_COMMITS_MS: Final = 600_000


def processes_of(truth: Truth, client: claims.Identity) -> list[ProcessTruth]:
    """Those of a client: of its instance id, or of its client id and host."""
    if len(client) == 1:
        return [process for process in truth.processes if process.instance_id == client[0]]
    return [process for process in truth.processes if (process.client_id, process.host) == client]


def memberships_of(truth: Truth, client: claims.Identity) -> list[Membership]:
    found = processes_of(truth, client)
    return [membership for membership in truth.all_memberships() if membership.process in found]


def _ended_at(memberships: list[Membership], at_ms: int) -> Membership | None:
    near = [membership for membership in memberships if abs(membership.until_ms - at_ms) <= EXPIRY_MS]
    return min(near, key=lambda each: abs(each.until_ms - at_ms), default=None)


def _began_at(memberships: list[Membership], at_ms: int) -> Membership | None:
    near = [membership for membership in memberships if abs(membership.from_ms - at_ms) <= EXPIRY_MS]
    return min(near, key=lambda each: abs(each.from_ms - at_ms), default=None)


def comes_and_goes(claim: claims.ComesAndGoes, truth: Truth, context: Context) -> str | None:
    known = memberships_of(truth, claim.client)
    for departure in claim.departures:
        # What waited in a pause came and went in one ms after it, so that nobody saw it as a member.
        if _ended_at(known, departure.at_ms) is None and not truth.went_on_at(departure.at_ms):
            return f"no member of it went at {departure.at_ms}"
    return None


def crash_loop(claim: claims.CrashLoop, truth: Truth, context: Context) -> str | None:
    known = memberships_of(truth, claim.client)
    for crash in claim.crashes:
        gone = _ended_at(known, crash.removed_ms)
        if gone is None or gone.process is None:
            return f"no member of it was removed at {crash.removed_ms}"
        read = {
            arrival.at_ms
            for arrival in gone.process.arrivals
            if arrival.fate is Fate.HANDLED and arrival.api in GOODBYES
        }
        left = [
            departure.way
            for departure in gone.process.departures
            if departure.member_id == gone.member_id
            # One of KIP-848 comes back with the id that it had, and may leave with it later.
            and gone.from_ms <= departure.at_ms <= gone.until_ms + NETWORK_MS
            and any(0 <= at_ms - departure.at_ms <= NETWORK_MS for at_ms in read)
        ]
        if left and not (claim.may_be_closed and set(left) == {Way.FOR_A_MOMENT}):
            return "it left the group in order"
        if any(gone.until_ms <= at_ms < context.reported_ms for at_ms in _joined_by_id(truth, gone)):
            return "it came back by the id that it had"
        if crash.back_ms is not None and _began_at(known, crash.back_ms) is None:
            return f"it was not back at {crash.back_ms}"
    return None


def _joined_by_id(truth: Truth, gone: Membership) -> list[int]:
    """When the process of a member became one by this id, by its own request: a load may bring a member back, too."""
    assert gone.process is not None
    asked = {arrival.at_ms for arrival in gone.process.arrivals if arrival.member_id == gone.member_id}
    return [
        membership.from_ms
        for membership in truth.all_memberships()
        if membership.member_id == gone.member_id and membership.from_ms in asked
    ]


def static_restarts(claim: claims.StaticRestarts, truth: Truth, context: Context) -> str | None:
    known = memberships_of(truth, (claim.instance_id,))
    for at_ms in claim.restarts:
        came = _began_at(known, at_ms)
        if came is None and not truth.was_away(at_ms - EXPIRY_MS, at_ms + 1):
            return f"no process of it joined at {at_ms}"
    # Of those whose requests waited in a pause each had the place in one ms after it, and nobody saw that.
    processes = {
        process.number
        for process in processes_of(truth, (claim.instance_id,))
        if any(arrival.api in JOINS and arrival.fate is Fate.HANDLED for arrival in process.arrivals)
    }
    if len(claim.restarts) >= len(known) and len(processes) < 2:
        return f"it had {len(processes)} processes"
    return None


def storm(claim: claims.Storm, truth: Truth, context: Context) -> str | None:
    since_ms, until_ms = claim.from_ms - INSTANT_MS, claim.until_ms + INSTANT_MS
    count = rebalances_between(truth, since_ms, until_ms)
    if claim.rebalances > count:
        return f"there were {count} rebalances"
    if claim.lost_ms > until_ms - since_ms:
        return "more time is said to be lost than passed"
    return None


def rebalances_between(truth: Truth, from_ms: int, until_ms: int) -> int:
    """How many rebalances began, by what they raised where they were over in one ms."""
    count, before = 0, StateChange(0, "", 0, 0, "", is_consumer_group=False)
    for state in truth.states:
        if from_ms <= state.at_ms <= until_ms:
            count += _begun(before, state)
        before = state
    return count


def _begun(before: StateChange, now: StateChange) -> int:
    # An empty group that changes its type is made anew, and begins at 0; a load may take a generation back.
    is_anew = now.is_consumer_group is not before.is_consumer_group and now.generation_id < before.generation_id
    rise = max(0, now.generation_id - (0 if is_anew else before.generation_id))
    was_waiting, is_waiting = before.state == PREPARING, now.state == PREPARING
    if rise and was_waiting and not now.is_consumer_group:
        rise -= 1  # that one had begun before; one that its group changes its type in is dropped
    has_emptied = now.state == EMPTY and bool(before.members) and not rise and not was_waiting
    return rise + (is_waiting and (not was_waiting or now.generation_id != before.generation_id)) + has_emptied


def rolling_restart(claim: claims.RollingRestart, truth: Truth, context: Context) -> str | None:
    # The goodbyes of a time in which nobody coordinated are read after it.
    hidden_ms = truth.was_away(claim.from_ms - RETURN_MS, claim.from_ms + INSTANT_MS)
    ended = {
        process.consumer
        for process in truth.processes
        if claim.from_ms - hidden_ms - NETWORK_MS <= process.ended_ms <= claim.until_ms + NETWORK_MS
    }
    others = {
        membership.process.consumer
        for membership in truth.memberships
        if membership.process is not None
        and claim.from_ms - NETWORK_MS <= membership.until_ms <= claim.until_ms + NETWORK_MS
    }
    if claim.members > len(ended | others):
        return f"{len(ended | others)} members left or ended"
    if not ended:
        return "no process was restarted"
    return None


def replaced(claim: claims.Replaced, truth: Truth, context: Context) -> str | None:
    for succession in claim.successions:
        came, gone = truth.process_of(succession.came.member_id), truth.process_of(succession.gone.member_id)
        if came is None or gone is None:
            continue
        if came is gone:
            return f"{succession.came.member_id} is the same process as {succession.gone.member_id}"
        if gone.lived_at(context.reported_ms) and not gone.out.at(context.reported_ms):
            return f"{succession.gone.member_id} lives still"
    return None


def pauses_too_long(claim: claims.PausesTooLong, truth: Truth, context: Context) -> str | None:
    known = memberships_of(truth, claim.client)
    for pause in claim.pauses:
        gone, back = _ended_at(known, pause.removed_ms), _began_at(known, pause.back_ms)
        if gone is None or back is None:
            return f"it was not removed at {pause.removed_ms} and back at {pause.back_ms}"
        if gone.process is not back.process and claim.is_known:
            return "its process was restarted in between"
    return None


def slow_rejoiner(claim: claims.SlowRejoiner, truth: Truth, context: Context) -> str | None:
    return None if memberships_of(truth, claim.client) else "it never was a member"


def holds_up_others(claim: claims.HoldsUpOthers, truth: Truth, context: Context) -> str | None:
    return None if memberships_of(truth, claim.client) else "it never was a member"


def stopped_for_nothing(claim: claims.StoppedForNothing, truth: Truth, context: Context) -> str | None:
    return "its members keep what they own" if claim.assignor in COOPERATIVE else None


def idle_members(claim: claims.IdleMembers, truth: Truth, context: Context) -> str | None:
    for member in claim.members:
        for holding in truth.holdings:
            start, end = holding.span
            if (
                holding.member_id == member.member_id
                and start + NETWORK_MS < claim.from_ms
                and end > context.reported_ms
            ):
                return f"{member.member_id} has {holding.partition[0]}-{holding.partition[2]}"
    return None


def no_commits(claim: claims.NoCommits, truth: Truth, context: Context) -> str | None:
    recent = [
        each for each, _, _, _ in truth.commits if context.reported_ms - NO_COMMITS_MS < each <= context.reported_ms
    ]
    return f"it committed {context.reported_ms - recent[-1]} ms before" if recent else None


def shared_instance_id(claim: claims.SharedInstanceId, truth: Truth, context: Context) -> str | None:
    theirs = [process for process in truth.processes if process.instance_id == claim.instance_id]
    for one in theirs:
        for other in theirs:
            if one.number < other.number and one.ended_ms > other.started_ms:
                return None
    return "one process alone had it at any time"


def wasted_instance_id(claim: claims.WastedInstanceId, truth: Truth, context: Context) -> str | None:
    found = processes_of(truth, claim.client)
    left = [
        departure.at_ms
        for process in found
        for departure in process.departures
        if departure.way is not Way.FOR_A_MOMENT
    ]
    removed = [act.at_ms for act in truth.acts if act.what == "remove"]
    for leave in claim.leaves:
        # What was sent while nobody coordinated, or nothing was read from its connection, is read after that.
        hidden_ms = truth.was_away(leave.left_ms - RETURN_MS, leave.left_ms)
        hidden_ms += sum(process.muted.within(leave.left_ms - RETURN_MS, leave.left_ms) for process in found)
        slack_ms = NETWORK_MS + hidden_ms
        if not any(-NETWORK_MS <= leave.left_ms - at_ms <= slack_ms for at_ms in (*left, *removed)):
            return f"it did not leave at {leave.left_ms}"
    return None


def cannot_join(claim: claims.CannotJoin, truth: Truth, context: Context) -> str | None:
    refused_ms = claim.refusal.time_ms
    until_ms = written_until(truth, context)
    found = processes_of(truth, claim.client)
    for process in found:
        for answer in process.answers:
            is_in = answer.error == "NONE" and answer.api in JOINS and answer.generation_id > 0
            is_later = refused_ms + INSTANT_MS < answer.at_ms < until_ms - INSTANT_MS
            if is_in and is_later and _took(process, answer):
                return f"it has joined {answer.at_ms - refused_ms} ms after it was refused"
    if claim.refusal.error == "UNRELEASED_INSTANCE_ID" and len(claim.client) == 1:
        holders = [
            membership
            for membership in memberships_of(truth, claim.client)
            if membership.from_ms <= refused_ms < membership.until_ms
        ]
        if holders and max(holder.until_ms for holder in holders) < context.reported_ms - INSTANT_MS:
            return "who had its group.instance.id is gone"
    tried = any(
        arrival.fate is Fate.HANDLED and abs(arrival.at_ms - refused_ms) <= NETWORK_MS
        for process in found or truth.processes
        for arrival in process.arrivals
    )
    return None if tried else "nothing of it arrived then"


def _took(process: ProcessTruth, answer: Answer) -> bool:
    """Whether it took the answer: it may have ended, or have asked again by then, so that nobody waited for it."""
    if not process.lived_at(answer.at_ms):
        return False
    return answer.api != "JoinGroup" or any(
        arrival.member_id == answer.member_id and arrival.at_ms > answer.at_ms for arrival in process.arrivals
    )


def impossible(claim: Claim, truth: Truth, context: Context) -> str | None:
    """Clients speak versions that the server knows, its logs keep their records, and there is no cluster.

    Rights are on the group alone.
    """
    return "nothing in this world brings it about"


CHECKS: Final[dict[type[Claim], Check]] = {
    claims.ComesAndGoes: comes_and_goes,
    claims.CrashLoop: crash_loop,
    claims.StaticRestarts: static_restarts,
    claims.Storm: storm,
    claims.RollingRestart: rolling_restart,
    claims.Replaced: replaced,
    claims.PausesTooLong: pauses_too_long,
    claims.SlowRejoiner: slow_rejoiner,
    claims.HoldsUpOthers: holds_up_others,
    claims.StoppedForNothing: stopped_for_nothing,
    claims.IdleMembers: idle_members,
    claims.NoCommits: no_commits,
    claims.SharedInstanceId: shared_instance_id,
    claims.WastedInstanceId: wasted_instance_id,
    claims.CannotJoin: cannot_join,
    claims.TooOld: impossible,
    claims.HeldByCluster: impossible,
    claims.DeletedUnread: impossible,
    claims.RightOnTopicLost: impossible,
}
