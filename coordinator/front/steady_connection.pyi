from coordinator.front.buffered_connection import BufferedConnection
from coordinator.front.request_context import Endpoint, RequestContext

class SteadyConnection(BufferedConnection):
    """A connection that handles in C what takes no message."""

    endpoint: Endpoint
    serial: int
    """No other connection of the process has or had it."""
    software: tuple[str, str]
    """Name and version of the client, as it said with ApiVersions (KIP-511); both empty if it did not."""
    call: RequestContext | None
