"""What a request passes before its handler: authorize, throttle, and the steps that tests add.

The steps are composed, not tested with each request: a route is kept with its handler behind those that are switched on
for it, and as long as none is, that is the handler itself. The way out is in `connection.pyx`: a response is converted
to its version, gets its throttle time while it is encoded, and is measured.
"""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from coordinator.front.dispatch import DispatchTable, Handler, Route, ServedApi
from coordinator.front.throttling import Throttling
from coordinator.groups.sessions import SessionTable

Step = Callable[[Route, Handler], Handler]
"""(route, what comes next) → the handler with the step before it; what comes next itself, where the step is off."""


class RequestChain:
    """The served routes, with the steps before their handlers. `routes` is read with each request."""

    def __init__(
        self,
        table: DispatchTable,
        sessions: SessionTable,
        throttling: Throttling,
        authorization: Step | None = None,
    ) -> None:
        """`sessions` is what connections answer heartbeats from, as long as no step has to see them.

        Without an `authorization` everything is allowed.
        """
        self.routes: Final[dict[int, Route]] = {}
        """Those whose handlers are made; `route` makes those of the others."""
        self.served: Final[Mapping[int, ServedApi]] = table.served
        self._table = table
        self._sessions = sessions
        self._throttling = throttling
        self._steps: list[Step] = [throttling.step]
        if authorization is not None:
            self._steps.insert(0, authorization)
            sessions.asks_authorizer = True
        self._has_added = False
        throttling.on_switch(self.compose)
        self.compose()

    def add(self, step: Step) -> None:
        """Put a step between the others and the handlers; from now on it sees all heartbeats.

        It is asked again, whether it is on, at each `compose`.
        """
        self._steps.append(step)
        self._has_added = True
        self.compose()

    def route(self, api_key: int) -> Route | None:
        """The route of an API, None if it is not served. Its handlers are made, if they are not yet."""
        if api_key not in self.routes:
            self._table.load(api_key)
            for loaded in self._table.routes.keys() - self.routes.keys():
                self._compose_route(loaded)
        return self.routes.get(api_key)

    def compose(self) -> None:
        """Compose all routes again: a step was switched on or off."""
        for api_key in self._table.routes:
            self._compose_route(api_key)
        self._sessions.leaves_heartbeats = self._throttling.times_requests or self._has_added
        self._sessions.leaves_requests = self._throttling.is_active

    def compose_route(self, api_key: int) -> None:
        """Compose the route of one API again: a step was switched on or off for it alone."""
        if api_key in self.routes:  # else it is composed when its handlers are made
            self._compose_route(api_key)

    def _compose_route(self, api_key: int) -> None:
        route = self._table.routes[api_key]
        handler = route.handler
        for step in reversed(self._steps):
            handler = step(route, handler)
        self.routes[api_key] = route if handler is route.handler else msgspec.structs.replace(route, handler=handler)
