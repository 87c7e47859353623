"""The step of the request chain at which faults act: it is off for each API without a fault."""

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from _wire.apis import APIS
from coordinator.faults.specs import FaultError, nearest
from coordinator.front.dispatch import Handler, Route
from coordinator.front.request_chain import RequestChain
from coordinator.front.request_context import RequestContext


class Interceptor(Protocol):
    """A fault that wants to see the requests of an API."""

    def applies_to(self, request: Any, context: RequestContext) -> bool: ...

    def act(self, request: Any, context: RequestContext, proceed: Callable[[], Any]) -> Any: ...


class Interception:
    """The faults of each API, in the order in which they were installed."""

    def __init__(self, chain: RequestChain) -> None:
        self._chain = chain
        self._interceptors: dict[int, list[Interceptor]] = {}
        chain.add(self._step)

    def check(self, api: str) -> int:
        """The key of a served API.

        Raises:
            FaultError: the server does not serve an API of this name.
        """
        served = {served_api.name: key for key, served_api in self._chain.served.items()}
        if api not in served:
            raise FaultError(f"no API {api!r} is served; {nearest(api, sorted(served))}")
        return served[api]

    def install(self, api: str, interceptor: Interceptor) -> None:
        """Raises FaultError: the server does not serve an API of this name."""
        key = self.check(api)
        self._interceptors.setdefault(key, []).append(interceptor)
        self._chain.compose_route(key)

    def remove(self, api: str, interceptor: Interceptor) -> None:
        key = APIS.key_of(api)
        self._interceptors[key].remove(interceptor)
        if not self._interceptors[key]:
            del self._interceptors[key]
        self._chain.compose_route(key)

    def _step(self, route: Route, proceed: Handler) -> Handler:
        interceptors = self._interceptors.get(route.api.key)
        if not interceptors:
            return proceed
        return partial(_through, tuple(interceptors), 0, proceed)


def _through(
    interceptors: tuple[Interceptor, ...],
    first: int,
    handler: Handler,
    request: Any,
    context: RequestContext,
) -> Any:
    """Pass a request through the interceptors from the `first` on, then to the handler."""
    for position in range(first, len(interceptors)):
        if interceptors[position].applies_to(request, context):
            proceed = partial(_through, interceptors, position + 1, handler, request, context)
            return interceptors[position].act(request, context, proceed)
    return handler(request, context)
