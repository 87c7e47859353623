"""Why a rebalance began: true by what processes said and did, and by what administrators did."""

import re
from itertools import combinations
from typing import Final

from coordinator.core.causes import Cause
from coordinator.core.consumer.patterns import RESOLVED_APART_MS
from coordinator.explain.claims import causes as claims
from coordinator.explain.claims.claim import Claim
from tests.world.checkers.context import Check, Context
from tests.world.checkers.course import arrived, started_ms
from tests.world.checkers.silences import own_fault
from tests.world.checkers.tolerances import BEAT_MS, EXPIRY_MS, INSTANT_MS, NETWORK_MS
from tests.world.clients import COOPERATIVE
from tests.world.truth import Fate, ProcessTruth, Truth, Way

SERVER_ASSIGNORS: Final = ("uniform", "range")
"""Those of `group.consumer.assignors`."""
IMPOSSIBLE: Final = frozenset({Cause.INVARIANT_VIOLATED, Cause.FAULT, Cause.ASSIGNMENT_TOO_LARGE})
"""Nothing in this world brings these about."""


def _since(context: Context) -> int:
    """What is claimed about a generation happened after the one before was stable."""
    return (context.stable_before_ms or context.begin_ms) - INSTANT_MS


def joined(claim: claims.Joined, truth: Truth, context: Context) -> str | None:
    member_id = claim.member.member_id
    found = [membership for membership in truth.all_memberships() if membership.member_id == member_id]
    if truth.was_away(_since(context), context.known_ms):
        return None  # what comes and goes in one iteration of the event loop, as after a pause, is not seen
    if not found:
        return "it never was a member"
    # Who comes with a regular expression is a member before its topics are found, which is what raises the epoch.
    process = truth.process_of(member_id)
    by_pattern = process is not None and any(subscription.pattern for subscription in process.subscriptions)

    def is_of_it(from_ms: int) -> bool:
        since_ms = _since(context)
        if process is not None and by_pattern:  # a heartbeat asks for the topics, if there is one
            waits_ms = own_fault(process, truth, from_ms, context.disturbed_ms) + RESOLVED_APART_MS + BEAT_MS
            since_ms = min(since_ms, context.disturbed_ms - waits_ms)
        return since_ms <= from_ms <= context.known_ms + INSTANT_MS

    if not any(is_of_it(each.from_ms) for each in found):
        return "it was a member since before, or later"
    return None


def resubscribed(claim: claims.Resubscribed, truth: Truth, context: Context) -> str | None:
    process = truth.process_of(claim.member.member_id)
    if process is None:
        return None
    # What a static member subscribes to goes on with it when another process takes its place.
    same = (
        [process]
        if process.instance_id is None
        else [each for each in truth.processes if each.instance_id == process.instance_id]
    )
    said = [
        subscription for one in same for subscription in one.subscriptions if subscription.at_ms <= context.known_ms
    ]
    if not said:
        return "it has said nothing"
    if claim.change is claims.Change.TOPICS:
        # Not all that it says is heard.
        pairs = [(set(a.topics), set(b.topics)) for a, b in combinations(said, 2)]
        wanted = set(claim.subscribed), set(claim.unsubscribed)
        if not any((now - before, before - now) == wanted for before, now in pairs):
            return f"it did not: {[each.topics for each in said]}"
    if claim.change is claims.Change.PATTERN and len({subscription.pattern for subscription in said}) < 2:
        return f"it had one regular expression at any time: {said[-1].pattern!r}"
    return None


def topic_changed(claim: claims.TopicChanged, truth: Truth, context: Context) -> str | None:
    changes = [topic_change for topic_change in truth.topic_changes if topic_change.name == claim.topic]
    known = [change for change in changes if change.at_ms <= context.known_ms + INSTANT_MS]
    counts = [0, *(each.partitions for each in known)]
    if claim.partitions_now not in counts or claim.partitions_before not in counts:
        return f"its partitions were {counts}"
    # Some are claimed as they were when the rebalance began, some as they were when it was over.
    begun = [each for each in known if each.at_ms <= context.began_ms + INSTANT_MS]
    exactly = [each for each in known if each.at_ms <= context.began_ms]
    now = {found[-1].partitions if found else 0 for found in (exactly, begun, known)}
    if claim.partitions_now not in now:
        return f"it has {counts[-1]} partitions"
    assigned = [state.at_ms for state in truth.states if state.generation_id < context.generation_id]
    since_ms = max((each for each in assigned if each < context.began_ms), default=_since(context))
    recent = [each for each in begun if since_ms <= each.at_ms <= context.began_ms]
    is_again = any(not each.partitions for each in recent) and recent[-1].partitions > 0
    if is_again and not claim.is_created_again and claim.partitions_before:
        return "it was deleted and created again"
    if claim.is_created_again and len({each.topic_id for each in known}) < 2:
        return "it was created once"
    return None


def leader_asked(claim: claims.LeaderAsked, truth: Truth, context: Context) -> str | None:
    why = _rejoined(claim.member.member_id, claim.said, truth, context)
    if why is None and claim.had_no_partitions:
        before = [plan for plan in truth.plans if plan.is_whole and plan.at_ms < context.began_ms]
        if before and any(before[-1].assigned.values()):
            return "its last assignment had partitions"
    return why


def rejoined(claim: claims.Rejoined, truth: Truth, context: Context) -> str | None:
    why = _rejoined(claim.member.member_id, claim.said, truth, context)
    process = truth.process_of(claim.member.member_id)
    if why is None and claim.assigns_revoked and process is not None:
        if not all(assignor in COOPERATIVE for assignor in _assignors(process)):
            return "its assignors are not cooperative"
        ends = [holding.span[1] for holding in truth.holdings if holding.process is process]
        if not any(_since(context) - NETWORK_MS <= end <= context.known_ms for end in ends):
            return "it had given up nothing"
    return why


def _assignors(process: ProcessTruth) -> tuple[str, ...]:
    return process.subscriptions[-1].protocols if process.subscriptions else ()


def _rejoined(member_id: str, said: str, truth: Truth, context: Context) -> str | None:
    process = truth.process_of(member_id)
    if process is None:
        return None
    joins = [arrival for arrival in process.arrivals if arrival.api == "JoinGroup" and arrival.member_id == member_id]
    if not any(_since(context) <= join.at_ms <= context.known_ms + INSTANT_MS for join in joins):
        return "no JoinGroup of it arrived"
    if said and said not in {subscription.reason for subscription in process.subscriptions}:
        return "it never said so"
    return None


WAYS: Final = {
    Way.CLOSED: claims.Way.CLOSED,
    Way.FOR_A_MOMENT: claims.Way.CLOSED,
    Way.UNSUBSCRIBED: claims.Way.UNSUBSCRIBED,
    Way.POLL_TIMEOUT: claims.Way.POLL_TIMEOUT,
}


def did_not_come_back(claim: claims.DidNotComeBack, truth: Truth, context: Context) -> str | None:
    process = truth.process_of(claim.member.member_id)
    if process is None:
        return None
    found = [departure for departure in process.departures if departure.way is Way.FOR_A_MOMENT]
    if not any(each.member_id == claim.member.member_id for each in found):
        return "it was not closed for a moment"
    # Of real clients it is not known when what they sent was read.
    read = _read_after(process, found[-1].at_ms) if process.arrivals else found[-1].at_ms
    return "it was not closed then" if read is None or abs(read - claim.left_ms) > NETWORK_MS else None


def left(claim: claims.Left, truth: Truth, context: Context) -> str | None:
    process = truth.process_of(claim.member.member_id)
    if process is None:
        return None
    found = [
        each
        for each in process.departures
        if each.member_id == claim.member.member_id and claim.at_ms - each.at_ms >= -INSTANT_MS
    ]
    if not found:
        return "it did not leave by itself"
    departure = found[-1]
    read = _read_after(process, departure.at_ms)
    if read is not None and abs(read - claim.at_ms) > NETWORK_MS:
        return f"it left {claim.at_ms - read} ms before"
    if claim.way is not claims.Way.NOT_SAID and claim.way is not WAYS[departure.way]:
        return f"it left because {departure.way}"
    limit_ms = context.history.setup.consumers[process.consumer].max_poll_interval_ms
    if claim.way is claims.Way.POLL_TIMEOUT and claim.limit_ms not in (None, limit_ms):
        return f"its max.poll.interval.ms is {limit_ms}"
    return None


def _read_after(process: ProcessTruth, at_ms: int) -> int | None:
    """When the coordinator read what a process sent then."""
    goodbyes = ("LeaveGroup", "ConsumerGroupHeartbeat")
    read = (arrival for arrival in process.arrivals if arrival.fate is Fate.HANDLED and arrival.at_ms > at_ms)
    return next((each.at_ms for each in read if each.api in goodbyes), None)


def left_unsaid(claim: claims.LeftUnsaid, truth: Truth, context: Context) -> str | None:
    for member in claim.members:
        process = truth.process_of(member.member_id)
        if process is None:
            continue
        found = [departure for departure in process.departures if departure.member_id == member.member_id]
        if not found:
            return f"{member.member_id} did not leave by itself"
        way = found[-1].way
        if found[-1].said:
            return f"{member.member_id} said why: {found[-1].said}"
        if claim.guess is claims.Guess.CLOSED and way is Way.POLL_TIMEOUT:
            return f"{member.member_id} exceeded its max.poll.interval.ms"
        if claim.guess is claims.Guess.POLL_TIMEOUT and way is not Way.POLL_TIMEOUT:
            return f"{member.member_id} left because {way}"
        if claim.usual is claims.Usual.GIVES and not process.kind.says_why and process.kind.software:
            return f"{process.kind.software} gives none"
        was_loaded = bool(truth.starts(0, context.known_ms)) or truth.disk_failed_within(0, context.known_ms)
        if claim.usual is claims.Usual.UNNAMED and process.kind.software and not was_loaded:
            return f"it says that it is {process.kind.software}"
        if claim.usual is claims.Usual.FORGOTTEN and not was_loaded:
            return "the coordinator had not loaded its group again"
    return None


def removed_by_administrator(claim: claims.RemovedByAdministrator, truth: Truth, context: Context) -> str | None:
    removals = [act for act in truth.acts if act.what == "remove" and act.at_ms <= context.known_ms]
    mine = truth.identity(claim.member.member_id)
    named = {truth.identity(member_id) for removal in removals for member_id in removal.member_ids}
    return None if mine in named else "no administrator removed it"


def late(claim: claims.Late, truth: Truth, context: Context) -> str | None:
    if claim.has_no_time:
        return "its client asks for a positive time"
    removal = truth.removal(claim.member.member_id, context.known_ms + EXPIRY_MS)
    if removal is None:
        if any(truth.went_on_at(each.until_ms) and each.until_ms <= context.known_ms for each in truth.away):
            return None  # it came and went in the ms in which a pause ended
        return "it was not removed"
    from_ms, until_ms = context.disturbed_ms, removal.until_ms - INSTANT_MS
    match claim.missing:
        case claims.Missing.REJOIN:
            since_ms = _asked_to_rejoin_ms(claim, truth, removal.until_ms)
            if since_ms is None:
                since_ms = from_ms
            if joins := arrived(truth, claim.member, "JoinGroup", since_ms + INSTANT_MS, until_ms):
                return f"its JoinGroup arrived after {joins[0] - since_ms} ms"
            waited_ms = removal.until_ms - since_ms
            if claim.limit_ms is not None and waited_ms < claim.limit_ms - EXPIRY_MS:
                return f"the coordinator waited for {waited_ms} ms"
        case claims.Missing.SYNC:
            since = started_ms(truth, context)
            if since is not None and since < until_ms and arrived(truth, claim.member, "SyncGroup", since, until_ms):
                return "its SyncGroup arrived"
        case claims.Missing.GIVE_UP:
            process = removal.process
            held = [
                holding
                for holding in truth.holdings
                if holding.process is process and holding.span[1] > until_ms - BEAT_MS
            ]
            if process is not None and process.lived_at(until_ms) and not held:
                return "it had given up all that it had"
    return None


def _asked_to_rejoin_ms(claim: claims.Late, truth: Truth, removed_ms: int) -> int | None:
    """Since when the member had to join again; in a consumer group each member has a time of its own."""
    states = [state for state in truth.states if state.at_ms < removed_ms - INSTANT_MS]
    if states and states[-1].is_consumer_group:
        return None if claim.limit_ms is None else removed_ms - claim.limit_ms
    begun = [state.at_ms for state in states if state.state == "PreparingRebalance"]
    return begun[-1] if begun else None


def restarted(claim: claims.Restarted, truth: Truth, context: Context) -> str | None:
    process = truth.process_of(claim.member.member_id)
    if process is None:
        return None
    if process.instance_id is None:
        return "it is no static member"
    earlier = [
        each for each in truth.processes if each.instance_id == process.instance_id and each.number <= process.number
    ]
    hosts = {each.host for each in earlier}
    if claim.host_before and claim.host_before not in hosts:
        return f"it was at {hosts} before"
    said = {subscription.topics for subscription in process.subscriptions}
    if claim.topics_now and not any(set(claim.topics_now) == set(each) for each in said):
        return f"it subscribes to {said}"
    return None


def evicted(claim: claims.Evicted, truth: Truth, context: Context) -> str | None:
    return "the group may have as many members" if context.history.setup.max_size >= 100 else None


def impossible(claim: Claim, truth: Truth, context: Context) -> str | None:
    return "nothing in this world brings it about"


def caused(claim: claims.Caused, truth: Truth, context: Context) -> str | None:
    if claim.cause is Cause.TOPICS_CHANGED and not any(
        context.begin_ms < change.at_ms <= context.known_ms for change in truth.topic_changes
    ):
        return "no topic has changed"
    return "nothing in this world brings it about" if claim.cause in IMPOSSIBLE else None


def topics_found(claim: claims.TopicsFound, truth: Truth, context: Context) -> str | None:
    asked = {subscription.pattern for process in truth.processes for subscription in process.subscriptions}
    names = {change.name for change in truth.topic_changes}
    # It may be of an epoch that this one superseded.
    moments = [context.disturbed_ms, context.began_ms]
    moments += [change.at_ms for change in truth.topic_changes if moments[0] <= change.at_ms <= moments[1]]
    for each in claim.found:
        pattern, topics = each.pattern, each.topics
        if pattern not in asked:
            return f"nobody subscribes to {pattern}"
        fitting = [name for name in names if re.fullmatch(pattern, name)]
        matching = [{name for name in fitting if truth.topic_at(name, at_ms)[1]} for at_ms in moments]
        if set(topics) not in matching:
            return f"{pattern} matches {sorted(matching[-1])}"
    return None


def assignor_changed(claim: claims.AssignorChanged, truth: Truth, context: Context) -> str | None:
    seen = [state.protocol for state in truth.states if state.at_ms <= context.known_ms + INSTANT_MS and state.protocol]
    if any(state.is_consumer_group for state in truth.states):
        seen += SERVER_ASSIGNORS  # which one it uses is in no state
    if claim.now not in seen or claim.before not in seen or claim.now == claim.before:
        return f"the group used {list(dict.fromkeys(seen))}"
    return None


def untold(claim: claims.Untold, truth: Truth, context: Context) -> str | None:
    """It is counted as weak; what is not known cannot be contradicted."""
    return None


CHECKS: Final[dict[type[Claim], Check]] = {
    claims.Joined: joined,
    claims.Resubscribed: resubscribed,
    claims.TopicChanged: topic_changed,
    claims.TopicsFound: topics_found,
    claims.LeaderAsked: leader_asked,
    claims.Rejoined: rejoined,
    claims.Left: left,
    claims.DidNotComeBack: did_not_come_back,
    claims.LeftUnsaid: left_unsaid,
    claims.RemovedByAdministrator: removed_by_administrator,
    claims.Late: late,
    claims.Restarted: restarted,
    claims.Evicted: evicted,
    claims.AssignmentTooLarge: impossible,
    claims.FaultInjected: impossible,
    claims.Caused: caused,
    claims.AssignorChanged: assignor_changed,
    claims.Undecided: impossible,
    claims.Untold: untold,
}
