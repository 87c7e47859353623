"""What a group knows of its members, as everything outside the folder of its kind reads it.

Counterpart in Kafka: the interface `Group`, as far as it is read.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol, TypeVar

from coordinator.core.client_details import ClientDetails
from coordinator.core.groups.states import GroupState

TopicName = Callable[[bytes], str | None]
"""The name of the topic with an id (16 bytes), None where there is none."""


class MemberView(Protocol):
    """A member of a group of any kind.

    `committed_ms` is the one field that every kind has to have, because an event of offsets sets it.
    """

    committed_ms: int | None
    """When its last OffsetCommit or TxnOffsetCommit was accepted, in wall-clock milliseconds."""

    @property
    def member_id(self) -> str: ...
    @property
    def group_instance_id(self) -> str | None: ...
    @property
    def client_id(self) -> str: ...
    @property
    def client_host(self) -> str: ...
    @property
    def client_details(self) -> ClientDetails: ...
    @property
    def client_software_name(self) -> str:
        """That of its details, as are the version and the principal."""

    @property
    def client_software_version(self) -> str: ...
    @property
    def principal(self) -> str: ...
    @property
    def session_timeout_ms(self) -> int: ...
    @property
    def is_new(self) -> bool:
        """Whether it joined, but was given no assignment yet: it may know no member id to send heartbeats with."""


class Membership(Protocol):
    """The members of a group and their epoch. Only events change it."""

    @property
    def group_id(self) -> str: ...
    @property
    def state(self) -> GroupState: ...
    @property
    def state_since_ms(self) -> int | None:
        """When the state began, in wall-clock milliseconds; None: not known."""

    @property
    def generation_id(self) -> int:
        """The generation, or the group epoch (KIP-848); 0 before the first one."""

    @property
    def protocol_type(self) -> str | None:
        """`consumer`, `connect` or what else a client calls it; None before the first member."""

    @property
    def protocol_name(self) -> str | None:
        """The assignor of this generation; None without one."""

    @property
    def leader(self) -> str | None:
        """The member id of the leader; None in a group that has none."""

    @property
    def members(self) -> Mapping[str, MemberView]:
        """Member id → member, in the order in which they joined."""

    @property
    def static_members(self) -> Mapping[str, str]:
        """Instance id → member id (KIP-345)."""

    def mark_created(self, at_ms: int) -> None:
        """The event that the group was created: called by `GroupCreated` alone."""

    def mark_removed(self, at_ms: int) -> None:
        """The event that the group, which has no members, was removed: called by `GroupRemoved` alone."""

    def shared_protocols(self, searched_max: int) -> list[str]:
        """The assignors that all members offer, by name, among the first `searched_max` of the group."""

    def assigned_partitions(self, member_id: str, topic_name: TopicName) -> dict[str, list[int]] | None:
        """Topic → partitions that a member may use, in ascending order; None if its assignment cannot be read."""


M = TypeVar("M", bound=Membership)


class WaitingRequest(NamedTuple):
    """A request that is answered when something happens in its group."""

    member_id: str
    api: str
    request_id: int
