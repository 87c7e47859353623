"""The events of one group, numbered, each with the places where it was seen and what nodes saw beside it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from coordinator.audit.schema.unseen import UnseenBecause
from coordinator.core.causes import Cause, InferredCause
from coordinator.observe.consumer_lines import ConsumerLines
from coordinator.observe.evidence import ObservedEvent
from coordinator.observe.group_so_far import Event, EventEmitter, GroupSoFar, Removed
from coordinator.observe.places import Place, Source
from coordinator.observe.seen import SeenGroup
from coordinator.observe.seen_member import NodesThere
from coordinator.observe.typed import with_causes

GONE_AT_ONCE_MS: Final = 1_000


class GroupEvents:
    """Make an emitter for what was seen at a place, and `keep` what it emitted. `so_far` is the group by that."""

    def __init__(
        self, group_id: str, presence: NodesThere, *, is_whole: bool, explained: Mapping[str, Removed] | None
    ) -> None:
        """See `GroupObserver`."""
        self.group_id = group_id
        self.kept: list[ObservedEvent] = []
        self.so_far = GroupSoFar()
        self.explained = dict(explained or {})
        self.gone: tuple[Place, Cause] | None = None
        """Where a line says that the group was deleted, and why."""
        self.lines = ConsumerLines(is_whole=is_whole)
        self.seen = SeenGroup()
        self._presence = presence

    def emitter(self, place: Place) -> EventEmitter:
        emitter = EventEmitter(self.group_id, self.so_far, place.time_ms, self.explained)
        emitter.places = (place,)
        if self.gone is not None and abs(self.gone[0].time_ms - place.time_ms) <= GONE_AT_ONCE_MS:
            emitter.removed_because = self.gone[1]
        return emitter

    def keep(self, emitter: EventEmitter, *, is_inferred: bool) -> None:
        self.so_far = emitter.so_far
        for event in emitter.events:
            seen = self.seen.add_to(event, self._presence)
            places = (*emitter.places_of.get(event["seq"], ()), *self.lines.of(event), *seen)
            whole = with_causes(event)
            is_open = getattr(whole, "cause", None) in _UNDECIDED
            self.kept.append(ObservedEvent(whole, places, is_open or (is_inferred and _is_inferred(event, places))))
        of_records = any(place.source is Source.RECORD for place in emitter.places)
        for event in emitter.events if of_records else ():
            if event["kind"] in _JOINS and self.seen.bypassed(event, self._presence):
                self.emit_unseen(emitter.places[0], because=UnseenBecause.NOT_THROUGH_NODES, member=event["member"])

    def emit_unseen(self, place: Place, **fields: Any) -> None:
        """That something may have happened which nobody saw."""
        emitter = self.emitter(place)
        emitter.emit("group.unseen", **fields)
        self.keep(emitter, is_inferred=False)


def _is_inferred(event: Event, places: Sequence[Place]) -> bool:
    """Whether no line says it, and no record alone."""
    is_logged = any(place.source in (Source.BROKER_LOG, Source.NODE) for place in places)
    return event["kind"] in _SAID_BY_LINES and not is_logged


_UNDECIDED: Final = frozenset(InferredCause) - {InferredCause.ADOPTED}
"""Causes that leave open which of two it is, also if the rest of the rebalance was seen."""
_JOINS: Final = frozenset({"member.joined", "static_member.replaced"})
_SAID_BY_LINES: Final = frozenset({"member.removed", "rebalance.started", "member.joined", "static_member.replaced"})
"""Events of which records show the result alone: what they say of why is inferred."""
