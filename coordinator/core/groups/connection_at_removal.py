"""What the core knows of the connections of clients: which are open, and when the others closed.

The system of a process that ends closes its connections at once. Those of a process that stands still, or of a host
that nobody can reach, stay open. So a member that became silent is told apart by its connection.
"""

from typing import Any, Final, Protocol

import msgspec

from _wire.errors import ErrorCode
from coordinator.core.client_connection import ClientConnection
from coordinator.core.decision import OperationContext
from coordinator.core.groups.group import Group

READ_AFTER_MS: Final = 100
"""What comes so soon after a throttle time may have waited in it."""


class ConnectedMember(Protocol):
    """A member of either kind of group."""

    @property
    def member_id(self) -> str: ...
    @property
    def client_connection(self) -> ClientConnection | None: ...
    @property
    def joined_ms(self) -> int | None: ...
    @property
    def answered_ms(self) -> int | None: ...
    @property
    def committed_ms(self) -> int | None: ...
    @property
    def client_id(self) -> str: ...
    @property
    def client_host(self) -> str: ...


class DeniedSince(msgspec.Struct, frozen=True):
    """Requests that were refused, from `since_ms` on (wall clock), as `schema.DeniedRequests` tells them."""

    api: str
    operation: str
    resource_type: str
    resource_name: str
    since_ms: int
    count: int


class ConnectionAtRemoval(msgspec.Struct, frozen=True):
    """The connection of a member that is removed. Neither open nor closed at a known time: nothing is known of it."""

    is_open: bool | None = None
    closed_ms: int | None = None
    """When its client's side closed it, in wall-clock milliseconds."""
    closed_in_pause_ms: int | None = None
    """How long the pause of the coordinator was in which it may have been closed; None: it was closed in none."""
    muted_ms: int | None = None
    """For how long of the member's silence nothing was read from it, because a quota was exceeded."""
    heard_late_ms: int | None = None
    """For how long what was heard last may have waited to be read, as nothing was read from it until just before."""
    rejected: str = ""
    """The error with which its last heartbeat in its silence, or commit amid a rebalance, was answered, if one came."""
    rejected_ms: int | None = None
    """When that was, in wall-clock milliseconds."""
    denied: DeniedSince | None = None
    """The requests in the member's silence that were refused because a right on its group is missing."""


UNKNOWN = ConnectionAtRemoval()
LIVES: Final = frozenset({ErrorCode.ILLEGAL_GENERATION, ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.UNKNOWN_MEMBER_ID})
"""How a commit is refused of a client that is a member, or was one."""
UNKNOWN_MEMBER: Final = ErrorCode.UNKNOWN_MEMBER_ID.name


def connection_at_removal(group_id: str, member: ConnectedMember, context: OperationContext) -> ConnectionAtRemoval:
    """The connection by which the member last sent JoinGroup or SyncGroup; in a consumer group, a heartbeat that
    changed what it may use.

    Unknown: the group was loaded since, the coordinator itself closed the connection, or the member was heard after it
    had closed, and so over another one.
    """
    connection = member.client_connection
    if connection is None:
        return UNKNOWN
    renewed_ms = context.environment.sessions.last_renewed_ms(group_id, member.member_id)
    found = _open_or_closed(connection, renewed_ms, member, context)
    if renewed_ms is None:  # since it joined
        renewed_ms = (member.joined_ms or 0) - context.environment.wall.step_ms
    muted_ms = None
    if not connection.is_open:  # its client may have another one since, by which nothing of the member was read yet
        throttled, who = context.environment.throttled, (member.client_id, member.client_host)
        muted_ms = throttled.since(*who, connection.closed_ms or renewed_ms, context.now_ms) or None
    if not (connection.denials or connection.muted_until_ms or connection.rejection):
        return found if muted_ms is None else msgspec.structs.replace(found, muted_ms=muted_ms)
    committed_ms = (member.committed_ms or 0) - context.environment.wall.step_ms
    return msgspec.structs.replace(
        found,
        muted_ms=muted_ms or _muted_since(renewed_ms, connection, context.now_ms),
        heard_late_ms=_waited_ms(max(renewed_ms, committed_ms), connection),
        denied=_denied_since(renewed_ms, connection, group_id, context),
        **_rejected_since(renewed_ms, connection, member.member_id, context),
    )


def _muted_since(renewed_ms: int, connection: ClientConnection, now_ms: int) -> int | None:
    """For how long nothing was read from a connection because of a quota: until it was closed, at most."""
    ended_ms = now_ms if connection.closed_ms is None else connection.closed_ms
    return max(0, min(connection.muted_until_ms, ended_ms) - max(connection.muted_from_ms, renewed_ms)) or None


def note_rejected(member_id: str, error: ErrorCode, context: OperationContext) -> None:
    """A heartbeat of a member was answered with an error: it renews no session, and its client may go other ways."""
    if context.client_connection is not None:
        context.client_connection.reject(member_id, error.name, context.now_ms)


def note_refused_commit(group: Group[Any] | None, member_id: str, error: ErrorCode, context: OperationContext) -> None:
    """A commit that is refused, and says that its client lives, though it renews no session.

    Of a member that waits for its assignment, or of one that is none any more. Where it comes by another connection
    than that by which the member joined, it is told with that one, too.
    """
    if error not in LIVES:
        return
    note_rejected(member_id, error, context)
    member = None if group is None else group.membership.members.get(member_id)
    connection = None if member is None else member.client_connection
    if connection is not None and connection is not context.client_connection:
        connection.reject(member_id, error.name, context.now_ms)


def rejected_as(context: OperationContext) -> str:
    """The member id that is none any more, as the connection of a request was told last; empty: it was told nothing.

    Who joins by that connection is the same client in the same process.
    """
    rejection = None if context.client_connection is None else context.client_connection.rejection
    return "" if rejection is None or rejection.error != UNKNOWN_MEMBER else rejection.member_id


def _rejected_since(
    renewed_ms: int, connection: ClientConnection, member_id: str, context: OperationContext
) -> dict[str, Any]:
    """The fields of the last heartbeat that was rejected after the last sign of the member."""
    found = connection.rejection
    if found is None or found.member_id != member_id or found.at_ms <= renewed_ms:
        return {}
    return {"rejected": found.error, "rejected_ms": context.environment.wall.at(found.at_ms)}


def last_sign_ms(heard_ms: int | None, member: ConnectedMember, context: OperationContext) -> int | None:
    """When a member was last heard, also by a heartbeat that was rejected. Wall-clock milliseconds."""
    connection = member.client_connection
    found = None if connection is None else connection.rejection
    if found is None or found.member_id != member.member_id:
        return heard_ms
    rejected_ms = context.environment.wall.at(found.at_ms)
    return rejected_ms if heard_ms is None else max(heard_ms, rejected_ms)


def connection_at_leave(context: OperationContext) -> ConnectionAtRemoval:
    """For how long the goodbye of a member waited at most, as nothing was read from its connection until just now."""
    connection = context.client_connection
    return UNKNOWN if connection is None else ConnectionAtRemoval(muted_ms=_waited_ms(context.now_ms, connection))


def _waited_ms(read_ms: int, connection: ClientConnection) -> int | None:
    """For how long at most what was read from a connection at a time had waited, because of a quota; None: it had not.

    A connection knows its last throttle time alone.
    """
    if not 0 <= read_ms - connection.muted_until_ms <= READ_AFTER_MS:
        return None
    return connection.muted_until_ms - connection.muted_from_ms or None


def heard_before(heard_ms: int | None, context: OperationContext) -> int | None:
    """When a member was heard before its request; when what waited with it had been sent is not known."""
    connection = context.client_connection
    if heard_ms is None or connection is None or not connection.muted_until_ms:  # as most are never muted
        return heard_ms
    muted_ms = _waited_ms(context.now_ms, connection)
    return heard_ms if muted_ms is None else min(heard_ms, context.wall_ms - muted_ms)


def _denied_since(
    renewed_ms: int, connection: ClientConnection, group_id: str, context: OperationContext
) -> DeniedSince | None:
    """What was refused after the last sign of the member."""
    found = connection.denials
    requests = [] if found is None or found.resource_name != group_id else found.since(renewed_ms)
    if found is None or not requests:
        return None
    first = requests[0]
    since_ms = context.environment.wall.at(first.at_ms)
    return DeniedSince(first.api, found.operation, found.resource_type, group_id, since_ms, len(requests))


def _open_or_closed(
    connection: ClientConnection, renewed_ms: int | None, member: ConnectedMember, context: OperationContext
) -> ConnectionAtRemoval:
    if connection.is_open:
        return ConnectionAtRemoval(is_open=True)
    if connection.closed_ms is None:
        return UNKNOWN
    environment = context.environment
    closed_ms = environment.wall.at(connection.closed_ms)
    # The answer to a request that waited renews a session too, when its client may be gone.
    if renewed_ms is None or environment.wall.at(renewed_ms) == member.answered_ms:
        renewed_ms = connection.closed_ms
    # A producer commits for its consumer over a connection of its own, also while that waits for an answer.
    has_committed = member.committed_ms is not None and member.committed_ms > closed_ms
    if renewed_ms > connection.closed_ms or has_committed:
        return UNKNOWN
    joined_ms = (member.joined_ms or 0) - environment.wall.step_ms
    return ConnectionAtRemoval(False, closed_ms, environment.pauses.around(connection.closed_ms, joined_ms))


def heard_until(heard_ms: int | None, connection: ConnectionAtRemoval) -> int | None:
    """When a member was last heard: not after its connection closed, though the answer to a waiting request renewed
    its session. Wall-clock milliseconds."""
    if heard_ms is None or connection.is_open is not False or connection.closed_ms is None:
        return heard_ms
    return min(heard_ms, connection.closed_ms)
