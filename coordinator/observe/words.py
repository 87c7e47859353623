"""Says in words what a sentence about a group of another Kafka is based on: log lines, records, or an inference."""

from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import Final

from coordinator.explain.claims.claim import Claim
from coordinator.explain.words import listed
from coordinator.observe.history import ObservedHistory
from coordinator.observe.places import Place, Source
from coordinator.printable import printable

PLACES_NAMED: Final = 4

Clock = Callable[[int], str]


def sources_of(history: ObservedHistory, claims: Iterable[Claim], at: Clock) -> str:
    """`Seen: broker 2 logged it at 12:03:11 (server.log:118); the record __consumer_offsets-12:88 shows it.`"""
    places: dict[Place, None] = {}
    is_inferred = False
    for claim in claims:
        places.update(dict.fromkeys(history.places_of(claim)))
        is_inferred |= history.is_inferred(claim)
    if not places:
        return ""
    lines = [place for place in places if place.source in (Source.BROKER_LOG, Source.CLIENT_LOG)]
    passed = [place for place in places if place.source is Source.NODE]
    records = [place for place in places if place.source is Source.RECORD]
    texts = [_line(line, at) for line in lines[:PLACES_NAMED]]
    texts += [f"{place.name} saw it pass at {at(place.time_ms)}" for place in passed[:PLACES_NAMED]]
    if records:
        named = listed([str(record) for record in records[:PLACES_NAMED]], more=max(0, len(records) - PLACES_NAMED))
        texts.append(f"record{'s' if len(records) > 1 else ''} {named}")
    polls = [place for place in places if place.source is Source.POLL]
    if polls:
        texts.append(_polls(polls, at))
    return f"{'Inferred' if is_inferred else 'Seen'}: {'; '.join(texts)}."


def _polls(places: list[Place], at: Clock) -> str:
    """What was there at one poll and not at the next happened between them."""
    first, last = places[0], places[-1]
    if len(places) == 1:
        return f"the poll at {at(last.time_ms)} shows it ({last.name})"
    return f"between the polls at {at(first.time_ms)} and {at(last.time_ms)} ({last.name})"


def _line(place: Place, at: Clock) -> str:
    if place.source is Source.CLIENT_LOG:
        who = "the client"
    else:
        who = "a broker" if place.broker_id is None else f"broker {place.broker_id}"
    where = printable(PurePath(place.name).name)
    number = "" if place.position is None else f":{place.position}"
    return f"{who} logged it at {at(place.time_ms)} ({where}{number})"
