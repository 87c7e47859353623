"""What to try, in words."""

from collections.abc import Callable, Mapping
from typing import Final

from coordinator.explain.claims.advice import Advice, AssignorChange, Try
from coordinator.explain.claims.silences import Refused
from coordinator.explain.sentences.wording import Wording
from coordinator.explain.words import duration, plain

STATIC_MEMBERSHIP: Final = (
    "set group.instance.id (static membership): a restart within the session timeout then causes no rebalance"
)
PROCESS_ENDED: Final = (
    "look at why the process of the silent member ended (its exit code, its log, the memory limit), or what closed its"
    " connection; a longer session.timeout.ms would not help if its process ended: only its partitions would wait"
    " longer"
)


def advice(claim: Advice, wording: Wording) -> str:
    """A clause that says what to do."""
    text = _TEXTS.get(claim.kind)
    return _MADE[claim.kind](claim, wording) if text is None else text


def shorter_poll(*, joins_in_poll: bool) -> str:
    """How an application comes back to poll() sooner, in the words of its client."""
    return f"process less between two calls of poll(){' (max.poll.records)' if joins_in_poll else ''}"


_TEXTS: Final[Mapping[Try, str]] = {
    Try.COORDINATOR_STOOD_STILL: (
        "look at why the coordinator stood still (its log tells); members that it did not hear are not to blame"
    ),
    Try.QUOTA_IS_TOO_SMALL: (
        "look at the quotas of this client (request_percentage, consumer_byte_rate, producer_byte_rate): a throttled"
        " connection is not read, and heartbeats wait in it; give it more, or a longer session.timeout.ms"
    ),
    Try.STATIC_IS_GONE_FOR_GOOD: (
        "if the static member was shut down for good, remove it by its group.instance.id"
        " (removeMembersFromConsumerGroup of Java's Admin): then its partitions do not wait for its session timeout; if"
        " it was not, look at why its process ended"
    ),
    Try.LATE_TO_REJOIN: ("look at what kept the member from rejoining: its application, or a process that stood still"),
    Try.LATE_TO_SYNC: (
        "look at why the member stopped between JoinGroup and SyncGroup; if it was the leader, its assignor may hang"
    ),
    Try.STATIC_MEMBERSHIP: STATIC_MEMBERSHIP,
    Try.LARGER_GROUP_SIZE: "run fewer members, or raise group.max.size",
    Try.CLIENT_WITHOUT_JOIN: (
        "find the client that asks for member ids and does not join, or raise max.pending.members.per.ip"
    ),
    Try.PENDING_IDS: (
        "look for a client that asks for a member id and never joins, such as one that is killed at its start"
    ),
    Try.SMALLER_ASSIGNMENT: "raise message.max.bytes, or split the group: fewer members or fewer partitions",
    Try.SAME_TOPICS: (
        "give all members the same topics, unless they are meant to differ; while a new subscription is rolled out,"
        " expect one such rebalance for each member"
    ),
}


def _no_time(claim: Advice, wording: Wording) -> str:
    return (
        "set the rebalance timeout of that client to a positive time (max.poll.interval.ms, or rebalance.timeout.ms):"
        f" with {claim.above_ms} ms no member can join and sync in time"
    )


def _process_ended(claim: Advice, wording: Wording) -> str:
    return f"if it was not shut down on purpose, {PROCESS_ENDED}" if claim.is_conditional else PROCESS_ENDED


def _silent(claim: Advice, wording: Wording) -> str:
    others = ", or whether it was refused or throttled" if claim.is_conditional else ""
    return f"look at what stopped the silent member (crash, pause, GC, network){others}"


def _silent_on_open_connection(claim: Advice, wording: Wording) -> str:
    above = f" above {duration(claim.above_ms)}" if claim.above_ms else ""
    setting = wording.protocol.session_timeout
    return (
        "look at what stopped the silent member (pause, GC, network); only if it pauses and comes back, raise"
        f" {setting}{above}"
    )


def _connection_lost(claim: Advice, wording: Wording) -> str:
    outlasts = _outlasts(claim, wording)
    return f"look at what closes its connection (a load balancer, a proxy, the network), as its process lives{outlasts}"


def _session_for_restarts(claim: Advice, wording: Wording) -> str:
    setting = wording.protocol.session_timeout
    above = "" if claim.above_ms is None else f" above {duration(claim.above_ms)}"
    return (
        f"if the static member was restarted, raise {setting}{above}: then it comes back in time, to the"
        " partitions that it had"
    )


def _session_outlasts(claim: Advice, wording: Wording) -> str:
    return (
        f"look at what stopped it (pause, GC, one long batch, network), as its process lives{_outlasts(claim, wording)}"
    )


def _outlasts(claim: Advice, wording: Wording) -> str:
    if claim.above_ms is None:
        return ""
    setting = wording.protocol.session_timeout
    return f"; {setting} above {duration(claim.above_ms)} would have outlasted it"


def _busy(claim: Advice, wording: Wording) -> str:
    poll = shorter_poll(joins_in_poll=claim.joins_in_poll)
    return f"the member that {wording.protocol.was_late} was busy between two calls of poll(), or stood still: {poll}"


def _longer_interval(claim: Advice, wording: Wording) -> str:
    condition = "if it was not closed on purpose: " if claim.is_conditional else ""
    return (
        f"{condition}{shorter_poll(joins_in_poll=claim.joins_in_poll)}; a larger max.poll.interval.ms avoids this too,"
        " but then each rebalance may wait as long for it"
    )


def _asked_late(claim: Advice, wording: Wording) -> str:
    assert claim.member is not None
    return (
        f"{wording.names.of(claim.member)} was asked late: a member learns what to give up in the answer to its next"
        " heartbeat (consumer.heartbeat.interval.ms of the group)"
    )


def _joined_late(claim: Advice, wording: Wording) -> str:
    assert claim.member is not None
    text = f"{wording.names.of(claim.member)} joined late: a member learns of a rebalance with its next heartbeat"
    if not claim.joins_in_poll:
        return f"{text} (heartbeat.interval.ms)"
    return f"{text} (heartbeat.interval.ms) and joins in its next poll(): {shorter_poll(joins_in_poll=True)}"


def _stickier_assignor(claim: Advice, wording: Wording) -> str:
    if claim.change is None:
        return "look at the assignor: it moves more partitions than it has to"
    return f"the assignor {claim.change.instead_of} moves more than it has to: {assignor_change(claim.change)}"


def _cooperative_assignor(claim: Advice, wording: Wording) -> str:
    assert claim.change is not None
    return f"members stopped although nothing moved: {assignor_change(claim.change)}"


def assignor_change(change: AssignorChange) -> str:
    """How a group changes over to another assignor."""
    what = "which moves no more than it has to"
    if "cooperative" in change.assignor:
        what = "with which members go on consuming what they keep (KIP-429)"
    text = f"use {change.assignor}, {what}"
    if not change.is_rolling:
        return (
            f"{text}; these clients do not start with both, so stop all members, then start them with"
            f" partition.assignment.strategy = {change.assignor}"
        )
    return (
        f"{text}, in two rolling restarts: the first with partition.assignment.strategy = {change.assignor},"
        f" {change.instead_of}, the second, when all members have both, with {change.assignor} alone"
    )


def _right_is_missing(claim: Advice, wording: Wording) -> str:
    refused = next(reason for reason in claim.because if isinstance(reason, Refused))
    resource = f"{refused.resource_type.lower()} {plain(refused.resource_name)}"
    return (
        f"give its principal {refused.operation} of {resource} again, or stop it: nothing is wrong with its process,"
        " and a longer session.timeout.ms would not help"
    )


_MADE: Final[Mapping[Try, Callable[[Advice, Wording], str]]] = {
    Try.RIGHT_IS_MISSING: _right_is_missing,
    Try.REBALANCE_TIMEOUT_OF_NOTHING: _no_time,
    Try.PROCESS_ENDED: _process_ended,
    Try.SILENT_ON_OPEN_CONNECTION: _silent_on_open_connection,
    Try.CONNECTION_LOST: _connection_lost,
    Try.SESSION_OUTLASTS: _session_outlasts,
    Try.SILENT: _silent,
    Try.SESSION_FOR_RESTARTS: _session_for_restarts,
    Try.SHORTER_POLL: _busy,
    Try.LONGER_POLL_INTERVAL: _longer_interval,
    Try.ASKED_LATE: _asked_late,
    Try.JOINED_LATE: _joined_late,
    Try.STICKIER_ASSIGNOR: _stickier_assignor,
    Try.COOPERATIVE_ASSIGNOR: _cooperative_assignor,
}
