"""Requests that were refused, in words."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from coordinator.audit.schema import MemberRef, Requester, RequestRejected
from coordinator.explain.claims.findings import Offer
from coordinator.explain.makers.findings.clients import INCONSISTENT, UNRELEASED
from coordinator.explain.protocols.protocol import Protocol
from coordinator.explain.words import NAMES_IN_A_SENTENCE, Names, listed, plain, requester

CONSUMER_HEARTBEAT: Final = "ConsumerGroupHeartbeat"
STALE_EPOCH: Final = "STALE_MEMBER_EPOCH"
COMMITS: Final = {"OffsetCommit": "an offset commit", "TxnOffsetCommit": "an offset commit of a transaction"}
HEARTBEATS: Final = frozenset({"Heartbeat", CONSUMER_HEARTBEAT})
_STALE: Final = frozenset({"UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "INVALID_PRODUCER_EPOCH", STALE_EPOCH})


def refusal(event: RequestRejected, protocol: Protocol) -> str:
    """What was refused to whom, as a clause."""
    names = Names([event.member] if event.holder is None else [event.member, event.holder])
    text = _REFUSALS.get(event.error, _refused)(event, names, protocol)
    if event.injected:
        return f"{text} by a fault of a test"
    times = "times" if event.refused_version is None else "minutes"
    return text if event.count == 1 else f"{text}, {event.count:,} {times} so far"


LACKS: Final = {
    "Fetch": "to read: nobody reads the partitions that it owns",
    "ListOffsets": "to find where to begin to read",
    "OffsetFetch": "to fetch committed offsets",
    "OffsetCommit": "to commit offsets",
}
"""API → what a client cannot do that asks for a version of it that the server refuses."""


def lacks(event: RequestRejected) -> str:
    """What its client is too old for."""
    return LACKS.get(event.api, "for this server")


def _too_old(event: RequestRejected, names: Names, protocol: Protocol) -> str:
    if event.refused_version is None:
        return _refused(event, names, protocol)
    asked = f"{plain(event.api)} v{event.refused_version}, and the server has v{event.oldest_version} and later alone"
    return f"{names.full(event.member)} is too old {lacks(event)} (it asked for {asked})"


def reason(event: RequestRejected, protocol: Protocol) -> str:
    """Why a client cannot join, as a clause after its name."""
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
    return _why_inconsistent(event, protocol)


_ADVICE: Final = {
    INCONSISTENT: "give all members an assignor in common; what uses the group.id for something else needs a group of"
    " its own",
    UNRELEASED: "give each consumer a group.instance.id of its own; if its own process was killed, it can join when"
    " the session of the killed one ends",
    "INVALID_SESSION_TIMEOUT": "choose a session.timeout.ms from group.min.session.timeout.ms to"
    " group.max.session.timeout.ms",
}


def advice(event: RequestRejected) -> str:
    """What to try so that the client can join."""
    if event.error == "GROUP_MAX_SIZE_REACHED":
        return f"run fewer members, or raise {_size_setting(event)}"
    if is_itself(event):
        return (
            "wait: it can join when the session that its first request began ends (consumer.session.timeout.ms of the"
            " group); nothing is to be changed unless its answers are lost again and again"
        )
    return _ADVICE[event.error]


def offers(found: Iterable[Offer]) -> Iterator[str]:
    """`one and two offer range`."""
    every = list(found)
    names = Names(member for offer in every for member in offer.members)
    for offer in every[:NAMES_IN_A_SENTENCE]:
        verb = "offers" if len(offer.members) == 1 else "offer"
        yield f"{names.listed(offer.members)} {verb} {listed([plain(name) for name in offer.protocols])}"


def _size_setting(event: RequestRejected) -> str:
    return "group.consumer.max.size" if event.api == CONSUMER_HEARTBEAT else "group.max.size"


def is_itself(event: RequestRejected) -> bool:
    """Whether the member that has the instance id is the one that asked: the answer to its first request was lost."""
    return event.holder is not None and event.holder.member_id == event.member.member_id != ""


def without_instance(member: MemberRef) -> MemberRef:
    """The client by its own name, whatever its instance id."""
    return msgspec.structs.replace(member, group_instance_id=None)


def _fenced(event: RequestRejected, names: Names, protocol: Protocol) -> str:
    instance = "" if event.member.group_instance_id is None else f" {plain(event.member.group_instance_id)}"
    if event.error == UNRELEASED and is_itself(event):
        who = Names([without_instance(event.member)]).full(without_instance(event.member))
        return f"{who} was refused: it has its group.instance.id{instance} itself, by a request whose answer was lost"
    clients = [without_instance(ref) for ref in (event.member, event.holder) if ref is not None]
    names = Names(clients)  # by their client ids: they share the instance id
    holder = "another member" if event.holder is None else names.full(clients[1])
    what = f"{COMMITS[event.api]} by " if event.api in COMMITS else ""
    was = "was refused" if what or event.error == UNRELEASED else "was fenced"
    return f"{what}{names.full(clients[0])} {was}: {holder} has its group.instance.id{instance}"


def _no_common_assignor(event: RequestRejected, names: Names, protocol: Protocol) -> str:
    why = _why_inconsistent(event, protocol)
    return f"{names.full(event.member)} was refused: {why}"


def _why_inconsistent(event: RequestRejected, protocol: Protocol) -> str:
    """Which assignors collide: `it offers roundrobin, and all members have only range`."""
    if event.group_protocol_type and event.protocol_type != event.group_protocol_type:
        return (
            f"its protocol type is {plain(event.protocol_type)}, and that of the group is"
            f" {plain(event.group_protocol_type)}"
        )
    if not event.protocols:
        return "it offers no assignor that all members have"
    offered = listed([plain(assignor) for assignor in event.protocols])
    if not event.group_protocols:
        return protocol.cannot_share(offered)
    shared = listed([plain(group_protocol) for group_protocol in event.group_protocols])
    return f"it offers {offered}, and what all members have is {shared}"


def _is_full(event: RequestRejected, names: Names, protocol: Protocol) -> str:
    return f"{names.full(event.member)} was refused: the group is full ({_size_setting(event)})"


def _older_epoch(event: RequestRejected, names: Names, protocol: Protocol) -> str:
    """FENCED_MEMBER_EPOCH: of a member that missed answers, or that was restored from an older state."""
    named = f" {event.request_generation_id}" if event.request_generation_id is not None else ""
    return f"{names.full(event.member)} was fenced: member epoch{named}, which its heartbeat named, is not its own"


def _not_deleted(event: RequestRejected, names: Names, protocol: Protocol) -> str:
    by = Requester(event.member.client_id, event.member.client_host, event.member.principal)
    return f"{requester(by)} asked to delete the group, and was refused: it has members"


def _unknown_member(event: RequestRejected, names: Names, protocol: Protocol) -> str:
    if event.api in HEARTBEATS:
        return f"{names.full(event.member)} asked again under its old member id: it had been removed, and was alive"
    return _refused(event, names, protocol)


def _refused(event: RequestRejected, names: Names, protocol: Protocol) -> str:
    if event.api in COMMITS and event.error in _STALE:
        return _stale_commit(event, names, protocol)
    return f"{event.api} of {names.full(event.member)} was rejected with {event.error}"


def _stale_commit(event: RequestRejected, names: Names, protocol: Protocol) -> str:
    who = f"{COMMITS[event.api]} by {names.full(event.member)} was refused"
    asked, generation_id = event.request_generation_id, event.generation_id
    if event.error == "INVALID_PRODUCER_EPOCH":
        transactional_id = f" {plain(event.transactional_id)}" if event.transactional_id else ""
        return f"{who}: a newer producer has its transactional.id{transactional_id}"
    if event.error == "UNKNOWN_MEMBER_ID":
        named = f" (it named {protocol.request_number} {asked})" if asked is not None and asked >= 0 else ""
        return f"{who}: it is no member{named}"
    if event.error == STALE_EPOCH:
        return f"{who}: member epoch {asked}, which it named, is not its own, or is older than its assignment"
    if asked is None:
        return f"{who}: it named another generation than {generation_id}"
    return f"{who}: it named generation {asked}, and the group was in generation {generation_id}"


_REFUSALS: Final[dict[str, Callable[[RequestRejected, Names, Protocol], str]]] = {
    "FENCED_INSTANCE_ID": _fenced,
    INCONSISTENT: _no_common_assignor,
    "GROUP_MAX_SIZE_REACHED": _is_full,
    "FENCED_MEMBER_EPOCH": _older_epoch,
    "NON_EMPTY_GROUP": _not_deleted,
    UNRELEASED: _fenced,
    "UNKNOWN_MEMBER_ID": _unknown_member,
    "UNSUPPORTED_VERSION": _too_old,
}
