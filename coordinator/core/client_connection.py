"""A connection of a client, as far as groups remember it."""

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

DENIALS_KEPT: Final = 100
"""How many of the newest denials of a connection are remembered."""
MEMBERS_KEPT: Final = 100
"""How many members, the newest, a connection remembers. A client has one, or some after it joined again and again."""


class DeniedRequest(NamedTuple):
    """A request that was refused, and when, in ms."""

    at_ms: int
    api: str


class Denials(msgspec.Struct):
    """Requests of a client that the authorizer refused for one missing right, at most `DENIALS_KEPT`, the newest."""

    operation: str
    resource_type: str
    resource_name: str
    requests: deque[DeniedRequest]

    def since(self, time_ms: int) -> list[DeniedRequest]:
        """Those after a time."""
        return [request for request in self.requests if request.at_ms > time_ms]


class Rejection(NamedTuple):
    """The last heartbeat over a connection that was answered with an error, by name, and when, in ms."""

    member_id: str
    error: str
    at_ms: int


class ClientConnection:
    """A connection by which a client asks about groups. It is part of no group: the server closes it.

    Times are those of deadlines, in milliseconds.
    """

    __slots__ = (
        "closed_ms",
        "denials",
        "is_open",
        "members",
        "muted_from_ms",
        "muted_until_ms",
        "rejection",
        "when_closed",
    )

    def __init__(self) -> None:
        self.is_open = True
        self.closed_ms: int | None = None
        """When it was seen that the client's side closed it; None: it is open, or the coordinator gave it up."""
        self.denials: Denials | None = None
        """The last requests of it that were refused because a right on a group is missing."""
        self.rejection: Rejection | None = None
        self.members: dict[tuple[str, str], None] = {}
        """Group and member id of those that came by it, oldest first."""
        self.when_closed: Callable[[], None] | None = None
        """Called when it is closed; None: nobody but its members needs to know (share sessions end with it)."""
        self.muted_from_ms = self.muted_until_ms = 0
        """The last throttle time, in which nothing was read from it; 0: there was none."""

    def close(self, closed_ms: int | None) -> None:
        self.is_open, self.closed_ms = False, closed_ms
        if self.when_closed is not None:
            self.when_closed()

    def carry(self, group_id: str, member_id: str) -> None:
        """A member came by it: when it closes, its next heartbeat comes by another one."""
        self.members[group_id, member_id] = None
        if len(self.members) > MEMBERS_KEPT:
            del self.members[next(iter(self.members))]

    def deny(self, api: str, operation: str, resource_type: str, resource_name: str, now_ms: int) -> None:
        """A request of it was refused."""
        newest = self.denials
        if newest is None or (newest.operation, newest.resource_name) != (operation, resource_name):
            requests = deque[DeniedRequest](maxlen=DENIALS_KEPT)
            newest = self.denials = Denials(operation, resource_type, resource_name, requests)
        newest.requests.append(DeniedRequest(now_ms, api))

    def reject(self, member_id: str, error: str, now_ms: int) -> None:
        """A heartbeat of it was answered with an error."""
        self.rejection = Rejection(member_id, error, now_ms)

    def mute(self, from_ms: int, until_ms: int) -> None:
        """Nothing is read from it in this time (KIP-219). Throttle times that follow each other are one."""
        if from_ms > self.muted_until_ms:
            self.muted_from_ms = from_ms
        self.muted_until_ms = until_ms
