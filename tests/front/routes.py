"""The routes of a server, with the handlers that it makes for their first requests."""

from typing import Any
from unittest.mock import MagicMock

from coordinator.front.dispatch import DispatchTable, Handler, Route
from coordinator.front.request_context import RequestContext
from coordinator.node.api_table import dispatch_table


def served() -> DispatchTable:
    """All that a server serves; the handlers are listed, none of them is called."""
    table = dispatch_table(MagicMock())
    for api_key in table.served:
        table.load(api_key)
    return table


def routes() -> tuple[Route, ...]:
    return tuple(served().routes.values())


def noting(passed: list[str], name: str, proceed: Handler) -> Handler:
    """A handler that notes its name, and proceeds."""

    def note(request: Any, call: RequestContext) -> Any:
        passed.append(name)
        return proceed(request, call)

    return note
