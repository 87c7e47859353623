"""What happened to a group beside its rebalances, in words: resets, deletions, rejected requests, loads, members at
another coordinator, and the coordinator's own absence."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import msgspec

from coordinator.audit import schema
from coordinator.audit.schema import MemberRef, Requester
from coordinator.core.causes import Cause
from coordinator.explain.absences import absences
from coordinator.explain.folded_group import STABLE
from coordinator.explain.generation import CONSUMER, Replacement
from coordinator.explain.held_groups import held_note
from coordinator.explain.history import GroupHistory
from coordinator.explain.old_clients import is_too_old, refusal
from coordinator.explain.words import Names, counted, listed, plain, requester

PARTITIONS_NAMED: Final = 3
CONSUMER_HEARTBEAT: Final = "ConsumerGroupHeartbeat"
UNRELEASED: Final = "UNRELEASED_INSTANCE_ID"
STALE_EPOCH: Final = "STALE_MEMBER_EPOCH"
TOPICS_NAMED: Final = 3


class Note(NamedTuple):
    """Something that happened at a wall-clock time. The text is a clause, free of control characters."""

    time_ms: int
    text: str


def notes(history: GroupHistory) -> list[Note]:
    """All notes of a history, in the order of their times."""
    number = "member epoch" if history.group_type == CONSUMER else "generation"
    found = [
        *(Note(each.at_ms, _replaced(each)) for each in _replaced_without_rebalance(history)),
        *(Note(each.time_ms, _reset(each)) for each in history.resets),
        *(Note(each.time_ms, _gone(each)) for each in history.deletions),
        *(Note(each.time_ms, _rejected(each, number)) for each in history.rejected),
        *(Note(each.time_ms, _loaded(each)) for each in history.loads),
        *(Note(each.time_ms, _converted(each)) for each in history.conversions),
        *(Note(each.time_ms, _removed(each)) for each in history.removals),
        *(Note(*each) for each in absences(history)),
        *(Note(each.time_ms, held_note(each)) for each in history.held),
    ]
    return sorted(found, key=lambda note: note.time_ms)


def _replaced_without_rebalance(history: GroupHistory) -> Iterator[Replacement]:
    """Replacements of static members that no generation tells of."""
    for generation in history.generations:
        yield from generation.replaced_while_stable
    if history.state == STABLE:
        yield from history.pending_changes.replaced


def _replaced(change: Replacement) -> str:
    instance = plain(change.member.group_instance_id or "")
    now = _without_instance(change.member)
    before = MemberRef(change.old_member_id, change.old_client_id, change.old_client_host)
    new, old = _client(now), _client(before)
    if (now.client_id, now.client_host) == (before.client_id, before.client_host):
        return f"the static member {instance} of {new} was restarted, without a rebalance"
    return f"{new} took the place of {old} as static member {instance}, without a rebalance"


def _client(member: MemberRef) -> str:
    """A client by its own name, whatever its instance id."""
    return Names([member]).full(member)


def _reset(event: schema.OffsetsReset) -> str:
    count = sum(map(len, event.partitions.values())) + event.unnamed_partitions
    text = f"{requester(event.requested_by)} reset {counted(count, 'committed offset')}"
    if event.member is not None:
        text = f"{Names([event.member]).full(event.member)} set {counted(count, 'committed offset')} back"
    elif not event.requested_by.client_host:  # loaded: nobody knows who committed in it
        text = f"a transaction set {counted(count, 'committed offset')} back"
    moves = list(_moves(event))
    return f"{text}: {listed(moves[:PARTITIONS_NAMED], more=max(0, count - PARTITIONS_NAMED))}" if moves else text


def _moves(event: schema.OffsetsReset) -> Iterator[str]:
    for topic, partitions in sorted(event.partitions.items()):
        for index, before, now in partitions:
            came_from = "none" if before < 0 else f"{before:,}"
            yield f"{plain(topic)}-{index} from {came_from} to {now:,}"


def _gone(event: schema.OffsetsDeleted | schema.OffsetsExpired) -> str:
    count = sum(map(len, event.partitions.values())) + event.unnamed_partitions
    topics = sorted(event.partitions)
    of = f" of {listed([plain(each) for each in topics[:TOPICS_NAMED]], more=max(0, len(topics) - TOPICS_NAMED))}"
    what = counted(count, "committed offset") + (of if topics else "")
    if isinstance(event, schema.OffsetsExpired):
        return f"{what} expired (offsets.retention.minutes)"
    with_what = _DELETED_WITH.get(event.cause)
    if with_what is not None:
        return f"{what} {'was' if count == 1 else 'were'} deleted with {with_what[count > 1]}{_which(event)}"
    by = requester(event.requested_by) if event.requested_by is not None else "an administrator"
    return f"{by} deleted {what}{_which(event)}"


_DELETED_WITH: Final = {
    Cause.TOPIC_DELETED: ("its topic", "their topics"),
    Cause.GROUP_REMOVED: ("the group", "the group"),
}
"""Cause → with what one offset was deleted, and with what several."""


def _which(event: schema.OffsetsDeleted) -> str:
    """`: orders-0 at 41 and orders-1 at 7`, as far as the event tells what was deleted."""
    known = [
        f"{plain(topic)}-{index} at {offset:,}" if offset >= 0 else f"{plain(topic)}-{index} of an open transaction"
        for topic, partitions in sorted(event.offsets.items())
        for index, offset in sorted(partitions)
    ]
    count = len(known)
    return f": {listed(known[:PARTITIONS_NAMED], more=max(0, count - PARTITIONS_NAMED))}" if known else ""


def _rejected(event: schema.RequestRejected, number: str) -> str:
    """`number` is what members of the group name: their generation, or their member epoch."""
    names = Names([event.member] if event.holder is None else [event.member, event.holder])
    text = _REFUSALS.get(event.error, _refused)(event, names, number)
    if event.injected:
        return f"{text} by a fault of a test"
    times = "minutes" if is_too_old(event) else "times"
    return text if event.count == 1 else f"{text}, {event.count:,} {times} so far"


def _fenced(event: schema.RequestRejected, names: Names, number: str) -> str:
    instance = "" if event.member.group_instance_id is None else f" {plain(event.member.group_instance_id)}"
    if event.error == UNRELEASED and is_itself(event):
        who = Names([_without_instance(event.member)]).full(_without_instance(event.member))
        return f"{who} was refused: it has its group.instance.id{instance} itself, by a request whose answer was lost"
    clients = [_without_instance(each) for each in (event.member, event.holder) if each is not None]
    names = Names(clients)  # by their client ids: they share the instance id
    holder = "another member" if event.holder is None else names.full(clients[1])
    what = f"{COMMITS[event.api]} by " if event.api in COMMITS else ""
    was = "was refused" if what or event.error == UNRELEASED else "was fenced"
    return f"{what}{names.full(clients[0])} {was}: {holder} has its group.instance.id{instance}"


def is_itself(event: schema.RequestRejected) -> bool:
    """Whether the member that has the instance id is the one that asked: the answer to its first request was lost."""
    return event.holder is not None and event.holder.member_id == event.member.member_id != ""


def _without_instance(member: MemberRef) -> MemberRef:
    return msgspec.structs.replace(member, group_instance_id=None)


def _no_common_assignor(event: schema.RequestRejected, names: Names, number: str) -> str:
    return f"{names.full(event.member)} was refused: {why_inconsistent(event)}"


def why_inconsistent(event: schema.RequestRejected) -> str:
    """Which assignors collide: `it offers roundrobin, and all members have only range`."""
    if event.group_protocol_type and event.protocol_type != event.group_protocol_type:
        return (
            f"its protocol type is {plain(event.protocol_type)}, and that of the group is"
            f" {plain(event.group_protocol_type)}"
        )
    if not event.protocols:
        return "it offers no assignor that all members have"
    offered = listed([plain(each) for each in event.protocols])
    if not event.group_protocols:
        return f"it offers {offered}, and no assignor is common to all members"
    shared = listed([plain(each) for each in event.group_protocols])
    return f"it offers {offered}, and what all members have is {shared}"


def _is_full(event: schema.RequestRejected, names: Names, number: str) -> str:
    setting = "group.consumer.max.size" if event.api == CONSUMER_HEARTBEAT else "group.max.size"
    return f"{names.full(event.member)} was refused: the group is full ({setting})"


def _older_epoch(event: schema.RequestRejected, names: Names, number: str) -> str:
    """FENCED_MEMBER_EPOCH: of a member that missed answers, or that was restored from an older state."""
    named = f" {event.request_generation_id}" if event.request_generation_id is not None else ""
    return f"{names.full(event.member)} was fenced: member epoch{named}, which its heartbeat named, is not its own"


def _not_deleted(event: schema.RequestRejected, names: Names, number: str) -> str:
    by = Requester(event.member.client_id, event.member.client_host, event.member.principal)
    return f"{requester(by)} asked to delete the group, and was refused: it has members"


def _refused(event: schema.RequestRejected, names: Names, number: str) -> str:
    if is_too_old(event):
        return refusal(event, names)
    if event.api in COMMITS and event.error in _STALE:
        return _stale_commit(event, names, number)
    return f"{event.api} of {names.full(event.member)} was rejected with {event.error}"


COMMITS: Final = {"OffsetCommit": "an offset commit", "TxnOffsetCommit": "an offset commit of a transaction"}
_STALE: Final = frozenset({"UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "INVALID_PRODUCER_EPOCH", STALE_EPOCH})


def _stale_commit(event: schema.RequestRejected, names: Names, number: str) -> str:
    who = f"{COMMITS[event.api]} by {names.full(event.member)} was refused"
    asked, generation_id = event.request_generation_id, event.generation_id
    if event.error == "INVALID_PRODUCER_EPOCH":
        transactional_id = f" {plain(event.transactional_id)}" if event.transactional_id else ""
        return f"{who}: a newer producer has its transactional.id{transactional_id}"
    if event.error == "UNKNOWN_MEMBER_ID":
        named = f" (it named {number} {asked})" if asked is not None and asked >= 0 else ""
        return f"{who}: it is no member{named}"
    if event.error == STALE_EPOCH:
        return f"{who}: member epoch {asked}, which it named, is not its own, or is older than its assignment"
    if asked is None:
        return f"{who}: it named another generation than {generation_id}"
    return f"{who}: it named generation {asked}, and the group was in generation {generation_id}"


_REFUSALS: Final[dict[str, Callable[[schema.RequestRejected, Names, str], str]]] = {
    "FENCED_INSTANCE_ID": _fenced,
    "INCONSISTENT_GROUP_PROTOCOL": _no_common_assignor,
    "GROUP_MAX_SIZE_REACHED": _is_full,
    "FENCED_MEMBER_EPOCH": _older_epoch,
    "NON_EMPTY_GROUP": _not_deleted,
    UNRELEASED: _fenced,
}


def _converted(event: schema.GroupConverted) -> str:
    protocol = " (KIP-848)" if event.group_type == CONSUMER else ""
    count = len(event.members)
    whose = {0: "", 1: ", with its member"}.get(count, f", with its {count:,} members")
    return f"the group became a {event.group_type} group{protocol}{whose}"


def _loaded(event: schema.GroupLoaded) -> str:
    return "the coordinator loaded the group again"


def _removed(event: schema.GroupRemoved) -> str:
    if event.requested_by is not None:
        return f"{requester(event.requested_by)} deleted the group"
    return _REMOVALS.get(event.cause, f"the group was removed: {event.cause.value.replace('_', ' ')}")


_REMOVALS: Final = {
    Cause.ADMIN: "an administrator deleted the group",
    Cause.OFFSETS_EXPIRED: "the group was removed: it was empty, and its last committed offset had expired",
    Cause.NO_OFFSETS: "the group was removed: it had neither members nor committed offsets",
    Cause.NOT_STORED: "the group was removed: the coordinator ended before it was stored",
    Cause.STORE_FAILED: "the group was removed: the coordinator could not store it",
}
