"""Which members are connected: those whose client has the connection open on which it last spoke for them."""

from collections.abc import Callable, Container
from typing import Any, Final

from coordinator.core.groups.membership import MemberView
from coordinator.faults.answers import raw_connection
from coordinator.front.dispatch import Handler, Route
from coordinator.front.request_context import RequestContext

SPEAKING: Final = (
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "OffsetCommit",
    "ConsumerGroupHeartbeat",
    "ShareGroupHeartbeat",
    "StreamsGroupHeartbeat",
)
"""APIs whose requests name the member that sends them."""
FORGET_FROM: Final = 1_000
"""How many members are remembered before those are forgotten whose connection is closed."""


class Presence:
    """Sees the requests of members pass."""

    def __init__(self, connections: Container[Any]) -> None:
        """`connections` are those that are open, always."""
        self._connections = connections
        self._spoke_on: dict[tuple[str, str], Any] = {}
        self._forget_from = FORGET_FROM

    def step(self, route: Route, proceed: Handler) -> Handler:
        """The step of the request chain that sees the requests pass."""
        return self._noting(proceed) if route.api.name in SPEAKING else proceed

    def is_connected(self, group_id: str, member: MemberView) -> bool:
        """Whether the client of a member is connected. A new member is not before its first generation."""
        return not member.is_new and self._spoke_on.get((group_id, member.member_id)) in self._connections

    def _noting(self, handler: Handler) -> Callable[[Any, RequestContext], Any]:
        def note(request: Any, context: RequestContext) -> Any:
            if request.member_id:
                self._spoke_on[request.group_id, request.member_id] = raw_connection(context.connection)
                if len(self._spoke_on) > self._forget_from:
                    self._forget()
            return handler(request, context)

        return note

    def _forget(self) -> None:
        self._spoke_on = {who: on for who, on in self._spoke_on.items() if on in self._connections}
        self._forget_from = max(FORGET_FROM, 2 * len(self._spoke_on))
