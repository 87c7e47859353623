"""What is wrong with the offsets of a group now, and sentences about its single partitions."""

from collections.abc import Iterable, Iterator

from coordinator.explain.findings import Finding, told
from coordinator.explain.makers.findings.positions import (
    Position,
    deleted_unread,
    found_in_positions,
    out_of_range,
    unowned,
    waits_for_transaction,
)
from coordinator.explain.sentences import positions as words
from coordinator.explain.words import Clock


def position_findings(positions: Iterable[Position], state: str, now_ms: int, clock: Clock) -> list[Finding]:
    """What is wrong with these partitions of a group now. `state` is that of the group."""
    return [told(each, clock) for each in found_in_positions(positions, state, now_ms)]


def notes(positions: Iterable[Position], state: str, clock: Clock) -> Iterator[str]:
    """Sentences about single partitions."""
    known = list(positions)
    nobodys, beyond, waiting = unowned(known, state, 0), out_of_range(known, 0), waits_for_transaction(known, 0)
    deleted = deleted_unread(known, 0)
    if nobodys is not None:
        yield f"{words.which(nobodys.partitions)}: {words.UNOWNED}."
    if beyond is not None:
        yield f"{words.which(beyond.partitions)}: {words.OUT_OF_RANGE}."
    if deleted is not None:
        yield f"{words.deleted_unread(deleted)}."
    if waiting is not None:
        yield from words.waits(waiting, clock)
