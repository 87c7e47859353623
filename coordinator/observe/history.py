"""The history of a group of a Kafka that others run, and where each of its events was seen."""

from collections.abc import Iterable
from typing import Self

from coordinator.audit.schema import AuditEvent, GroupLoaded
from coordinator.explain.claims.claim import Claim, Known
from coordinator.explain.folded_group import GENERATIONS_KEPT, Move
from coordinator.explain.generation import Generation
from coordinator.explain.history import GroupHistory
from coordinator.observe.evidence import ObservedEvent
from coordinator.observe.places import Place, Source


class ObservedHistory(GroupHistory):
    """Folds observed events as those of the audit."""

    is_observed = True

    def __init__(self, group_id: str, generations_max: int = GENERATIONS_KEPT) -> None:
        super().__init__(group_id, generations_max)
        self.reasons_are_seen = False
        self.observed: dict[int, ObservedEvent] = {}
        """`seq` → the event and its places."""

    @classmethod
    def of_observed(cls, group_id: str, events: Iterable[ObservedEvent]) -> Self:
        history = cls(group_id)
        for event in events:
            history.add(event)
        return history

    def apply(self, event: AuditEvent) -> bool:
        """Apply the next event, which a coordinator of our own tells: nodes have adopted the group."""
        self.is_of_cluster = False
        return super().apply(event)

    def add(self, observed: ObservedEvent) -> bool:
        """Apply the next event that was seen, with the evidence."""
        is_new = super().apply(observed.event)
        self.is_of_cluster = True
        if is_new:
            self.observed[observed.event.seq] = observed
            self.reasons_are_seen |= observed.reasons_are_seen
        return is_new

    def is_polled(self, generation: Generation) -> bool:
        began = self.observed.get(generation.first_seq)
        return began is not None and all(place.source is Source.POLL for place in began.places)

    def move_of(self, load: GroupLoaded) -> Move:
        observed = self.observed.get(load.seq)
        if observed is None or not observed.places:
            return Move(load.node_id)
        takeover, *given_up = observed.places
        if not given_up:  # the old broker may log that it unloads the group after the new one logs that it loads it
            earlier = [other for other in self.loads if other.seq < load.seq]
            before = self.move_of(earlier[-1]).broker if earlier else None
            return Move(takeover.broker_id, None if before == takeover.broker_id else before)
        away_ms = max(0, takeover.time_ms - given_up[0].time_ms)
        return Move(takeover.broker_id, given_up[0].broker_id, None if takeover.source is Source.POLL else away_ms)

    @property
    def counts_polls(self) -> bool:
        """Whether generations have numbers that no record and no line has: polls saw them."""
        return any(not generation.is_epoch and self.is_polled(generation) for generation in self.generations)

    def places_of(self, claim: Claim) -> tuple[Place, ...]:
        """Where the events were seen that a claim rests on, each once, in order of time."""
        found = {
            place: None for seq in claim.evidence.events for place in getattr(self.observed.get(seq), "places", ())
        }
        return tuple(sorted(found, key=lambda place: (place.time_ms, place.name, place.position or 0)))

    def is_inferred(self, claim: Claim) -> bool:
        """Whether it rests on an event that no line or record says."""
        events = [self.observed.get(seq) for seq in claim.evidence.events]
        return any(event is None or event.is_inferred for event in events)

    def certainty_of(self, claim: Claim) -> Known:
        """How a claim is known: what rests on an inferred event is derived."""
        is_seen = claim.evidence.known is Known.SEEN
        return Known.DERIVED if is_seen and self.is_inferred(claim) else claim.evidence.known
