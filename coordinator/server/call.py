"""One request under way, as its handler sees it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coordinator.server.connection import Connection
    from coordinator.server.dispatch import Route


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A listener, by what it tells clients to connect to."""

    name: str
    host: str
    port: int


@dataclass(slots=True)
class Call:
    """Who asks what, and in which version. `client_host` is written as Kafka writes it: a slash and the address."""

    connection: "Connection"
    route: "Route"
    request: Any
    api_version: int
    correlation_id: int
    client_id: str
    request_id: int = 0
    """Given when the answer comes later."""

    @property
    def client_host(self) -> str:
        return self.connection.client_host

    @property
    def endpoint(self) -> Endpoint:
        return self.connection.endpoint
