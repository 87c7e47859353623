"""What is wrong with the offsets of a group now, and sentences about its single partitions."""

from collections.abc import Iterable, Iterator

from coordinator.explain.findings import Finding, in_words
from coordinator.explain.history import GroupHistory
from coordinator.explain.makers.findings.positions import (
    deleted_unread,
    found_in_positions,
    out_of_range,
    unowned,
    waits_for_transaction,
)
from coordinator.explain.makers.findings.progress import Denials, Group, without_progress
from coordinator.explain.sentences import positions as words
from coordinator.explain.sentences.findings import finding_words
from coordinator.explain.words import Clock


def position_findings(
    group: Group,
    now_ms: int,
    clock: Clock,
    history: GroupHistory | None = None,
    denials: Iterable[Denials] = (),
    heard_since_ms: int = 0,
) -> list[Finding]:
    """What is wrong with the partitions and topics of a group now, see `without_progress`."""
    found = [*found_in_positions(group.partitions, group.state, now_ms)]
    return [
        in_words(claim, clock) for claim in (*found, *without_progress(group, now_ms, history, denials, heard_since_ms))
    ]


def notes(
    group: Group, now_ms: int, clock: Clock, denials: Iterable[Denials] = (), heard_since_ms: int = 0
) -> Iterator[str]:
    """Sentences about single partitions and topics."""
    listed, state = list(group.partitions), group.state
    nobodys, beyond, waiting = unowned(listed, state, 0), out_of_range(listed, 0), waits_for_transaction(listed, 0)
    deleted = deleted_unread(listed, 0)
    if nobodys is not None:
        yield f"{words.which(nobodys.partitions)}: {words.UNOWNED}."
    if beyond is not None:
        yield f"{words.which(beyond.partitions)}: {words.OUT_OF_RANGE}."
    if deleted is not None:
        yield f"{words.deleted_unread(deleted)}."
    if waiting is not None:
        yield from words.waits(waiting, clock)
    for stands_still in without_progress(group, now_ms, None, denials, heard_since_ms):
        yield f"{finding_words(stands_still, clock).headline}."
