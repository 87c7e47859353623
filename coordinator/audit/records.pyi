from typing import Any

from coordinator.audit.group_state import GroupAuditState
from coordinator.audit.schema import AuditEvent, Record

class RecordWriter:
    """Writes the audit events of one coordinator: a node in one epoch."""

    def __init__(self, node_id: int, coordinator_epoch: int) -> None: ...
    def record(
        self,
        event_class: type[AuditEvent],
        group_id: str,
        audit_state: GroupAuditState,
        time_ms: int,
        state_before: str,
        generation_id_before: int,
        state: str,
        generation_id: int,
        fields: dict[str, Any],
    ) -> Record:
        """Key, value and headers of the group's next event, whose own `fields` come in the order of its struct.

        The event gets the next `seq` of `audit_state`. A field that is a struct may be any object with that struct's
        attributes.

        Raises:
            TypeError: the event has other fields, or a value is none that JSON has.
        """
