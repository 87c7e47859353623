"""Learns again who the client of a member is: a load leaves that unknown, and a client that lost its connection comes
by another one.

Kafka has no counterpart: it does not keep what clients say of themselves.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from coordinator.core.decision import Decision, OperationContext
from coordinator.core.groups.events import ClientSeen


def client_seen(
    group_id: str, members: Mapping[str, Any], member_id: str, context: OperationContext
) -> tuple[ClientSeen, ...]:
    """The event of the first request of a member since its group was loaded, or by another connection than before."""
    member, connection = members.get(member_id), context.client_connection
    if member is None or connection is None or member.client_connection is connection:
        return ()
    seen = ClientSeen(
        group_id=group_id,
        at_ms=context.wall_ms,
        member_id=member_id,
        client_details=context.client_details,
        client_connection=connection,
    )
    return (seen,)


def quiet(decision: Decision) -> Decision:
    """The decision about a heartbeat: no step of the group follows from who its client is."""
    return msgspec.structs.replace(decision, no_step_follows=True) if decision.events else decision
