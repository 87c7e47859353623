"""The connections that clients of a node's own port have to a broker: one behind each, made with the first use."""

from collections.abc import Callable

from coordinator.cluster.relay.upstream_connection import UpstreamConnection
from coordinator.front.connection import Connection
from coordinator.front.request_context import RequestContext


class ClientUpstreams:
    """By the connection of the client."""

    def __init__(self, make: Callable[[], UpstreamConnection | None]) -> None:
        """`make` makes a connection to some broker; None: none is known."""
        self._make = make
        self._upstreams: dict[int, UpstreamConnection] = {}
        """Serial number of a connection → its connection to a broker."""

    def of(self, connection: Connection) -> UpstreamConnection | None:
        """None: no broker is known."""
        upstream = self._upstreams.get(connection.serial)
        if upstream is None:
            upstream = self._make()
            if upstream is not None:
                self._upstreams[connection.serial] = upstream
        return upstream

    def ask(self, call: RequestContext, frame: bytes, answered: Callable[[bytes | None], None]) -> None:
        """Send a request of this node to the broker of a client, in its name.

        The answer is None if the broker is lost, or the request was not sent as too many wait for their answers.
        """
        upstream = self.of(call.connection)
        if upstream is None:
            answered(None)
        else:
            upstream.request(frame, answered)

    def closed(self, connection: Connection) -> None:
        """The client has disconnected."""
        upstream = self._upstreams.pop(connection.serial, None)
        if upstream is not None:
            upstream.close()
