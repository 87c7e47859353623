from typing import Any

from coordinator.audit.group_state import GroupAuditState
from coordinator.audit.schema import AuditEvent, Record

class RecordWriter:
    """Writes the audit events of one coordinator, which is a node in one leader epoch."""

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
        """Make key, value and headers of the next event of the group. `fields` must be in the order of its struct.

        The event gets the next `seq` of `audit_state`. The value of a struct field may be any object with the
        attributes of that struct.

        Raises:
            TypeError: the event has other fields, or a value has a type that JSON does not have.
        """
