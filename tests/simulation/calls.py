"""Requests to the APIs of the data path and of transactions, by the product's routes and handlers, without a socket."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from _wire.errors import ErrorCode
from _wire.structs import Message
from coordinator.front.connection import Connection
from coordinator.front.request_context import Endpoint, RequestContext
from coordinator.security.principal import ANONYMOUS

if TYPE_CHECKING:
    from tests.simulation.world_server import WorldServer

ENDPOINT: Final = Endpoint("PLAINTEXT", "127.0.0.1", 9092)
CLIENT_HOST: Final = "/127.0.0.1"


class Ask(NamedTuple):
    """A request that a client is about to send."""

    message: Message
    version: int


class Lost:
    """In place of a response that did not come: the connection broke, or the client gave up waiting."""

    def __repr__(self) -> str:
        return "LOST"


LOST: Final = Lost()


class Call:
    """A request on a connection of its own. It has at most one response."""

    principal = ANONYMOUS
    endpoint = ENDPOINT
    software = "", ""
    client_connection = None
    charge = None

    def __init__(self, server: "WorldServer", ask: Ask, client_id: str, on_error: Callable[[ErrorCode], None]) -> None:
        """`on_error` is called with what a handler reports of the request as a whole."""
        self._server = server
        self._on_error = on_error
        self.ask = ask
        self.response: Any = None
        """None until it comes; LOST when it will not."""
        self.on_close: Callable[[], None] | None = None
        route = server.node.front.path.chain.route(ask.message.API_KEY)
        assert route is not None, ask.message
        self.context = RequestContext(
            None,
            ask.version,
            client_id,
            CLIENT_HOST,
            server.environment,
            0,
            0,
            cast(Connection, self),
            route,
            ask.message,
            0,
        )
        self._run()

    def _run(self) -> None:
        route = self.context.route
        self._server.node.front.path.runner.run(route.handler, self.ask.message, self.context)

    def send_response(self, response: Any) -> None:
        if self.response is LOST:
            return
        assert self.response is None, f"{self.context.route.api.name} is answered twice"
        self.response = response

    def send_error_response(self, error: ErrorCode) -> None:
        self._on_error(error)
        self.send_response(self.context.route.error_response(self.ask.message, error, self.ask.version))

    def reject(self, reason: str) -> None:
        raise AssertionError(f"the connection is closed: {reason}")

    def lose(self) -> None:
        """The connection breaks; the server may have handled the request or not, and perhaps still does."""
        if self.response is None:
            self.response = LOST
            if self.context.request_id is not None:
                self._server.pending.forget(self.context.request_id)
            if self.on_close is not None:
                self.on_close()

    def server_died(self) -> None:
        if self.response is None:
            self.response = LOST
