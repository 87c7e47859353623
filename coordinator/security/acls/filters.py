"""Filters of DescribeAcls and DeleteAcls, and which ACLs may be created (`AclBindingFilter`, `AclControlManager`)."""

from typing import Final

import msgspec

from coordinator.security.acls.model import (
    CLUSTER_NAME,
    WILDCARD,
    Acl,
    AclOperation,
    PatternType,
    PermissionType,
    ResourceType,
)

UNKNOWN: Final = 0
"""A client that sends it is disconnected; other numbers that mean nothing get an answer."""
ANY: Final = 1
MATCH: Final = 2
"""In filters: a type of pattern that also finds the wildcard and prefixes of the name."""
PATTERN_TYPES: Final = frozenset({ANY, MATCH, *map(int, PatternType)})
RESOURCE_TYPES: Final = frozenset({ANY, *map(int, ResourceType)})
OPERATIONS: Final = frozenset({ANY, *map(int, AclOperation)})
PERMISSION_TYPES: Final = frozenset({ANY, *map(int, PermissionType)})
TEXT_CHARACTERS_MAX: Final = 1_024
"""Of the name of a resource, a principal and a host each. Kafka takes 32,767 bytes."""


class InvalidAcl(ValueError):
    """An ACL cannot be created, or a filter not be used; the message is Kafka's."""


class AclTooLong(InvalidAcl):
    """An ACL has a text that is too long to be kept."""


class AclFilter(msgspec.Struct, frozen=True):
    """Which ACLs are meant; None or ANY means all."""

    resource_type: int
    resource_name: str | None
    pattern_type: int
    principal: str | None
    host: str | None
    operation: int
    permission_type: int

    def matches(self, acl: Acl) -> bool:
        return (
            self.resource_type in (ANY, acl.resource_type)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (ANY, acl.operation)
            and self.permission_type in (ANY, acl.permission_type)
            and self._matches_pattern(acl)
        )

    def _matches_pattern(self, acl: Acl) -> bool:
        """`ResourcePatternFilter.matches`."""
        if self.pattern_type not in (ANY, MATCH, acl.pattern_type):
            return False
        if self.resource_name is None:
            return True
        if self.pattern_type != MATCH:
            return self.resource_name == acl.resource_name
        if acl.pattern_type == PatternType.PREFIXED:
            return self.resource_name.startswith(acl.resource_name)
        return acl.resource_name in (self.resource_name, WILDCARD)


def has_unknown(numbers: Acl | AclFilter) -> bool:
    """Whether a request has the number that no client may send."""
    return UNKNOWN in (numbers.resource_type, numbers.pattern_type, numbers.operation, numbers.permission_type)


def is_for_filters_only(acl: Acl) -> bool:
    """Whether a number of an ACL to be created is one that only filters may have."""
    return ANY in (acl.resource_type, acl.operation, acl.permission_type) or acl.pattern_type in (ANY, MATCH)


def check_new(acl: Acl) -> None:
    """Check an ACL that is to be created, in the order of `AclApis` and `AclControlManager.validateNewAcl`.

    Raises:
        AclTooLong: it has a text that is too long to be kept.
        InvalidAcl: it cannot be created.
    """
    if acl.resource_type == ResourceType.CLUSTER and acl.resource_name != CLUSTER_NAME:
        raise InvalidAcl(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not acl.resource_name:
        raise InvalidAcl("Invalid empty resource name")
    for name, number, enum_numbers in (
        ("resourceType", acl.resource_type, RESOURCE_TYPES),
        ("patternType", acl.pattern_type, PATTERN_TYPES),
        ("operation", acl.operation, OPERATIONS),
        ("permissionType", acl.permission_type, PERMISSION_TYPES),
    ):
        if number not in enum_numbers:
            raise InvalidAcl(f"Invalid {name} UNKNOWN")
    if ":" not in acl.principal:
        raise InvalidAcl(
            f"Could not parse principal from `{acl.principal[:TEXT_CHARACTERS_MAX]}` (no colon is present separating "
            "the principal type from the principal name)"
        )
    if max(len(acl.resource_name), len(acl.principal), len(acl.host)) > TEXT_CHARACTERS_MAX:
        raise AclTooLong(f"Resource name, principal and host may have {TEXT_CHARACTERS_MAX} characters each.")


def check_filter(acl_filter: AclFilter) -> None:
    """Check a filter of DeleteAcls.

    Raises:
        InvalidAcl: it has a number that this version of the protocol does not know.
    """
    if acl_filter.resource_type not in RESOURCE_TYPES or acl_filter.pattern_type not in PATTERN_TYPES:
        raise InvalidAcl("Unknown patternFilter.")
    if acl_filter.operation not in OPERATIONS or acl_filter.permission_type not in PERMISSION_TYPES:
        raise InvalidAcl("Unknown entryFilter.")
