"""A coordinator of the test kit that carries out steady requests about records of share groups as a server does.

The test kit sees all requests: of its own it leaves all of them to their handlers.
"""

from typing import Any, Final

from coordinator.testing import Coordinator
from coordinator.testing.control import Control

SHARE_FETCH: Final = 78


class CountedShares:
    """Counts the requests that need no handler."""

    def __init__(self, steady: Any) -> None:
        self._steady = steady
        self.carried_out = 0

    def read(self, *arguments: Any) -> Any:
        request = self._steady.read(*arguments)
        self.carried_out += request is not None
        return request


def carry_out_steady_shares(server: Coordinator) -> CountedShares:
    """From now on, until it restarts, and count them."""

    def switch(control: Control) -> CountedShares:
        node = control.node
        chain, sessions = node.front.path.chain, node.groups.sessions
        chain.route(SHARE_FETCH)  # makes the handlers, and what comes before them
        chain._has_added = False
        chain.compose()
        sessions.shares = counted = CountedShares(sessions.shares)
        return counted

    return server._node.ask(switch).result()
