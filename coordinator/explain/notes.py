"""What happened to a group beside its rebalances, in words: resets, deletions, rejected requests, loads, and
the coordinator's own absence."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from coordinator.audit import schema
from coordinator.core.causes import Cause
from coordinator.explain.absences import absences
from coordinator.explain.history import GroupHistory
from coordinator.explain.words import Names, counted, listed, plain, requester

PARTITIONS_NAMED: Final = 3
TOPICS_NAMED: Final = 3


class Note(NamedTuple):
    """Something that happened at a wall-clock time. The text is a clause, free of control characters."""

    time_ms: int
    text: str


def notes(history: GroupHistory) -> list[Note]:
    """All notes of a history, in the order of their times."""
    found = [
        *(Note(each.time_ms, _reset(each)) for each in history.resets),
        *(Note(each.time_ms, _gone(each)) for each in history.deletions),
        *(Note(each.time_ms, _rejected(each)) for each in history.rejected),
        *(Note(each.time_ms, _loaded(each)) for each in history.loads),
        *(Note(each.time_ms, _removed(each)) for each in history.removals),
        *(Note(*each) for each in absences(history)),
    ]
    return sorted(found, key=lambda note: note.time_ms)


def _reset(event: schema.OffsetsReset) -> str:
    count = sum(map(len, event.partitions.values())) + event.unnamed_partitions
    text = f"{requester(event.requested_by)} reset {counted(count, 'committed offset')}"
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
    if event.cause is Cause.TOPIC_DELETED:
        return f"{what} {'was' if count == 1 else 'were'} deleted with {'its topic' if count == 1 else 'their topics'}"
    if event.cause is Cause.GROUP_REMOVED:
        return f"{what} {'was' if count == 1 else 'were'} deleted with the group"
    by = requester(event.requested_by) if event.requested_by is not None else "an administrator"
    return f"{by} deleted {what}"


def _rejected(event: schema.RequestRejected) -> str:
    names = Names([event.member] if event.holder is None else [event.member, event.holder])
    text = _REFUSALS.get(event.error, _refused)(event, names)
    if event.injected:
        return f"{text} by a fault of a test"
    return text if event.count == 1 else f"{text}, {event.count:,} times so far"


def _fenced(event: schema.RequestRejected, names: Names) -> str:
    instance = "" if event.member.group_instance_id is None else f" {plain(event.member.group_instance_id)}"
    holder = "another member" if event.holder is None else names.full(event.holder)
    return f"{names.full(event.member)} was fenced: {holder} has its group.instance.id{instance}"


def _no_common_assignor(event: schema.RequestRejected, names: Names) -> str:
    return f"{names.full(event.member)} was refused: it offers no assignor that all members have"


def _is_full(event: schema.RequestRejected, names: Names) -> str:
    return f"{names.full(event.member)} was refused: the group is full (group.max.size)"


def _refused(event: schema.RequestRejected, names: Names) -> str:
    return f"{event.api} of {names.full(event.member)} was rejected with {event.error}"


_REFUSALS: Final[dict[str, Callable[[schema.RequestRejected, Names], str]]] = {
    "FENCED_INSTANCE_ID": _fenced,
    "INCONSISTENT_GROUP_PROTOCOL": _no_common_assignor,
    "GROUP_MAX_SIZE_REACHED": _is_full,
}


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
