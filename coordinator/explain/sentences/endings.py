"""How a rebalance ended, in words."""

from collections.abc import Iterator, Sequence

from coordinator.explain.claims.endings import (
    CameBackWithOtherTopics,
    Converted,
    CutShort,
    Emptied,
    EndUnknown,
    EventsMissing,
    InProgress,
    Stable,
    Superseded,
)
from coordinator.explain.sentences.causes import topics_named
from coordinator.explain.sentences.wording import Wording
from coordinator.explain.words import duration


def _at(at_ms: int | None, wording: Wording) -> str:
    return "" if at_ms is None else f" at {wording.clock(at_ms)}"


def stable(claims: Sequence[Stable], wording: Wording) -> Iterator[str]:
    """Nothing: how long it took says so."""
    return iter(())


def superseded(claims: Sequence[Superseded], wording: Wording) -> Iterator[str]:
    for claim in claims:
        took = "" if claim.after_ms is None else f" after {duration(claim.after_ms)}"
        yield from wording.protocol.superseded(claim, took, wording.names)


def converted(claims: Sequence[Converted], wording: Wording) -> Iterator[str]:
    for claim in claims:
        yield f"It never became stable: the group became a {claim.group_type} group{_at(claim.at_ms, wording)}."


def emptied(claims: Sequence[Emptied], wording: Wording) -> Iterator[str]:
    for claim in claims:
        yield f"Nobody was left: the group became empty{_at(claim.at_ms, wording)}."


def cut_short(claims: Sequence[CutShort], wording: Wording) -> Iterator[str]:
    for claim in claims:
        at = _at(claim.at_ms, wording)
        if claim.is_void:
            yield (
                f"It was lost: the coordinator loaded the group again{at} without it, because it had not been stored."
                " Its members had to join again."
            )
        else:
            yield f"It was cut short{at}: the coordinator loaded the group again, and the members had to start over."


def in_progress(claims: Sequence[InProgress], wording: Wording) -> Iterator[str]:
    for claim in claims:
        yield wording.protocol.in_progress(claim, wording.names)


def end_unknown(claims: Sequence[EndUnknown], wording: Wording) -> Iterator[str]:
    yield "How it ended is not among the events."


def came_back_with_other_topics(claims: Sequence[CameBackWithOtherTopics], wording: Wording) -> Iterator[str]:
    for claim in claims:
        text = (
            f"At {wording.clock(claim.at_ms)} the static member {wording.names.of(claim.member)} came back with a"
            f" subscription to {topics_named(claim.topics_now)} instead of {topics_named(claim.topics_before)}"
        )
        if claim.unowned:
            yield f"{text}: nobody owns {topics_named(claim.unowned)} until the next rebalance."
        else:
            yield f"{text}."


def events_missing(claims: Sequence[EventsMissing], wording: Wording) -> Iterator[str]:
    yield "Some of its events are missing, so this may not be all."
