"""Why a rebalance began, in words: each cause as a clause, and what can be known of a member that left."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from coordinator.audit.schema import MemberRef
from coordinator.core.causes import Cause, InferredCause
from coordinator.explain.claims.causes import (
    AssignmentTooLarge,
    AssignorChanged,
    Caused,
    Change,
    DidNotComeBack,
    Evicted,
    FaultInjected,
    Guess,
    Joined,
    Late,
    LeaderAsked,
    Left,
    LeftUnsaid,
    Missing,
    PatternTopics,
    Rejoined,
    RemovedByAdministrator,
    Restarted,
    Resubscribed,
    TopicChanged,
    TopicsFound,
    Undecided,
    Untold,
    Usual,
    Way,
)
from coordinator.explain.claims.claim import Claim
from coordinator.explain.claims.silences import Muted, Refused, Silent, Unheard
from coordinator.explain.sentences.silences import muted, refused, silent, unheard, unheard_together
from coordinator.explain.sentences.wording import Wording
from coordinator.explain.words import counted, duration, host_of, listed, plain, quoted, requester, were

TOPICS_NAMED: Final = 3
PATTERNS_NAMED: Final = 2
SAME_CAUSES_NAMED: Final = 3


def why(claims: Sequence[Claim], wording: Wording) -> str:
    """The cause as a clause after "because": `billing-3 (10.0.4.7) was silent for 10.2 s, …`."""
    changes = topic_changes([claim for claim in claims if isinstance(claim, TopicChanged)])
    others = [claim for claim in claims if not isinstance(claim, TopicChanged)]
    if not others:
        return changes or "unknown"
    (cause,) = others
    if changes and isinstance(cause, LeaderAsked):
        who = wording.names.full(cause.member)
        return f"{changes}, and the leader, {who}, asked for a new assignment{_said(cause.said)}"
    return clause(cause, wording)


def clause(claim: Claim, wording: Wording) -> str:
    """One cause as a clause."""
    return _CLAUSES[type(claim)](claim, wording)


def _said(reason: str) -> str:
    return f", saying {quoted(reason)}" if reason else ""


def _joined(claim: Joined, wording: Wording) -> str:
    return f"{wording.names.full(claim.member)} joined{_said(claim.said)}"


_OTHER_PROCESS: Final = (
    "told another process, user endpoint, client id, address, rack, rebalance timeout or version of the topology, or"
    " other client tags"
)


def _resubscribed(claim: Resubscribed, wording: Wording) -> str:
    who, said = wording.names.full(claim.member), _said(claim.said)
    match claim.change:
        case Change.UNKNOWN:
            return f"{who} rejoined with another subscription or other assignors{said}"
        case Change.PATTERN:
            return f"{who} subscribed to another regular expression"
        case Change.NONE_KNOWN:
            return (
                f"{who} rejoined with the same topics{said}; whether anything else changed is not known, because the"
                " coordinator had restarted and stores one assignor of each member only"
            )
        case Change.PROTOCOLS:
            return f"{who} rejoined with other assignors or other data for them{said}"
        case Change.PROCESS:
            return f"{who} {_OTHER_PROCESS}"
    changes = [
        f"{verb} {topics_named(topics)}"
        for verb, topics in (("subscribed to", claim.subscribed), ("unsubscribed from", claim.unsubscribed))
        if topics
    ]
    return f"{who} {' and '.join(changes) or _SEVERAL_CHANGED[Change.TOPICS]}{said}"


def _leader_asked(claim: LeaderAsked, wording: Wording) -> str:
    unknown = "" if claim.said or not claim.is_seen_whole else ", with an unchanged subscription and without a reason"
    if claim.had_no_partitions:
        unknown = ", after its last one had no partitions"
    who = wording.names.full(claim.member)
    return f"the leader, {who}, rejoined to ask for a new assignment{_said(claim.said)}{unknown}"


def _rejoined(claim: Rejoined, wording: Wording) -> str:
    why = ""
    if claim.assigns_revoked:
        why = ": the second rebalance of the cooperative protocol, which assigns what the first one revoked"
    return f"{wording.names.full(claim.member)} rejoined with the same subscription{_said(claim.said)}{why}"


def _left(claim: Left, wording: Wording) -> str:
    who = wording.names.full(claim.member)
    match claim.way:
        case Way.POLL_TIMEOUT:
            limit = f" ({duration(claim.limit_ms)})" if claim.limit_ms else ""
            return f"{who} left by itself: its application did not call poll() within max.poll.interval.ms{limit}"
        case Way.UNSUBSCRIBED:
            return f"{who} unsubscribed from all topics and left"
        case Way.CLOSED:
            return f"{who} was closed and left"
    unsaid = " without giving a reason" if wording.protocol.gives_reasons and claim.is_reason_seen else ""
    return f"{who} left{_said(claim.said) or unsaid}"


def _removed_by_administrator(claim: RemovedByAdministrator, wording: Wording) -> str:
    by = f", {requester(claim.by)}," if claim.by else ""
    return f"an administrator{by} removed {wording.names.full(claim.member)}{_said(claim.said)}"


def _did_not_come_back(claim: DidNotComeBack, wording: Wording) -> str:
    who, timeout = wording.names.full(claim.member), f", {duration(claim.timeout_ms)}" if claim.timeout_ms else ""
    at = wording.clock(claim.left_ms)
    return f"the static member {who} was closed at {at}, and did not come back within its session timeout{timeout}"


_DID_NOT: Final = {
    Missing.REJOIN: "rejoin",
    Missing.SYNC: "send SyncGroup",
    Missing.GIVE_UP: "give up its partitions",
}


def _late(claim: Late, wording: Wording) -> str:
    limit = f", {duration(claim.limit_ms)}" if claim.limit_ms else ""
    if claim.has_no_time:
        limit = f", for which its client asks for {claim.limit_ms} ms: nobody can be in time"
    who = wording.names.full(claim.member)
    return f"{who} did not {_DID_NOT[claim.missing]} within the rebalance timeout{limit}"


def _restarted(claim: Restarted, wording: Wording) -> str:
    text = f"the static member {wording.names.full(claim.member)} was restarted{_said(claim.said)}"
    differences = [
        f"{what} {plain(now)} instead of {plain(before)}"
        for what, now, before in (
            ("client id", claim.member.client_id, claim.client_id_before),
            ("host", host_of(claim.member.client_host), host_of(claim.host_before)),
        )
        if now and before and now != before
    ]
    if claim.topics_now and claim.topics_before and claim.topics_now != claim.topics_before:
        now, before = topics_named(claim.topics_now), topics_named(claim.topics_before)
        differences.append(f"a subscription to {now} instead of {before}")
    return f"{text} with {listed(differences)}" if differences else text


def _evicted(claim: Evicted, wording: Wording) -> str:
    return f"{wording.names.full(claim.member)} had to go: group.max.size was reached before it rejoined"


def _assignment_too_large(claim: AssignmentTooLarge, wording: Wording) -> str:
    who = "a member" if claim.member is None else wording.names.full(claim.member)
    return f"the assignment that the leader, {who}, sent is larger than message.max.bytes allows"


def _fault(claim: FaultInjected, wording: Wording) -> str:
    at = f" at {wording.names.full(claim.member)}" if claim.member else ""
    return f"a test injected a fault{at}{_said(claim.said)}"


_CAUSES: Final = {
    Cause.NEW_MEMBER: "a member joined",
    Cause.METADATA_CHANGED: "a member rejoined with another subscription or other assignors",
    Cause.LEADER_REJOINED: "the leader rejoined to ask for a new assignment",
    Cause.MEMBER_REJOINED: "a member rejoined with the same subscription",
    Cause.MEMBER_LEFT: "a member left",
    Cause.SESSION_EXPIRED: "a member was silent for its session timeout",
    Cause.REBALANCE_TIMEOUT: "a member did not rejoin within the rebalance timeout",
    Cause.SYNC_TIMEOUT: "a member did not send SyncGroup within the rebalance timeout",
    Cause.STATIC_REPLACED: "a static member was restarted",
    Cause.GROUP_MAX_SIZE_REACHED: "a member had to go: group.max.size was reached before it rejoined",
    Cause.TOPICS_CHANGED: "the topics that it subscribes to changed",
    Cause.STANDBY_REPLICAS_CHANGED: "the number of standby replicas, streams.num.standby.replicas, changed",
    Cause.PARTITIONS_INITIALIZED: "the share state of partitions was initialized, so they can be assigned",
    Cause.TOO_MANY_PENDING_MEMBERS: "clients of one address asked for more member ids than they joined with",
    Cause.GROUP_TOO_LARGE: "the loaded group has more members than group.max.size allows",
    Cause.OFFSETS_EXPIRED: "its last committed offset expired",
    Cause.NO_OFFSETS: "it had neither members nor committed offsets",
    Cause.STORE_FAILED: "the coordinator could not write to its disk and loaded the group again",
    Cause.NOT_STORED: "the coordinator crashed before the group was stored",
    Cause.INVARIANT_VIOLATED: "of a defect of the coordinator, which loaded the group again",
    Cause.ADMIN: "an administrator asked for it",
    Cause.RELEASED: "it was given back to the cluster",
    Cause.TOPIC_DELETED: "a topic was deleted",
    Cause.GROUP_REMOVED: "the group was removed",
}
"""Causes of the coordinator itself, and those of a member that the events do not name."""


def _caused(claim: Caused, wording: Wording) -> str:
    return _CAUSES.get(claim.cause, f"of {claim.cause.value}")


def _topics_found(claim: TopicsFound, wording: Wording) -> str:
    if not claim.found:
        return "the topics of its regular expressions were looked up"
    parts = [_pattern_topics(pattern) for pattern in claim.found[:PATTERNS_NAMED]]
    return f"regular expressions were looked up: {listed(parts, more=max(0, len(claim.found) - PATTERNS_NAMED))}"


def _pattern_topics(found: PatternTopics) -> str:
    return f"{quoted(found.pattern)} matches {topics_named(found.topics) or 'no topic'}"


def _undecided(claim: Undecided, wording: Wording) -> str:
    who = "a member" if claim.member is None else wording.names.full(claim.member)
    match claim.cause:
        case InferredCause.MEMBER_LEFT_OR_EXPIRED:
            return f"{who} is gone: it left, or its session expired"
        case InferredCause.STATIC_REPLACED_OR_BACK:
            return f"the static member {who} came back: it took its own place, or joined after it had been removed"
        case InferredCause.PENDING_MEMBER_LEFT:
            return f"{who} left, which had been handed a member id and had not joined with it"
        case InferredCause.NO_CHANGE_SEEN:
            return "a member joined again, or another one came and went; its members and their topics are the same"
        case InferredCause.REJOINED_OR_CHANGED:
            return f"{who} joined again: with another subscription, or only with other owned partitions"
        case InferredCause.LEADER_REJOINED_OR_CHANGED:
            return f"the leader, {who}, joined again: to ask for a new assignment, or with another subscription"
    return "its topics changed, or a member subscribed to others"


_CLAUSES: Final[Mapping[type[Claim], Callable[[Any, Wording], str]]] = {
    Joined: _joined,
    Resubscribed: _resubscribed,
    TopicChanged: lambda claim, wording: topic_changes([claim]),
    TopicsFound: _topics_found,
    LeaderAsked: _leader_asked,
    Rejoined: _rejoined,
    Left: _left,
    RemovedByAdministrator: _removed_by_administrator,
    DidNotComeBack: _did_not_come_back,
    Silent: silent,
    Unheard: unheard,
    Refused: refused,
    Muted: muted,
    Late: _late,
    Restarted: _restarted,
    Evicted: _evicted,
    AssignmentTooLarge: _assignment_too_large,
    FaultInjected: _fault,
    Caused: _caused,
    Undecided: _undecided,
    Untold: lambda claim, wording: "unknown",
}


# ---- what came together with the cause


def also(claims: Sequence[Claim], wording: Wording) -> Iterator[str]:
    """Other causes of one kind, in a sentence: `Also, billing-4 joined.`"""
    for _, alike in groupby(claims, key=_kind):
        few = list(alike)
        unheard_ones = [claim for claim in few if isinstance(claim, Unheard)]
        if len(few) == 1:
            yield f"Also, {clause(few[0], wording)}."
        elif unheard_ones:
            yield f"Also, {unheard_together(unheard_ones, wording)}."
        else:
            yield f"Also, {_several(few, wording)}."


def _kind(claim: Claim) -> tuple[object, ...]:
    return type(claim), *(getattr(claim, name, None) for name in ("missing", "cause", "change"))


_SEVERAL: Final[Mapping[type[Claim], str]] = {
    Undecided: "are gone: they left, or their sessions expired",
    Joined: "joined",
    LeaderAsked: "rejoined as leaders",
    Rejoined: "rejoined with the same subscription",
    Left: "left",
    RemovedByAdministrator: "were removed by an administrator",
    DidNotComeBack: "were closed, and did not come back within their session timeouts",
    Silent: "were silent for their session timeout",
    Refused: "were refused, because they have no right to what they asked for, so that their sessions ended",
    Muted: "had exceeded a quota, so that nothing was read from their connections for longer than their sessions",
    Restarted: "were restarted",
    Evicted: "had to go because group.max.size was reached",
}
"""What several members did, after their names."""

_SEVERAL_CHANGED: Final = {
    Change.TOPICS: "subscribed to other topics",
    Change.PATTERN: "subscribed to other regular expressions",
    Change.PROTOCOLS: "rejoined with other assignors or other data for them",
    Change.PROCESS: _OTHER_PROCESS,
    Change.UNKNOWN: "rejoined with another subscription or other assignors",
    Change.NONE_KNOWN: "rejoined with the same topics; whether anything else changed is not known",
}

_SEVERAL_DID_NOT: Final = {
    Missing.REJOIN: "rejoin",
    Missing.SYNC: "send SyncGroup",
    Missing.GIVE_UP: "give up their partitions",
}


def _several(claims: Sequence[Any], wording: Wording) -> str:
    first = claims[0]
    members = [claim.member for claim in claims if getattr(claim, "member", None) is not None]
    if not members:
        return f"{clause(first, wording)} ({len(claims):,} times)"
    did = _SEVERAL.get(type(first), "caused it")
    if isinstance(first, Late):
        did = f"did not {_SEVERAL_DID_NOT[first.missing]} within the rebalance timeout"
    elif isinstance(first, Resubscribed):
        did = wording.protocol.changed_subscriptions or _SEVERAL_CHANGED[first.change]
    return f"{wording.names.listed(members, SAME_CAUSES_NAMED)} {did}"


def unreported(claims: Sequence[Untold], wording: Wording) -> Iterator[str]:
    for claim in claims:
        if claim.count:
            yield f"{counted(claim.count, 'further cause')} {were(claim.count)} recorded without a name."


def topics_changed(claims: Sequence[TopicChanged], wording: Wording) -> Iterator[str]:
    yield f"Since {wording.protocol.last_assignment}, {topic_changes(claims)}."


def topic_changes(claims: Sequence[TopicChanged]) -> str:
    """`topic orders grew from 4 to 6 partitions`; empty if no topic changed or if it is not known."""
    parts = [_topic_change(claim) for claim in claims[:TOPICS_NAMED]]
    more = max(0, len(claims) - TOPICS_NAMED)
    return listed(parts + ([counted(more, "other topic") + " changed"] if more else []))


def _topic_change(claim: TopicChanged) -> str:
    name, before, now = plain(claim.topic), claim.partitions_before, claim.partitions_now
    if claim.is_created_again:
        differs = f" instead of {before:,}" if now != before else ""
        return f"topic {name} was deleted and created again with {counted(now, 'partition')}{differs}"
    if not before:
        return f"topic {name} appeared with {counted(now, 'partition')}"
    if not now:
        return f"topic {name} vanished, which had {counted(before, 'partition')}"
    return f"topic {name} {'grew' if now > before else 'shrank'} from {before:,} to {now:,} partitions"


def assignor_changed(claims: Sequence[AssignorChanged], wording: Wording) -> Iterator[str]:
    for claim in claims:
        yield f"The assignor changed from {plain(claim.before)} to {plain(claim.now)}."


def topics_named(names: tuple[str, ...]) -> str:
    """The first of these topics, and how many more there are."""
    return listed([plain(name) for name in names[:TOPICS_NAMED]], more=max(0, len(names) - TOPICS_NAMED))


# ---- members that left without a reason


def left_unsaid(claims: Sequence[LeftUnsaid], wording: Wording) -> Iterator[str]:
    """What can and what cannot be known of members that left without a reason."""
    for claim in claims:
        if len(claim.members) > 1:
            if claim.usual is Usual.NOT_LOGGED:
                gave = f"What reasons {wording.names.listed(claim.members)} gave is not in the log, which does not"
            else:
                gave = f"{wording.names.listed(claim.members)} gave no reason, so the protocol does not"
            yield f"{gave} tell whether they were closed or their applications exceeded max.poll.interval.ms."
        else:
            yield _one_left_unsaid(claim, wording)


def _one_left_unsaid(claim: LeftUnsaid, wording: Wording) -> str:
    (member,) = claim.members
    limit = f" ({duration(claim.limit_ms)})" if claim.limit_ms else ""
    gave = f"{wording.names.of(member)} gave no reason ({_usual_reason(claim.usual, member)}), so the protocol does not"
    if claim.usual is Usual.NOT_LOGGED:
        gave = f"Whether {wording.names.of(member)} gave a reason is not in the log, which does not"
    unknown = f"{gave} tell whether it was closed or its application exceeded max.poll.interval.ms{limit}."
    if claim.usual in (Usual.NOT_LOGGED, Usual.UNSEEN):
        return unknown
    if claim.idle_ms is None:
        return f"{unknown} When it last joined or committed is unknown too."
    did = "committed offsets" if claim.committed else "joined"
    last = f"It last {did} {duration(claim.idle_ms)} before"
    match claim.guess:
        case Guess.CLOSED:
            return f"{unknown} {last}, which is less: most likely it was closed."
        case Guess.POLL_TIMEOUT:
            return f"{unknown} {last}, which is more: an exceeded max.poll.interval.ms would fit."
    return f"{unknown} {last}."


def _usual_reason(usual: Usual, member: MemberRef) -> str:
    match usual:
        case Usual.FORGOTTEN:
            return "what its client is is not known, as the coordinator had restarted since it joined"
        case Usual.GIVES:
            return "Java consumers give one since 3.2"
        case Usual.GIVES_NONE:
            return f"{plain(member.client_software_name)} gives none"
        case Usual.UNKNOWN:
            return f"whether {plain(member.client_software_name)} gives reasons is unknown"
        case Usual.UNSEEN:
            return "what its client is is not known here"
    return "this client does not say what it is"
