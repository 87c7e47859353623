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
        for each in getattr(request, name, None) or ():
            yield each if isinstance(each, str) else getattr(each, "group_id", "")


def members_of(request: Any) -> list[NamedMember]:
    """The members that a request names; `NOBODY` alone if it names none. LeaveGroup names several (KIP-345)."""
    own = NamedMember(getattr(request, "member_id", None) or "", _instance_id(request))
    listed = [NamedMember(each.member_id, each.group_instance_id) for each in getattr(request, "members", None) or ()]
    found = [each for each in (own, *listed) if each != NOBODY]
    return found or [NOBODY]


def _instance_id(request: Any) -> str | None:
    """ConsumerGroupHeartbeat calls it `instance_id`."""
    named: str | None = getattr(request, "group_instance_id", None) or getattr(request, "instance_id", None)
    return named
