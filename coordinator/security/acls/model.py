"""What ACLs consist of: resources, operations, and the ACLs themselves (`org.apache.kafka.common.acl`)."""

from collections.abc import Iterable
from enum import IntEnum
from typing import Final, NamedTuple

from _wire.errors import ErrorCode

CLUSTER_NAME: Final = "kafka-cluster"
"""The name of the only resource of type CLUSTER (`Resource.CLUSTER_NAME`)."""
WILDCARD: Final = "*"
"""As a name, any resource of a type; as a host, any address."""
WILDCARD_PRINCIPAL: Final = "User:*"
"""Any principal."""


class ResourceType(IntEnum):
    """The numbers are those of the protocol."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7

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


class PatternType(IntEnum):
    """How the name of an ACL is compared with that of a resource."""

    LITERAL = 3
    PREFIXED = 4


class AclOperation(IntEnum):
    """The numbers are those of the protocol, and the bits of authorized operations in responses (KIP-430)."""

    ALL = 2
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
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class PermissionType(IntEnum):
    """What an ACL does with the operation."""

    DENY = 2
    ALLOW = 3


IMPLIED_BY: Final = {
    AclOperation.DESCRIBE: (AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER),
    AclOperation.DESCRIBE_CONFIGS: (AclOperation.ALTER_CONFIGS,),
}
"""Operation → those whose ALLOW also allows it. A DENY implies nothing (`StandardAuthorizerData`)."""


class Acl(NamedTuple):
    """An ACL (`AclBinding`). The numbers are those of the protocol, as a million ACLs have no enum each."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int

    def __str__(self) -> str:
        """As the log of Kafka's authorizer writes it."""
        return (
            f"StandardAcl(resourceType={ResourceType(self.resource_type).name}, resourceName={self.resource_name}, "
            f"patternType={PatternType(self.pattern_type).name}, principal={self.principal}, host={self.host}, "
            f"operation={AclOperation(self.operation).name}, "
            f"permissionType={PermissionType(self.permission_type).name})"
        )


def question_of(operation: AclOperation, resource_type: ResourceType) -> int:
    """A number for an operation on a type of resource, by which decisions are kept."""
    return operation << 8 | resource_type


def as_bits(operations: Iterable[AclOperation]) -> int:
    """Operations as responses report them (KIP-430)."""
    return sum(1 << operation for operation in operations)


SUPPORTED_OPERATIONS: Final = {
    ResourceType.TOPIC: frozenset(
        {
            AclOperation.READ,
            AclOperation.WRITE,
            AclOperation.CREATE,
            AclOperation.DELETE,
            AclOperation.ALTER,
            AclOperation.DESCRIBE,
            AclOperation.DESCRIBE_CONFIGS,
            AclOperation.ALTER_CONFIGS,
        }
    ),
    ResourceType.GROUP: frozenset(
        {
            AclOperation.READ,
            AclOperation.DELETE,
            AclOperation.DESCRIBE,
            AclOperation.DESCRIBE_CONFIGS,
            AclOperation.ALTER_CONFIGS,
        }
    ),
    ResourceType.CLUSTER: frozenset(
        {
            AclOperation.CREATE,
            AclOperation.ALTER,
            AclOperation.DESCRIBE,
            AclOperation.CLUSTER_ACTION,
            AclOperation.DESCRIBE_CONFIGS,
            AclOperation.ALTER_CONFIGS,
            AclOperation.IDEMPOTENT_WRITE,
        }
    ),
}
"""What can be done with a resource of each type whose authorized operations are reported
(`AclEntry.supportedOperations`)."""
