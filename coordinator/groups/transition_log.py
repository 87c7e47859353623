"""Why the state of a group changed, as the line of the server's log has it (`decided_groups.pyx`)."""

from collections.abc import Callable
from typing import Any, Final

from coordinator.core.groups.events import GroupRemoved
from coordinator.core.kinds.table import KINDS

REASONS: Final[dict[type, Callable[[Any], str]]] = {GroupRemoved: lambda event: event.cause} | {
    event: reason for kind in KINDS.values() for event, reason in kind.events.transition_reasons.items()
}
"""By the class of the event that changed the state."""
