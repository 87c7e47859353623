"""Where something about a group was seen."""

from coordinator.audit.schema.observed import Place, Source

__all__ = ["Place", "Source"]
