"""When the coordinator itself was not there: starts, stops, pauses and takeovers, beside what happened to a group."""

from collections.abc import Iterator
from typing import Final

from coordinator.audit.schema import (
    CoordinatorEvent,
    CoordinatorPaused,
    CoordinatorStarted,
    CoordinatorStopped,
    LeadershipTaken,
)
from coordinator.core.causes import Cause
from coordinator.explain.folded_group import Sign, start_key
from coordinator.explain.generation import Generation, Removal
from coordinator.explain.history import GroupHistory
from coordinator.explain.words import Clock, Names, duration

PAUSES: Final = {
    "suspended": "its process was suspended (SIGSTOP, a machine that sleeps)",
    "without_cpu": "it had no processor",
    "blocked": "it was busy, or waited in a call",
}
"""`pause_kind` → what it was."""
STARTS: Final = (CoordinatorStarted, LeadershipTaken)


def absences(history: GroupHistory) -> Iterator[tuple[int, str]]:
    """When (wall clock) and what, as a clause: `the coordinator was stopped`. In the order of the events.

    An absence is from the last sign of a leader to the next one's, whichever node that is. What was before the group is
    left out.
    """
    leaders = _Leaders(history)
    for event in history.coordinator_events:
        at_ms = event.until_ms if isinstance(event, CoordinatorPaused) else event.time_ms
        for told in leaders.told(event):
            if history.first_ms is None or history.begins_in_the_middle or at_ms >= history.first_ms:
                yield told


class _Leaders:
    """Who led the partition of the group, one after the other."""

    def __init__(self, history: GroupHistory) -> None:
        self._history = history
        self._takeovers = [each for each in history.coordinator_events if isinstance(each, LeadershipTaken)]
        self._has_several = len({each.node_id for each in history.coordinator_events}) > 1
        self._last: Sign | None = None
        """The last sign of the leader, among the events about itself."""
        self._stopped_ms: int | None = None
        """When it was stopped, if that was its last sign."""
        self._taken: LeadershipTaken | None = None
        """Its takeover, until it tells of its start."""
        self._is_told = False
        """Whether that was told: its start says nothing more."""

    def told(self, event: CoordinatorEvent) -> Iterator[tuple[int, str]]:
        match event:
            case CoordinatorPaused():
                yield event.from_ms, self._paused(event)
                if self._last is None or self._last.node_id == event.node_id:
                    self._last = Sign(event.node_id, event.until_ms)
                return
            case CoordinatorStopped():
                yield event.time_ms, f"{self._whose(event)} was stopped"
                self._stopped_ms = event.time_ms
            case LeadershipTaken():
                yield from self._led(event)
            case CoordinatorStarted():
                if not self._is_told:
                    yield event.time_ms, self._started(event)
                self._stopped_ms, self._taken, self._is_told = None, None, False
        self._last = Sign(event.node_id, event.time_ms)

    def _whose(self, event: CoordinatorEvent) -> str:
        """A node has its number where another one led, too."""
        return f"node {event.node_id}" if self._has_several and self._takeovers else "the coordinator"

    def _paused(self, event: CoordinatorPaused) -> str:
        kind = f": {PAUSES[event.pause_kind]}" if event.pause_kind in PAUSES else ""
        length = duration(max(0, event.until_ms - event.from_ms))
        meanwhile = (
            each.node_id
            for each in self._takeovers
            if each.node_id != event.node_id and event.from_ms <= each.time_ms <= event.time_ms
        )
        other = next(meanwhile, None)
        lost = "" if other is None else f". That was longer than its lease, and node {other} took the group over"
        return f"{self._whose(event)} stood still for {length}{kind}{lost}"

    def _sign_before(self, event: CoordinatorEvent) -> Sign | None:
        """The last sign of the leader before, among the events about itself and those of the group."""
        known = [each for each in (self._last, self._history.signs.get(start_key(event))) if each is not None]
        return max(known, key=lambda each: each.at_ms, default=None)

    def _led(self, event: LeadershipTaken) -> Iterator[tuple[int, str]]:
        before = self._sign_before(event)
        if before is None or before.node_id == event.node_id:
            self._taken = self._taken or event
            return
        if self._stopped_ms is not None:
            how = f"{duration(max(0, event.time_ms - self._stopped_ms))} after the stop of node {before.node_id}"
        else:
            away = duration(max(0, event.time_ms - before.at_ms))
            how = f"after node {before.node_id}, whose last event here was {away} before"
        yield event.time_ms, f"node {event.node_id} led the group from here on, {how}"
        self._stopped_ms, self._taken, self._is_told = None, event, True

    def _started(self, event: CoordinatorStarted) -> str:
        before, first_ms = self._last, self._history.first_ms
        if before is None or before.node_id != event.node_id:
            is_again = first_ms is not None and first_ms < event.time_ms
            return "the coordinator started again" if is_again else "the coordinator started"
        here_ms = event.time_ms if self._taken is None else self._taken.time_ms
        if self._stopped_ms is not None:
            away = duration(max(0, here_ms - self._stopped_ms))
            return f"the coordinator started again, {away} after its stop"
        sign = self._history.signs.get(start_key(event))
        if sign is None:
            return (
                "the coordinator started again: it had ended without a stop, so it is unknown for how long it was away"
            )
        away = duration(max(0, here_ms - sign.at_ms))
        return f"the coordinator started again: it had ended without a stop, at most {away} before"


def absences_in(history: GroupHistory, generation: Generation, clock: Clock) -> Iterator[str]:
    """A sentence for each that fell into the rebalance, or into the silence of those that were removed before it."""
    from_ms = generation.disturbed_ms
    if not from_ms or not history.coordinator_events:
        return
    for removal in generation.changes.removed:
        if removal.cause is Cause.SESSION_EXPIRED:
            heard_ms = removal.last_heard_ms or _start_of_session(history, removal)
            from_ms = min(from_ms, from_ms if heard_ms is None else heard_ms)
    until_ms = generation.ended_ms or history.last_ms or from_ms
    for at_ms, what in absences(history):
        if from_ms <= at_ms <= until_ms:
            yield f"At {clock(at_ms)}, {what}."


def unheard_since_start(history: GroupHistory, generation: Generation, names: Names) -> Iterator[str]:
    """Whose sessions began again with a start of the coordinator, and ended without a sign of them."""
    silent = [
        each.member
        for each in generation.changes.removed
        if each.cause is Cause.SESSION_EXPIRED and _start_of_session(history, each) is not None
    ]
    if silent:
        theirs = "its session" if len(silent) == 1 else "their sessions"
        yield f"Nothing was heard of {names.listed(silent)} since then, when {theirs} began again."


def _start_of_session(history: GroupHistory, removal: Removal) -> int | None:
    """The start or takeover with which the session of a removed member began again, if nothing was heard since.

    It ends one session timeout later; twice that is for a coordinator that is slow to start.
    """
    if removal.last_heard_ms is not None:
        return None
    earliest_ms = removal.at_ms - 2 * (removal.session_timeout_ms or 0)
    starts = (each.time_ms for each in history.coordinator_events if isinstance(each, STARTS))
    return max((at_ms for at_ms in starts if earliest_ms <= at_ms <= removal.at_ms), default=None)
