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
    for each in claims:
        took = "" if each.after_ms is None else f" after {duration(each.after_ms)}"
        yield from telling.protocol.superseded(each, took, telling.names)


def converted(claims: Sequence[Converted], telling: Telling) -> Iterator[str]:
    for each in claims:
        yield f"It never became stable: the group became a {each.group_type} group{_at(each.at_ms, telling)}."


def emptied(claims: Sequence[Emptied], telling: Telling) -> Iterator[str]:
    for each in claims:
        yield f"Nobody was left: the group became empty{_at(each.at_ms, telling)}."


def cut_short(claims: Sequence[CutShort], telling: Telling) -> Iterator[str]:
    for each in claims:
        at = _at(each.at_ms, telling)
        if each.is_void:
            yield (
                f"It was lost: the coordinator loaded the group again{at} without it, because it had not been stored."
                " Its members had to join again."
            )
        else:
            yield f"It was cut short{at}: the coordinator loaded the group again, and the members had to start over."


def in_progress(claims: Sequence[InProgress], telling: Telling) -> Iterator[str]:
    for each in claims:
        yield telling.protocol.in_progress(each, telling.names)


def end_unknown(claims: Sequence[EndUnknown], telling: Telling) -> Iterator[str]:
    yield "How it ended is not among the events."


def came_back_with_other_topics(claims: Sequence[CameBackWithOtherTopics], telling: Telling) -> Iterator[str]:
    for each in claims:
        text = (
            f"At {telling.clock(each.at_ms)} the static member {telling.names.of(each.member)} came back with a"
            f" subscription to {topics_named(each.topics_now)} instead of {topics_named(each.topics_before)}"
        )
        if each.unowned:
            yield f"{text}: nobody owns {topics_named(each.unowned)} until the next rebalance."
        else:
            yield f"{text}."


def events_missing(claims: Sequence[EventsMissing], telling: Telling) -> Iterator[str]:
    yield "Some of its events are missing, so this may not be all."
