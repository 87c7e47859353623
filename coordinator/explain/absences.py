"""When the coordinator itself was not there: starts, stops and pauses, beside what happened to a group."""

from collections.abc import Iterator
from typing import Final

from coordinator.audit.schema import CoordinatorEvent, CoordinatorPaused, CoordinatorStarted, CoordinatorStopped
from coordinator.core.causes import Cause
from coordinator.explain.generation import Generation, Removal
from coordinator.explain.history import GroupHistory
from coordinator.explain.words import Clock, Names, duration

PAUSES: Final = {
    "suspended": "its process was suspended (SIGSTOP, a machine that sleeps)",
    "without_cpu": "it had no processor",
    "blocked": "it was busy, or waited in a call",
}
"""`pause_kind` → what it was."""


def absences(history: GroupHistory) -> Iterator[tuple[int, str]]:
    """When (wall clock) and what, as a clause: `the coordinator was stopped`. In the order of the events."""
    before: CoordinatorEvent | None = None
    for event in history.coordinator_events:
        match event:
            case CoordinatorPaused():
                kind = f": {PAUSES[event.pause_kind]}" if event.pause_kind in PAUSES else ""
                yield event.from_ms, f"the coordinator stood still for {duration(event.until_ms - event.from_ms)}{kind}"
            case CoordinatorStopped():
                yield event.time_ms, "the coordinator was stopped"
            case CoordinatorStarted():
                is_again = history.first_ms is not None and history.first_ms < event.time_ms
                yield event.time_ms, _started(event, before, is_again=is_again)
        before = event


def _started(event: CoordinatorStarted, before: CoordinatorEvent | None, *, is_again: bool) -> str:
    if before is None or before.node_id != event.node_id:
        return "the coordinator started again" if is_again else "the coordinator started"
    if isinstance(before, CoordinatorStopped):
        return f"the coordinator started again, {duration(max(0, event.time_ms - before.time_ms))} after its stop"
    return "the coordinator started again: it had ended without a stop, so it is unknown for how long it was away"


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
        yield f"Nothing was heard of {names.listed(silent)} since that start, with which {theirs} began again."


def _start_of_session(history: GroupHistory, removal: Removal) -> int | None:
    """The start of the coordinator with which the session of a removed member began again, if nothing was heard since.

    It ends one session timeout later; twice that is for a coordinator that is slow to start.
    """
    if removal.last_heard_ms is not None:
        return None
    earliest_ms = removal.at_ms - 2 * (removal.session_timeout_ms or 0)
    starts = (each.time_ms for each in history.coordinator_events if isinstance(each, CoordinatorStarted))
    return max((at_ms for at_ms in starts if earliest_ms <= at_ms <= removal.at_ms), default=None)
