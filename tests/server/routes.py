"""The routes of a server, with the handlers that it makes for their first requests."""

from unittest.mock import MagicMock

from coordinator.server.api_table import dispatch_table
from coordinator.server.dispatch import DispatchTable, Route


def served() -> DispatchTable:
    """All that a server serves; the handlers are listed, none of them is called."""
    table = dispatch_table(MagicMock())
    for api_key in table.served:
        table.load(api_key)
    return table


def routes() -> tuple[Route, ...]:
    return tuple(served().routes.values())
