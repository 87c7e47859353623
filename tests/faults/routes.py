"""The routes of a running server, as its faults compose them."""

from typing import Any

from coordinator.front.dispatch import Route
from coordinator.testing import Coordinator


def routes_of(server: Coordinator) -> list[Route]:
    """All of them, also of APIs whose handlers were not made yet."""

    def routes(control: Any) -> list[Route]:
        chain = control._node.front.path.chain
        return [chain.route(api_key) for api_key in chain.served]

    found: list[Route] = server._node.ask(routes).result()
    return found
