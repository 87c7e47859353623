"""Claims about when the coordinator itself was not there: starts, stops, pauses and takeovers."""

from collections.abc import Iterator
from typing import Final

from coordinator.audit.schema import (
    CoordinatorEvent,
    CoordinatorPaused,
    CoordinatorStarted,
    CoordinatorStopped,
    CoordinatorUnavailable,
    LeadershipTaken,
)
from coordinator.core.causes import Cause
from coordinator.explain.changes import Removal
from coordinator.explain.claims.claim import Evidence, Known, derived
from coordinator.explain.claims.silences import AbsenceKind, CoordinatorAway, End, UnheardSinceStart
from coordinator.explain.folded_group import Sign, start_key
from coordinator.explain.history import GroupHistory
from coordinator.explain.makers.context import Context

STARTS: Final = (CoordinatorStarted, LeadershipTaken)
SLOW_START_MS: Final = 1_000
"""So long after its start a coordinator has loaded its groups."""
SEEN: Final = Evidence(Known.SEEN)
"""An event about the coordinator itself says so; these have no `seq` of the group."""
DERIVED: Final = Evidence(Known.DERIVED)
UNKNOWN: Final = Evidence(Known.UNKNOWN)


def absences(history: GroupHistory) -> Iterator[CoordinatorAway]:
    """Each absence, in the order of the events.

    An absence is from the last sign of a leader to the next one's, whichever node that is. What was before the group is
    left out.
    """
    leaders = _Leaders(history)
    for event in history.coordinator_events:
        at_ms = event.until_ms if isinstance(event, CoordinatorPaused | CoordinatorUnavailable) else event.time_ms
        for claim in leaders.claims(event):
            if history.first_ms is None or history.begins_in_the_middle or at_ms >= history.first_ms:
                yield claim


class _Leaders:
    """Who led the partition of the group, one after the other."""

    def __init__(self, history: GroupHistory) -> None:
        self._history = history
        self._takeovers = [
            coordinator_event
            for coordinator_event in history.coordinator_events
            if isinstance(coordinator_event, LeadershipTaken)
        ]
        self._has_several = len({coordinator_event.node_id for coordinator_event in history.coordinator_events}) > 1
        self._last: Sign | None = None
        """The last sign of the leader, among the events about itself."""
        self._stopped_ms: int | None = None
        """When it was stopped, if that was its last sign."""
        self._takeover: LeadershipTaken | None = None
        """Its takeover, until it tells of its start."""
        self._is_reported = False
        """Whether that was told: its start says nothing more."""

    def claims(self, event: CoordinatorEvent) -> Iterator[CoordinatorAway]:
        match event:
            case CoordinatorPaused():
                yield self._paused(event)
                if self._last is None or self._last.node_id == event.node_id:
                    self._last = Sign(event.node_id, event.until_ms)
                return
            case CoordinatorUnavailable():
                yield CoordinatorAway(
                    kind=AbsenceKind.UNAVAILABLE,
                    at_ms=event.from_ms,
                    from_ms=event.from_ms,
                    until_ms=event.until_ms,
                    node_id=self._node(event),
                    evidence=SEEN,
                )
            case CoordinatorStopped():
                yield CoordinatorAway(
                    kind=AbsenceKind.STOPPED,
                    at_ms=event.time_ms,
                    from_ms=event.time_ms,
                    node_id=self._node(event),
                    evidence=SEEN,
                )
                self._stopped_ms = event.time_ms
            case LeadershipTaken():
                yield from self._led(event)
                if self._last is not None and self._last.node_id == event.node_id:
                    return  # that it leads again it says before it tells of its start
            case CoordinatorStarted():
                if not self._is_reported:
                    yield self._started(event)
                self._stopped_ms, self._takeover, self._is_reported = None, None, False
        self._last = Sign(event.node_id, event.time_ms)

    def _node(self, event: CoordinatorEvent) -> int | None:
        """A node has its number where another one led, too."""
        return event.node_id if self._has_several and self._takeovers else None

    def _paused(self, event: CoordinatorPaused) -> CoordinatorAway:
        meanwhile = (
            takeover.node_id
            for takeover in self._takeovers
            if takeover.node_id != event.node_id and event.from_ms <= takeover.time_ms <= event.time_ms
        )
        return CoordinatorAway(
            kind=AbsenceKind.PAUSED,
            at_ms=event.from_ms,
            from_ms=event.from_ms,
            until_ms=event.until_ms,
            node_id=self._node(event),
            other_node_id=next(meanwhile, None),
            pause_kind=event.pause_kind,
            evidence=SEEN,
        )

    def _sign_before(self, event: CoordinatorEvent) -> Sign | None:
        """The last sign of the leader before, among the events about itself and those of the group."""
        signs = [sign for sign in (self._last, self._history.signs.get(start_key(event))) if sign is not None]
        return max(signs, key=lambda said: said.at_ms, default=None)

    def _led(self, event: LeadershipTaken) -> Iterator[CoordinatorAway]:
        before = self._sign_before(event)
        if before is None or before.node_id == event.node_id:
            self._takeover = self._takeover or event
            return
        is_stopped = self._stopped_ms is not None
        yield CoordinatorAway(
            kind=AbsenceKind.LED,
            at_ms=event.time_ms,
            from_ms=self._stopped_ms if is_stopped else before.at_ms,
            until_ms=event.time_ms,
            node_id=event.node_id,
            other_node_id=before.node_id,
            end=End.IN_ORDER if is_stopped else End.WITHOUT_STOP,
            evidence=SEEN if is_stopped else DERIVED,
        )
        self._stopped_ms, self._takeover, self._is_reported = None, event, True

    def _started(self, event: CoordinatorStarted) -> CoordinatorAway:
        before, first_ms = self._last, self._history.first_ms
        if before is None or before.node_id != event.node_id:
            is_again = first_ms is not None and first_ms < event.time_ms
            return CoordinatorAway(kind=AbsenceKind.STARTED, at_ms=event.time_ms, is_first=not is_again, evidence=SEEN)
        sign = self._history.signs.get(start_key(event))
        is_stopped = self._stopped_ms is not None
        # A start is a sign, too, if nothing was told of the group since.
        from_ms = self._stopped_ms if is_stopped else None if sign is None else max(sign.at_ms, before.at_ms)
        return CoordinatorAway(
            kind=AbsenceKind.STARTED,
            at_ms=event.time_ms,
            from_ms=from_ms,
            until_ms=event.time_ms if self._takeover is None else self._takeover.time_ms,
            end=End.IN_ORDER if is_stopped else _untold_end(event),
            evidence=SEEN if is_stopped else UNKNOWN if from_ms is None else DERIVED,
        )


def _untold_end(event: CoordinatorStarted) -> End:
    """How the process before had ended that told of no stop: one that cannot write tells of none."""
    return End.IN_ORDER_UNTOLD if event.after_clean_stop else End.WITHOUT_STOP


def absence_claims(context: Context) -> Iterator[CoordinatorAway]:
    """Each that fell into the rebalance, or into the silence of those that were removed before it."""
    history, generation = context.history, context.generation
    from_ms = generation.disturbed_ms
    if not from_ms or not history.coordinator_events:
        return
    for removal in generation.changes.removed:
        if removal.cause is Cause.SESSION_EXPIRED:
            heard_ms = removal.last_heard_ms or _start_of_session(history, removal)
            from_ms = min(from_ms, from_ms if heard_ms is None else heard_ms)
    until_ms = generation.ended_ms or history.last_ms or from_ms
    yield from (absence for absence in absences(history) if from_ms <= absence.at_ms <= until_ms)


def unheard_since_start(context: Context) -> Iterator[UnheardSinceStart]:
    """Whose sessions began again with a start of the coordinator, and ended without a sign of them."""
    for removal in context.generation.changes.removed:
        if removal.cause is Cause.SESSION_EXPIRED:
            start_ms = _start_of_session(context.history, removal)
            has_asked = start_ms is not None and (removal.rejected_ms or 0) >= start_ms
            if start_ms is not None and not has_asked and context.rejected_since(removal, start_ms) is None:
                yield UnheardSinceStart(
                    member=removal.member,
                    start_ms=start_ms,
                    has_committed=(removal.last_committed_ms or 0) > start_ms,
                    evidence=derived(removal.seq),
                )


def _start_of_session(history: GroupHistory, removal: Removal) -> int | None:
    """The start or takeover with which the session of a removed member began again, if nothing was heard since.

    It ends one session timeout later; twice that is for a coordinator that is slow to start.
    """
    if removal.last_heard_ms is not None:
        return None
    joined_ms = removal.last_joined_ms or 0
    earliest_ms = removal.at_ms - 2 * (removal.session_timeout_ms or 0)
    starts = (
        coordinator_event.time_ms
        for coordinator_event in history.coordinator_events
        if isinstance(coordinator_event, STARTS)
    )
    start_ms = max((at_ms for at_ms in starts if earliest_ms <= at_ms <= removal.at_ms), default=None)
    if start_ms is None or start_ms < max(removal.loaded_ms or start_ms, joined_ms):
        return None  # its session began again with a load after that, as the disk was full
    began_ms = removal.at_ms - (removal.session_timeout_ms or 0)
    if began_ms > start_ms + SLOW_START_MS:
        return None  # as before, by a load that no event tells of: such a session is not lengthened
    return start_ms
