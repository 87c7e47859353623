"""The fields of a DescribeAcls request, or of a filter of DeleteAcls."""

from typing import Any, Final

ANY: Final = 1
"""ResourceType, PatternType, AclOperation and AclPermissionType have the same number for ANY."""


def filter_fields(**fields: Any) -> dict[str, Any]:
    """A filter that matches every ACL, but for the fields given."""
    given: dict[str, Any] = {
        "resource_type_filter": ANY,
        "resource_name_filter": None,
        "pattern_type_filter": ANY,
        "principal_filter": None,
        "host_filter": None,
        "operation": ANY,
        "permission_type": ANY,
    }
    return given | fields
