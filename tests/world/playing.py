"""Plays a history: in the end there is what really happened, and what the audit says."""

from collections.abc import Callable
from typing import NamedTuple

from coordinator.audit.schema import AuditEvent, CoordinatorEvent
from coordinator.explain.history import GroupHistory
from tests.simulation.instrumented import defects_of
from tests.simulation.reproducible import reproducible
from tests.world.actions import Actions
from tests.world.history import GROUP_ID, History
from tests.world.truth import Truth
from tests.world.world import World

Tell = Callable[[GroupHistory, int, World], None]
"""Called with what is known of the group at a time, in ms since the epoch, and with the world as it is then."""


class Played(NamedTuple):
    """A history that is over."""

    history: History
    truth: Truth
    events: list[AuditEvent | CoordinatorEvent]
    folded: GroupHistory
    begin_ms: int


def nothing(folded: GroupHistory, at_ms: int, world: World) -> None:
    """Nobody is told anything."""


def play(history: History, tell: Tell = nothing) -> Played:
    """Play a history to its end. `tell` is called at the times that it names, and at the end."""
    defects: list[BaseException] = []
    with defects_of(defects), reproducible():
        world = Actions(history)
        folded = GroupHistory(GROUP_ID)
        events: list[AuditEvent | CoordinatorEvent] = []
        for action in history.actions:
            world.plan(action)
        for at_ms in sorted({*history.reported_ms, history.until_ms}):
            world.run_until(world.begin_ms + at_ms)
            for event in world.server.new_events():
                events.append(event)
                if isinstance(event, CoordinatorEvent):
                    folded.note_coordinator(event)
                else:
                    folded.apply(event)
            tell(folded, world.now_ms, world)
            if defects:
                raise defects[0]
        world.finish()
    return Played(history, world.truth, events, folded, world.begin_ms)
