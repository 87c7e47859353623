"""What the core knows of the connections of clients: which are open, and when the others closed.

The system of a process that ends closes its connections at once. Those of a process that stands still, or of a host
that nobody can reach, stay open. So a member that became silent is told apart by its connection.
"""

from typing import Protocol

import msgspec

from coordinator.core.client_connection import ClientConnection
from coordinator.core.decision import OperationContext


class ConnectedMember(Protocol):
    """A member of either kind of group."""

    @property
    def member_id(self) -> str: ...
    @property
    def client_connection(self) -> ClientConnection | None: ...
    @property
    def answered_ms(self) -> int | None: ...
    @property
    def committed_ms(self) -> int | None: ...


class ConnectionAtRemoval(msgspec.Struct, frozen=True):
    """The connection of a member that is removed. Neither open nor closed at a known time: nothing is known of it."""

    is_open: bool | None = None
    closed_ms: int | None = None
    """When its client's side closed it, in wall-clock milliseconds."""
    closed_in_pause_ms: int | None = None
    """How long the pause of the coordinator was in which it may have been closed; None: it was closed in none."""


UNKNOWN = ConnectionAtRemoval()


def connection_at_removal(group_id: str, member: ConnectedMember, context: OperationContext) -> ConnectionAtRemoval:
    """The connection by which the member last sent JoinGroup or SyncGroup; in a consumer group, a heartbeat that
    changed what it may use.

    Unknown: the group was loaded since, the coordinator itself closed the connection, or the member was heard after it
    had closed, and so over another one.
    """
    connection = member.client_connection
    if connection is None:
        return UNKNOWN
    if connection.is_open:
        return ConnectionAtRemoval(is_open=True)
    if connection.closed_ms is None:
        return UNKNOWN
    environment = context.environment
    closed_ms = environment.wall.at(connection.closed_ms)
    renewed_ms = environment.sessions.last_renewed_ms(group_id, member.member_id)
    # The answer to a request that waited renews a session too, when its client may be gone.
    if renewed_ms is None or environment.wall.at(renewed_ms) == member.answered_ms:
        renewed_ms = connection.closed_ms
    # A producer commits for its consumer over a connection of its own, also while that waits for an answer.
    has_committed = member.committed_ms is not None and member.committed_ms > closed_ms
    if renewed_ms > connection.closed_ms or has_committed:
        return UNKNOWN
    return ConnectionAtRemoval(False, closed_ms, environment.pauses.around(connection.closed_ms))
