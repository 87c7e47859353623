"""What people call members: the instance id, else the client id; and part of the member id where several share one."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, Protocol, Self

from coordinator.explain.generation import Generation
from coordinator.explain.history import GroupHistory

ID_CHARACTERS: Final = 8
"""Of the end of a member id that has no UUID, to tell members of one name apart."""

_UUID: Final = re.compile(r"-([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")


class Named(Protocol):
    """A member in the audit, or as the server describes it."""

    @property
    def member_id(self) -> str: ...
    @property
    def client_id(self) -> str: ...
    @property
    def group_instance_id(self) -> str | None: ...


class MemberNames:
    """A name for each member of a group, different for different member ids."""

    def __init__(self, members: Iterable[Named]) -> None:
        bases = {member.member_id: _base(member) for member in members}
        count = Counter(bases.values())
        self._names = {
            member_id: base if count[base] == 1 else _distinguished(base, member_id)
            for member_id, base in bases.items()
        }

    @classmethod
    def of_history(cls, history: GroupHistory) -> Self:
        """The names of all members that the events of a group name."""
        return cls(_members(history))

    def of(self, member: Named) -> str:
        return self._names.get(member.member_id) or _base(member)

    def by_id(self, member_id: str) -> str:
        """The name of a member, or its id if it is unknown."""
        return self._names.get(member_id, member_id)


def _base(member: Named) -> str:
    return member.group_instance_id or member.client_id or member.member_id


def _distinguished(base: str, member_id: str) -> str:
    """As the sentences about a group write it (`rdkafka-7f3a2b1c`)."""
    found = _UUID.search(member_id)
    return f"{base}-{found[1] if found else member_id[-ID_CHARACTERS:]}"


def _members(history: GroupHistory) -> Iterator[Named]:
    for generation in history.generations:
        yield from _members_of(generation)
    for tracked in history.members.values():
        yield tracked.member


def _members_of(generation: Generation) -> Iterator[Named]:
    for part in generation.members.values():
        yield part.member
    for joined in generation.changes.joined:
        yield joined.member
    for removed in generation.changes.removed:
        yield removed.member
