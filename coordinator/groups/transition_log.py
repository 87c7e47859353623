"""One line of the server's log per decision that changes the state of a group."""

from collections.abc import Callable
from logging import INFO
from typing import Any, Final

from coordinator.core.event import Event
from coordinator.core.groups.events import GroupRemoved
from coordinator.core.groups.membership import Membership
from coordinator.core.groups.states import GroupState
from coordinator.core.kinds.table import KINDS
from coordinator.logger import logger

REASONS: Final[dict[type, Callable[[Any], str]]] = {GroupRemoved: lambda event: event.cause} | {
    event: reason for kind in KINDS.values() for event, reason in kind.events.transition_reasons.items()
}
"""By the class of the event that changed the state."""


def log_transition(event: Event, group: Membership, before: GroupState) -> None:
    """Log that a decision has changed the state of a group, at level INFO (`--log-level`).

    `event` is the first of its events that changed the state: the others follow from it.
    """
    if not logger.is_enabled_for(INFO):
        return
    logger.info(
        "group transition",
        group=group.group_id,
        before=before._value_,  # `value` of an enum is looked up by several calls
        after=group.state._value_,
        generation=group.generation_id,
        reason=REASONS[type(event)](event),
    )
