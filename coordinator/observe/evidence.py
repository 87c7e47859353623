"""Events of a group with the places where each was seen."""

import msgspec

from coordinator.audit.schema import AuditEvent
from coordinator.observe.places import Place


class ObservedEvent(msgspec.Struct, frozen=True):
    """An event and its evidence."""

    event: AuditEvent
    places: tuple[Place, ...]
    is_inferred: bool = False
    """It follows from what was seen, and no line or record says it."""
