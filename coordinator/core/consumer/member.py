"""A member of a consumer group: who it is, what it asks for, and what it may use by now.

Counterpart in Kafka: `ConsumerGroupMember` and `MemberState`.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

import msgspec

from coordinator.core.attributes import attribute
from coordinator.core.client_connection import ClientConnection
from coordinator.core.client_details import UNKNOWN_CLIENT, ClientDetails, KnowsClient
from coordinator.core.consumer.topic_partitions import NO_PARTITIONS, EpochsByPartition

NO_EPOCH: Final = 0
"""The epoch of a member that was assigned nothing yet; with it a member joins."""
LEAVE_EPOCH: Final = -1
"""With this epoch a member leaves."""
LEAVE_STATIC_EPOCH: Final = -2
"""With this epoch a static member leaves for a moment; until it is back it has this epoch."""
NO_PATTERN: Final = ""


class MemberState(IntEnum):
    """How far a member is on the way to its target assignment, as records have it."""

    STABLE = 0
    """It may use all that it was to get in its epoch."""
    UNREVOKED_PARTITIONS = 1
    """It has to give partitions up before it gets the next epoch."""
    UNRELEASED_PARTITIONS = 2
    """It waits for partitions that other members have not given up."""
    UNKNOWN = 127
    """A state of a later version: the member has to rejoin."""


# As in `groups/states.py`: each step of a member reads some.
MEMBER_STABLE: Final = MemberState.STABLE
UNREVOKED_PARTITIONS: Final = MemberState.UNREVOKED_PARTITIONS
UNRELEASED_PARTITIONS: Final = MemberState.UNRELEASED_PARTITIONS


class ClassicProtocol(msgspec.Struct, frozen=True):
    """An assignor that a member of the classic protocol supports, with its subscription for it."""

    name: str
    metadata: bytes


class ClassicMetadata(msgspec.Struct, frozen=True):
    """What a member of the classic protocol sent when it joined."""

    session_timeout_ms: int
    protocols: tuple[ClassicProtocol, ...]


class MemberMetadata(msgspec.Struct, frozen=True):
    """Who a member is and what it subscribes to; ConsumerGroupMemberMetadata stores it."""

    client_id: str
    client_host: str
    group_instance_id: str | None = None
    rack_id: str | None = None
    topics: tuple[str, ...] = ()
    """By name, in ascending order, without doubles."""
    pattern: str | None = NO_PATTERN
    """A regular expression (RE2); empty or None: none."""
    rebalance_timeout_ms: int = -1
    server_assignor: str | None = None
    classic: ClassicMetadata | None = None
    """None for a member of the consumer protocol."""


class CurrentAssignment(msgspec.Struct, frozen=True):
    """What a member may use; ConsumerGroupCurrentMemberAssignment stores it."""

    epoch: int = NO_EPOCH
    previous_epoch: int = NO_EPOCH
    """In case the answer with `epoch` was lost; each change of the assignment sets it."""
    state: MemberState = MEMBER_STABLE
    assigned: EpochsByPartition = NO_PARTITIONS
    pending: EpochsByPartition = NO_PARTITIONS
    """Partitions that the member has to give up and has not shown to have given up."""


UNASSIGNED: Final = CurrentAssignment()


@dataclass(slots=True)
class ConsumerMember(KnowsClient):
    """A member of a consumer group. Events replace `metadata` and `current` as a whole."""

    member_id: str
    metadata: MemberMetadata
    current: CurrentAssignment = UNASSIGNED
    session_timeout_ms: int = field(default=0, compare=False)
    """That of its last heartbeat: the setting of its group may have changed since."""
    client_details: ClientDetails = field(default=UNKNOWN_CLIENT, compare=False)
    joined_ms: int | None = field(default=None, compare=False)
    """When it joined, in wall-clock milliseconds; None: before the group was loaded."""
    committed_ms: int | None = field(default=None, compare=False)
    client_connection: ClientConnection | None = field(default=None, compare=False)
    """By which its last heartbeat came that changed what it may use; None if that is not known."""

    group_instance_id = attribute("metadata.group_instance_id")
    client_id = attribute("metadata.client_id")
    client_host = attribute("metadata.client_host")

    @property
    def answered_ms(self) -> int | None:
        """It waits for no answer that would renew its session."""
        return None

    @property
    def is_new(self) -> bool:
        """A member that joins is answered at once, so it always knows its id."""
        return False

    @property
    def is_classic(self) -> bool:
        return self.metadata.classic is not None

    def is_reconciled_to(self, target_epoch: int) -> bool:
        return self.current.state is MEMBER_STABLE and self.current.epoch == target_epoch
