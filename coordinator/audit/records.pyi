from typing import Any

from coordinator.audit.group_trail import GroupTrail
from coordinator.audit.schema import AuditEvent, Record

class RecordWriter:
    """Writes the audit events of one coordinator: a node in one epoch."""

    def __init__(self, node_id: int, coordinator_epoch: int) -> None: ...
    def record(
        self,
        event_class: type[AuditEvent],
        group_id: str,
        trail: GroupTrail,
        time_ms: int,
        state_before: str,
        generation_id_before: int,
        state: str,
        generation_id: int,
        said: dict[str, Any],
    ) -> Record:
        """Key, value and headers of the group's next event, whose own fields are `said`, in the order of its struct.

        A field that is a struct may be any object with that struct's attributes. Raises TypeError for fields that the
        event does not have.
        """
