"""Who sends a request (Kafka's KafkaPrincipal)."""

from typing import Final, NamedTuple

USER_TYPE: Final = "User"
"""The type of all principals that a listener makes (KafkaPrincipal.USER_TYPE)."""


class Principal(NamedTuple):
    """Who sends a request. The text is that of ACLs and `super.users`: TYPE:NAME."""

    principal_type: str
    name: str

    def __str__(self) -> str:
        return f"{self.principal_type}:{self.name}"


ANONYMOUS: Final = Principal(USER_TYPE, "ANONYMOUS")
"""Clients of a listener that authenticates nobody (KafkaPrincipal.ANONYMOUS)."""
