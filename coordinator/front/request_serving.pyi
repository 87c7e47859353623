from collections.abc import Callable, Mapping
from typing import Any, Final

from coordinator.core.decision import Environment
from coordinator.front.connection import Connection
from coordinator.front.dispatch import Handler, Route
from coordinator.front.request_chain import RequestChain
from coordinator.front.request_context import RequestContext

CLIENT_ID_CHARACTERS_MAX: Final = 1_024
"""What counts of a client id. It is part of member ids, which are kept several times, and may have 32 KiB."""

class RequestServing:
    """Decodes requests and has their handlers called; what is rejected or long is its subclass's."""

    routes: Final[Mapping[int, Route]]
    """What is served now, as far as its handlers are made."""
    route: Final[Callable[[int], Route | None]]
    """API key → the route of an API, None if it is not served."""
    _run: Final[Callable[[Handler, Any, RequestContext], None]]
    _environment: Final[Environment]
    _elements_max: Final[int]

    def __init__(
        self, chain: RequestChain, run: Callable[[Handler, Any, RequestContext], None], environment: Environment
    ) -> None: ...
    def _serve(self, connection: Connection, frame: bytes) -> None: ...
