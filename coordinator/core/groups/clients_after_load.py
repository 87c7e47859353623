"""Learns again who the client of a member is: a load leaves that unknown, and the client has said it on its connection.

Kafka has no counterpart: it does not keep what clients say of themselves.
"""

from collections.abc import Mapping
from typing import Any

from coordinator.core.decision import OperationContext
from coordinator.core.groups.events import ClientSeen


def client_seen(
    group_id: str, members: Mapping[str, Any], member_id: str, context: OperationContext
) -> tuple[ClientSeen, ...]:
    """The event of the first request of a member since its group was loaded; none of a later one."""
    member = members.get(member_id)
    if member is None or member.client_connection is not None or context.client_connection is None:
        return ()
    seen = ClientSeen(
        group_id=group_id,
        at_ms=context.wall_ms,
        member_id=member_id,
        client_details=context.client_details,
        client_connection=context.client_connection,
    )
    return (seen,)
