"""The fields of an audit event before they are written."""

from typing import Any

from coordinator.core.groups.connection_at_removal import ConnectionAtRemoval

Fields = dict[str, Any]
"""The fields of an event without those of the envelope, in the order of its struct.

A member may be a `AuditedMember`, or any object with the attributes of `schema.MemberRef`. In a list of
`schema.MemberSnapshot`, a `AuditedMember` stands for its snapshot.
"""


def connection_fields(
    connection: ConnectionAtRemoval, coordinator_paused_ms: int | None, has_synced: bool | None = None
) -> Fields:
    """What `member.removed` tells of the connection of the member, and whether it asked for its last assignment."""
    return {
        "connection_open": connection.is_open,
        "connection_closed_ms": connection.closed_ms,
        "coordinator_paused_ms": coordinator_paused_ms,
        "connection_closed_in_pause_ms": connection.closed_in_pause_ms,
        "connection_muted_ms": connection.muted_ms,
        "denied": connection.denied,
        "rejected": connection.rejected,
        "rejected_ms": connection.rejected_ms,
        "heard_late_ms": connection.heard_late_ms,
        "has_synced": has_synced,
    }
