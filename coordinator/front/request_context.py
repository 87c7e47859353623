"""One request under way, as its handler sees it."""

from typing import TYPE_CHECKING, Any

import msgspec

from coordinator.core.client_connection import ClientConnection
from coordinator.core.client_details import ClientDetails
from coordinator.core.decision import OperationContext
from coordinator.security.principal import ANONYMOUS, Principal

if TYPE_CHECKING:
    from coordinator.front.connection import Connection
    from coordinator.front.dispatch import Route


class Endpoint(msgspec.Struct, frozen=True):
    """A listener, by what it tells clients to connect to."""

    name: str
    host: str
    port: int


class RequestContext(OperationContext):
    """The request, its version and its client. `client_host` is written as Kafka writes it: a slash and the address.

    `request_id` is None until the request is registered, because its response comes later.
    """

    connection: "Connection"
    route: "Route"
    request: Any
    correlation_id: int
    built_bytes: int = 0
    """About how much the response takes before it is encoded, if it is one that counts (`LargeAnswers`)."""

    is_repeatable: bool = False
    """Whether the answer may be kept, for clients with the same question, until `FrontHome.answers_version` changes."""

    @property
    def endpoint(self) -> Endpoint:
        return self.connection.endpoint

    @property
    def principal(self) -> Principal:
        return self.connection.principal

    @property
    def client_connection(self) -> ClientConnection:
        """Made with the first request that joins a group."""
        made = self.connection.client_connection
        if made is None:
            made = self.connection.client_connection = ClientConnection()
        return made

    @property
    def client_details(self) -> ClientDetails:
        principal = self.connection.principal
        is_anonymous = principal is ANONYMOUS or tuple(principal) == tuple(ANONYMOUS)
        return ClientDetails(*self.connection.software, "" if is_anonymous else str(principal))
