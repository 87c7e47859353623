"""What a request passes before its handler: authorize, throttle, and the steps that tests add.

The steps are composed, not tested with each request: a route is kept with its handler behind those that are switched on
for it, and as long as none is, that is the handler itself. The way out is in `connection.pyx`: a response is converted
to its version, gets its throttle time while it is encoded, and is measured.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, Final

from coordinator.groups.sessions import SessionTable
from coordinator.server.authorization import (
    ALLOW_ALL,
    CLUSTER_NAME,
    Authorizer,
    Requirement,
    ResourceType,
    WhenDenied,
)
from coordinator.server.dispatch import DispatchTable, Handler, Route, refused
from coordinator.server.request_context import RequestContext
from coordinator.server.throttling import Throttling

Step = Callable[[Route, Handler], Handler]
"""(route, what comes next) → the handler with the step before it; what comes next itself, where the step is off."""


class RequestChain:
    """The served routes, with the steps before their handlers. `routes` is read with each request."""

    def __init__(
        self, table: DispatchTable, sessions: SessionTable, throttling: Throttling, authorizer: Authorizer = ALLOW_ALL
    ) -> None:
        """`sessions` is what connections answer heartbeats from, as long as no step has to see them."""
        self.routes: Final[dict[int, Route]] = {}
        self._table = table
        self._sessions = sessions
        self._throttling = throttling
        self._authorizer = authorizer
        self._steps: list[Step] = [authorization(authorizer), throttling.step]
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

    def compose(self) -> None:
        """Compose all routes again: a step was switched on or off."""
        for api_key in self._table.routes:
            self.compose_route(api_key)
        self._sessions.leaves_heartbeats = (
            self._authorizer is not ALLOW_ALL or self._throttling.times_requests or self._has_added
        )

    def compose_route(self, api_key: int) -> None:
        """Compose the route of one API again: a step was switched on or off for it alone."""
        route = self._table.routes[api_key]
        handler = route.handler
        for step in reversed(self._steps):
            handler = step(route, handler)
        self.routes[api_key] = route if handler is route.handler else replace(route, handler=handler)


def authorization(authorizer: Authorizer) -> Step:
    """Answers requests that need a resource as a whole on which their operation is not allowed.

    Resources that are answered one by one, or left out, are the business of their handlers.
    """

    def step(route: Route, proceed: Handler) -> Handler:
        needed = [each for each in route.requirements if each.when_denied is WhenDenied.REJECT_REQUEST]
        if authorizer is ALLOW_ALL or not needed:
            return proceed
        return partial(_authorize, authorizer, needed, proceed)

    return step


def _authorize(
    authorizer: Authorizer, needed: Iterable[Requirement], proceed: Handler, request: Any, call: RequestContext
) -> Any:
    for requirement in needed:
        assert requirement.names is not None, call.route.api.name
        for name in requirement.names(request, call.api_version):
            assert isinstance(name, str), call.route.api.name
            if not _is_allowed(authorizer, requirement, name, call):
                return refused(call, requirement.resource_type.denied)
    return proceed(request, call)


def _is_allowed(authorizer: Authorizer, requirement: Requirement, name: str, call: RequestContext) -> bool:
    principal, host = call.principal, call.client_host
    if authorizer.authorize(principal, host, requirement.operation, requirement.resource_type, name):
        return True
    return any(
        authorizer.authorize(principal, host, each.operation, each.resource_type, CLUSTER_NAME)
        if each.resource_type is ResourceType.CLUSTER
        else authorizer.authorize_by_resource_type(principal, host, each.operation, each.resource_type)
        for each in requirement.alternatives
    )
