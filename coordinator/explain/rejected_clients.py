"""Which clients cannot join a group now, and why."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple

from coordinator.audit.schema import REJECTION_APART_MS, MemberRef, RequestRejected
from coordinator.explain.history import GroupHistory
from coordinator.explain.notes import CONSUMER_HEARTBEAT, UNRELEASED, is_itself, why_inconsistent
from coordinator.explain.words import NAMES_IN_A_SENTENCE, Names, listed, plain

SLACK_MS: Final = 60_000
"""How long a client may wait between two attempts to join without being taken for one that has given up."""

INCONSISTENT: Final = "INCONSISTENT_GROUP_PROTOCOL"
ADVICE: Final = {
    INCONSISTENT: "give all members an assignor in common; what uses the group.id for something else needs a group of"
    " its own",
    "GROUP_MAX_SIZE_REACHED": "run fewer members",
    UNRELEASED: "give each consumer a group.instance.id of its own; if its own process was killed, it can join when"
    " the session of the killed one ends",
    "INVALID_SESSION_TIMEOUT": "choose a session.timeout.ms from group.min.session.timeout.ms to"
    " group.max.session.timeout.ms",
}
"""Error of a request to join that its client meets again and again → what to try."""


class RejectedClient(NamedTuple):
    """A client that was refused and has not joined since. `events` are its rejections, oldest first."""

    member: MemberRef
    error: str
    reason: str
    events: list[RequestRejected]


def rejected_now(history: GroupHistory, now_ms: int) -> Iterator[RejectedClient]:
    """Those whose last rejection is recent: while they go on, one is told every `REJECTION_APART_MS`."""
    if not history.members:
        return  # an empty group takes any assignor
    by_client: dict[tuple[str, str, str], list[RequestRejected]] = defaultdict(list)
    for event in history.rejected:
        if event.error in ADVICE and not event.injected and event.created_seq == history.created_seq:
            by_client[event.member.client_id, event.member.client_host, event.error].append(event)
    joined_ms: dict[tuple[str, str], int] = defaultdict(int)
    for known in history.members.values():
        client = known.member.client_id, known.member.client_host
        joined_ms[client] = max(joined_ms[client], known.joined_ms or 0)
    for (client_id, host, error), events in by_client.items():
        last = events[-1]
        is_recent = now_ms - last.time_ms <= REJECTION_APART_MS + SLACK_MS
        if is_recent and joined_ms.get((client_id, host), 0) < last.time_ms:
            yield RejectedClient(last.member, error, _reason(last), events)


def _reason(event: RequestRejected) -> str:
    """Why its request was refused, as a clause after its name."""
    match event.error:
        case "GROUP_MAX_SIZE_REACHED":
            return f"the group is full ({_size_setting(event)})"
        case "UNRELEASED_INSTANCE_ID":
            instance = plain(event.member.group_instance_id or "")
            if is_itself(event):
                return f"it is in the group already, as {instance}: the answer to its first request was lost"
            holder = "another member" if event.holder is None else Names([event.holder]).full(event.holder)
            return f"{holder} has its group.instance.id {instance}"
        case "INVALID_SESSION_TIMEOUT":
            return "its session.timeout.ms is outside of what the server allows"
    return why_inconsistent(event)


def advice_for_rejected(event: RequestRejected) -> str:
    """What to try so that the client can join."""
    if event.error == "GROUP_MAX_SIZE_REACHED":
        return f"run fewer members, or raise {_size_setting(event)}"
    if is_itself(event):
        return (
            "wait: it can join when the session that its first request began ends (consumer.session.timeout.ms of the"
            " group); nothing is to be changed unless its answers are lost again and again"
        )
    return ADVICE[event.error]


def _size_setting(event: RequestRejected) -> str:
    return "group.consumer.max.size" if event.api == CONSUMER_HEARTBEAT else "group.max.size"


def offered_assignors(history: GroupHistory) -> Iterator[str]:
    """`one and two offer range`: which members of the group offer which assignors, as far as that is known."""
    offers: dict[tuple[str, ...], list[MemberRef]] = defaultdict(list)
    for known in history.members.values():
        if known.protocols:
            offers[known.protocols].append(known.member)
    names = Names(known.member for known in history.members.values())
    for protocols, members in sorted(offers.items())[:NAMES_IN_A_SENTENCE]:
        verb = "offers" if len(members) == 1 else "offer"
        yield f"{names.listed(members)} {verb} {listed([plain(each) for each in protocols])}"
