"""The groups and the members that a request names, of whichever API and version."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from coordinator.front.protocol_types import CoordinatorType


class NamedMember(NamedTuple):
    """A member as a request names it; the id is empty if the request names none."""

    member_id: str
    group_instance_id: str | None


NOBODY: Final = NamedMember("", None)


def groups_of(request: Any) -> Iterator[str]:
    """The ids of the groups that a request is about."""
    if getattr(request, "key_type", CoordinatorType.GROUP) != CoordinatorType.GROUP:
        return
    for name in ("group_id", "key"):
        found = getattr(request, name, None)
        if found:
            yield found
    for name in ("groups", "groups_names", "coordinator_keys"):
        for element in getattr(request, name, None) or ():
            yield element if isinstance(element, str) else getattr(element, "group_id", "")


def members_of(request: Any) -> list[NamedMember]:
    """The members that a request names; `NOBODY` alone if it names none. LeaveGroup names several (KIP-345)."""
    own = NamedMember(getattr(request, "member_id", None) or "", _instance_id(request))
    listed = [
        NamedMember(member.member_id, member.group_instance_id) for member in getattr(request, "members", None) or ()
    ]
    found = [named_member for named_member in (own, *listed) if named_member != NOBODY]
    return found or [NOBODY]


def _instance_id(request: Any) -> str | None:
    """ConsumerGroupHeartbeat calls it `instance_id`."""
    named: str | None = getattr(request, "group_instance_id", None) or getattr(request, "instance_id", None)
    return named
