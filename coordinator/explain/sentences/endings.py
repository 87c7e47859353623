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
from coordinator.explain.sentences.telling import Telling
from coordinator.explain.words import duration


def _at(at_ms: int | None, telling: Telling) -> str:
    return "" if at_ms is None else f" at {telling.clock(at_ms)}"


def stable(claims: Sequence[Stable], telling: Telling) -> Iterator[str]:
    """Nothing: how long it took says so."""
    return iter(())


def superseded(claims: Sequence[Superseded], telling: Telling) -> Iterator[str]:
    for claim in claims:
        took = "" if claim.after_ms is None else f" after {duration(claim.after_ms)}"
        yield from telling.protocol.superseded(claim, took, telling.names)


def converted(claims: Sequence[Converted], telling: Telling) -> Iterator[str]:
    for claim in claims:
        yield f"It never became stable: the group became a {claim.group_type} group{_at(claim.at_ms, telling)}."


def emptied(claims: Sequence[Emptied], telling: Telling) -> Iterator[str]:
    for claim in claims:
        yield f"Nobody was left: the group became empty{_at(claim.at_ms, telling)}."


def cut_short(claims: Sequence[CutShort], telling: Telling) -> Iterator[str]:
    for claim in claims:
        at = _at(claim.at_ms, telling)
        if claim.is_void:
            yield (
                f"It was lost: the coordinator loaded the group again{at} without it, because it had not been stored."
                " Its members had to join again."
            )
        else:
            yield f"It was cut short{at}: the coordinator loaded the group again, and the members had to start over."


def in_progress(claims: Sequence[InProgress], telling: Telling) -> Iterator[str]:
    for claim in claims:
        yield telling.protocol.in_progress(claim, telling.names)


def end_unknown(claims: Sequence[EndUnknown], telling: Telling) -> Iterator[str]:
    yield "How it ended is not among the events."


def came_back_with_other_topics(claims: Sequence[CameBackWithOtherTopics], telling: Telling) -> Iterator[str]:
    for claim in claims:
        text = (
            f"At {telling.clock(claim.at_ms)} the static member {telling.names.of(claim.member)} came back with a"
            f" subscription to {topics_named(claim.topics_now)} instead of {topics_named(claim.topics_before)}"
        )
        if claim.unowned:
            yield f"{text}: nobody owns {topics_named(claim.unowned)} until the next rebalance."
        else:
            yield f"{text}."


def events_missing(claims: Sequence[EventsMissing], telling: Telling) -> Iterator[str]:
    yield "Some of its events are missing, so this may not be all."
