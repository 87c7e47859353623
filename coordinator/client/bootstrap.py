"""Where a cluster is reached, and what its clients prove of themselves there."""

from typing import Final

import msgspec

from coordinator.client.security import ClientSecurity

PLAINTEXT_CLIENT: Final = ClientSecurity({})


class Bootstrap(msgspec.Struct, frozen=True):
    """HOST:PORT of a server, or several with commas, and the security settings for all servers of the cluster.

    Its text is the address.
    """

    address: str
    security: ClientSecurity = PLAINTEXT_CLIENT

    def __str__(self) -> str:
        return self.address

    def at(self, address: str) -> "Bootstrap":
        """Another server of the cluster."""
        return msgspec.structs.replace(self, address=address)

    def servers(self) -> "list[Bootstrap]":
        """Each of the servers."""
        return [self.at(address.strip()) for address in self.address.split(",")]


Server = Bootstrap | str
"""A text alone is the address of a server without encryption and without a login."""


def bootstrap_of(server: Server) -> Bootstrap:
    return Bootstrap(server) if isinstance(server, str) else server
