"""Who may do what: resources and operations as in Kafka's authorizer, and what a route needs of them."""

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from coordinator.security.acls.model import AclOperation, ResourceType
from coordinator.security.principal import Principal


class Authorizer(Protocol):
    """Decides about operations (`org.apache.kafka.server.authorizer`), in the event loop: it must not wait."""

    def authorize(
        self, principal: Principal, client_host: str, operation: AclOperation, resource_type: ResourceType, name: str
    ) -> bool:
        """Whether the operation on this resource is allowed. `client_host` is a slash and an address."""

    def authorize_by_resource_type(
        self, principal: Principal, client_host: str, operation: AclOperation, resource_type: ResourceType
    ) -> bool:
        """Whether the operation is allowed on any resource of this type."""

    def decisions(self, principal: Principal, client_host: str) -> Mapping[tuple[int, str | None], bool]:
        """What is known to be allowed or denied to a client: (`question_of`, name of the resource) → decision."""

    def rule(
        self, principal: Principal, client_host: str, operation: AclOperation, resource_type: ResourceType, name: str
    ) -> object:
        """What decides about an operation, as text for the log."""

    def on_change(self, changed: Callable[[], None]) -> None:
        """Call this after each change of what is allowed."""


class AllowAll:
    """The authorizer of a server without one (`authorizer.class.name` is empty): routes do not ask it."""

    def authorize(
        self, principal: Principal, client_host: str, operation: AclOperation, resource_type: ResourceType, name: str
    ) -> bool:
        return True

    def authorize_by_resource_type(
        self, principal: Principal, client_host: str, operation: AclOperation, resource_type: ResourceType
    ) -> bool:
        return True

    def decisions(self, principal: Principal, client_host: str) -> Mapping[tuple[int, str | None], bool]:
        return {}

    def rule(
        self, principal: Principal, client_host: str, operation: AclOperation, resource_type: ResourceType, name: str
    ) -> object:
        return "AllowAll"

    def on_change(self, changed: Callable[[], None]) -> None:
        """Nothing ever changes."""


ALLOW_ALL: Final[Authorizer] = AllowAll()

Names = Callable[[Any, int], Iterable[str | bytes]]
"""(request, its version) → the names of the resources that it is about; 16 bytes stand for the id of a topic."""


class WhenDenied(Enum):
    """What becomes of a request that needs a resource on which the operation is not allowed."""

    REJECT_REQUEST = "the whole request is answered with the error"
    REJECT_RESOURCES = "each such resource is answered with the error, the others are served"
    LEAVE_OUT = "such resources are left out of the response"


class Permission(NamedTuple):
    """An operation on the cluster, or on any resource of another type."""

    operation: AclOperation
    resource_type: ResourceType


class Requirement(msgspec.Struct, frozen=True):
    """What a route needs to be allowed, on each resource that `names` finds in the request.

    Without `names` it is about the resources that the handler finds for the response, as those of a list. One of the
    `alternatives` replaces it for all resources.
    """

    operation: AclOperation
    resource_type: ResourceType
    names: Names | None
    when_denied: WhenDenied = WhenDenied.REJECT_REQUEST
    alternatives: tuple[Permission, ...] = ()
    only_missing: bool = False
    """It is only about resources that do not exist: those that the request would create."""


NOTHING: Final[tuple[Requirement, ...]] = ()
"""For APIs that anybody may use."""
