"""The slow twin of the authorizer: it looks at each ACL for each question, in the words of Kafka's documentation."""

from collections.abc import Collection

from coordinator.security.acls.model import Acl

READ, WRITE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS, ALL = 3, 4, 6, 7, 8, 10, 11, 2
DENY, ALLOW = 2, 3
LITERAL, PREFIXED = 3, 4


def is_allowed(
    acls: Collection[Acl],
    super_users: Collection[str],
    allows_without_acl: bool,
    principal: str,
    host: str,
    operation: int,
    resource_type: int,
    name: str,
) -> bool:
    """Whether an operation is allowed."""
    if principal in super_users:
        return True
    of_resource = [acl for acl in acls if acl.resource_type == resource_type and _has_name(acl, name)]
    about = [acl for acl in of_resource if acl.principal in (principal, "User:*") and acl.host in (host, "*")]
    if any(acl.permission_type == DENY and acl.operation in (operation, ALL) for acl in about):
        return False
    if any(acl.permission_type == ALLOW and _allows(acl.operation, operation) for acl in about):
        return True
    return allows_without_acl and not of_resource


def _has_name(acl: Acl, name: str) -> bool:
    if acl.pattern_type == PREFIXED:
        return name.startswith(acl.resource_name)
    return acl.resource_name in (name, "*")


def _allows(granted: int, operation: int) -> bool:
    if granted in (operation, ALL):
        return True
    if operation == DESCRIBE:
        return granted in (READ, WRITE, DELETE, ALTER)
    return operation == DESCRIBE_CONFIGS and granted == ALTER_CONFIGS


def is_any_allowed(
    acls: Collection[Acl],
    super_users: Collection[str],
    allows_without_acl: bool,
    principal: str,
    host: str,
    operation: int,
    resource_type: int,
) -> bool:
    """Whether an operation is allowed on any resource of a type (`Authorizer.authorizeByResourceType`)."""
    if is_allowed(acls, super_users, allows_without_acl, principal, host, operation, resource_type, "hardcode"):
        return True
    about = [
        acl
        for acl in acls
        if acl.resource_type == resource_type
        and acl.principal in (principal, "User:*")
        and acl.host in (host, "*")
        and acl.operation in (operation, ALL)
    ]
    denied = [acl for acl in about if acl.permission_type == DENY]
    if any(acl.pattern_type == LITERAL and acl.resource_name == "*" for acl in denied):
        return False
    return any(not _is_covered(acl, denied) for acl in about if acl.permission_type == ALLOW)


def _is_covered(allowed: Acl, denied: Collection[Acl]) -> bool:
    if allowed.pattern_type == LITERAL and allowed.resource_name == "*":
        return False
    return any(
        allowed.resource_name.startswith(acl.resource_name)
        if acl.pattern_type == PREFIXED
        else allowed.pattern_type == LITERAL and acl.resource_name == allowed.resource_name
        for acl in denied
    )
