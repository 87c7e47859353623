"""Puts faults into the dispatch table, and takes them out again: without one the table is as it was made."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import GeneratorType
from typing import Any, Protocol

from _wire.apis import APIS
from coordinator.faults.specs import FaultError, nearest
from coordinator.runtime.slices import at_once
from coordinator.server.dispatch import DispatchTable, Route
from coordinator.server.request_context import RequestContext


class Interceptor(Protocol):
    """A fault that wants to see the requests of an API."""

    def takes(self, request: Any, context: RequestContext) -> bool: ...

    def act(self, request: Any, context: RequestContext, proceed: Callable[[], Any]) -> Any: ...


class Interception:
    """The faults of each API, in the order in which they were installed."""

    def __init__(self, table: DispatchTable) -> None:
        self._table = table
        self._originals: dict[int, Route] = {}
        self._interceptors: dict[int, list[Interceptor]] = {}

    def check(self, api: str) -> int:
        """The key of a served API.

        Raises:
            FaultError: the server does not serve an API of this name.
        """
        served = {route.api.name: key for key, route in self._table.routes.items()}
        if api not in served:
            raise FaultError(f"no API {api!r} is served; {nearest(api, sorted(served))}")
        return APIS.named(api).key

    def install(self, api: str, interceptor: Interceptor) -> None:
        """Raises FaultError: the server does not serve an API of this name."""
        key = self.check(api)
        if key not in self._originals:
            original = self._originals[key] = self._table.routes[key]
            self._table.routes[key] = replace(original, handler=partial(self._handle, key))
        self._interceptors.setdefault(key, []).append(interceptor)

    def remove(self, api: str, interceptor: Interceptor) -> None:
        key = APIS.named(api).key
        self._interceptors[key].remove(interceptor)
        if not self._interceptors[key]:
            del self._interceptors[key]
            self._table.routes[key] = self._originals.pop(key)

    def _handle(self, key: int, request: Any, context: RequestContext) -> Any:
        handler = partial(_at_once, self._originals[key].handler)
        return _through(tuple(self._interceptors[key]), 0, handler, request, context)


def _at_once(handler: Callable[[Any, RequestContext], Any], request: Any, context: RequestContext) -> Any:
    """Handle a request without a break, so that a fault comes before or after all of it."""
    response = handler(request, context)
    return at_once(response) if isinstance(response, GeneratorType) else response


def _through(
    interceptors: tuple[Interceptor, ...],
    first: int,
    handler: Callable[[Any, RequestContext], Any],
    request: Any,
    context: RequestContext,
) -> Any:
    """Pass a request through the interceptors from the `first` on, then to the handler."""
    for position in range(first, len(interceptors)):
        if interceptors[position].takes(request, context):
            proceed = partial(_through, interceptors, position + 1, handler, request, context)
            return interceptors[position].act(request, context, proceed)
    return handler(request, context)
