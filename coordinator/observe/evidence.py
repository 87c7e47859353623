"""Events of a group with the places where each was seen."""

from coordinator.audit.schema.observed import ObservedEvent

__all__ = ["ObservedEvent"]
