"""Who may do what: resources and operations as in Kafka's authorizer, and what a route needs of them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any, Final, NamedTuple, Protocol

from _wire.errors import ErrorCode
from coordinator.security.principal import Principal

CLUSTER_NAME: Final = "kafka-cluster"
"""The name of the only resource of type CLUSTER (`Resource.CLUSTER_NAME`)."""


class ResourceType(IntEnum):
    """The numbers are those of the protocol."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5

    @property
    def denied(self) -> ErrorCode:
        """The error of a resource on which an operation is not allowed."""
        return DENIED[self]


DENIED: Final = {
    ResourceType.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ResourceType.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ResourceType.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ResourceType.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}


class AclOperation(IntEnum):
    """The numbers are those of the protocol, and the bits of authorized operations in responses (KIP-430)."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


def as_bits(operations: Iterable[AclOperation]) -> int:
    """Operations as responses report them (KIP-430)."""
    return sum(1 << operation for operation in operations)


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


ALLOW_ALL: Final[Authorizer] = AllowAll()

Names = Callable[[Any, int], Iterable[str | bytes]]
"""(request, its version) → the names of the resources that it is about; 16 bytes stand for the id of a topic."""


class WhenDenied(Enum):
    """What becomes of a request that needs a resource on which the operation is not allowed."""

    REJECT_REQUEST = "the whole request is answered with the error"
    ANSWER_EACH = "each such resource is answered with the error, the others are served"
    LEAVE_OUT = "such resources are left out of the response"


class Permission(NamedTuple):
    """An operation on the cluster, or on any resource of another type."""

    operation: AclOperation
    resource_type: ResourceType


@dataclass(frozen=True, slots=True)
class Requirement:
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
