"""What is known of the client behind a member beside its client id and its host."""

from typing import Final, NamedTuple

from coordinator.core.attributes import attribute


class ClientDetails(NamedTuple):
    """What a client said and proved of itself. It is not stored with its member, so a load leaves it unknown."""

    software_name: str = ""
    software_version: str = ""
    """What it sent with ApiVersions (KIP-511); empty if it sent nothing."""
    principal: str = ""
    """TYPE:NAME; empty if its listener authenticated nobody."""


UNKNOWN_CLIENT: Final = ClientDetails()


class KnowsClient:
    """What has `client_details`, with the names that its audit events have."""

    __slots__ = ()
    client_details: ClientDetails

    client_software_name = attribute("client_details.software_name")
    client_software_version = attribute("client_details.software_version")
    principal = attribute("client_details.principal")
