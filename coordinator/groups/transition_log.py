"""One line of the server's log per state transition of a group."""

from collections.abc import Callable
from logging import INFO
from typing import Any, Final

from coordinator.core.classic.events import (
    GenerationStable,
    GenerationStarted,
    GroupEmptied,
    GroupRemoved,
    RebalanceStarted,
)
from coordinator.core.classic.group import ClassicGroup
from coordinator.core.classic.states import GroupState
from coordinator.core.event import Event
from coordinator.logger import logger


def _why_rebalance(event: RebalanceStarted) -> str:
    reason = event.rebalance_reason
    said = f": {reason.reason}" if reason.reason else ""
    return f"{reason.cause} by {reason.member_id or reason.client_id or 'nobody'}{said}"


REASONS: Final[dict[type, Callable[[Any], str]]] = {
    RebalanceStarted: _why_rebalance,
    GenerationStarted: lambda event: "join phase completed",
    GenerationStable: lambda event: "assignment stored",
    GroupEmptied: lambda event: "no members left",
    GroupRemoved: lambda event: event.cause,
}
"""By the class of the event that changed the state."""


def log_transition(event: Event, group: ClassicGroup, before: GroupState) -> None:
    """Log that an event has changed the state of a group, at level INFO (`--log-level`)."""
    if not logger.is_enabled_for(INFO):
        return
    logger.info(
        "group transition",
        group=group.group_id,
        before=before.value,
        after=group.state.value,
        generation=group.generation_id,
        reason=REASONS[type(event)](event),
    )
