"""A member of a share group: who it is, what it subscribes to, and what it reads.

Counterpart in Kafka: `ShareGroupMember`.
"""

from dataclasses import dataclass, field
from typing import Final

import msgspec

from coordinator.core.attributes import attribute
from coordinator.core.client_connection import ClientConnection
from coordinator.core.client_details import UNKNOWN_CLIENT, ClientDetails, KnowsClient
from coordinator.core.consumer.topic_partitions import TopicPartitions

NO_EPOCH: Final = 0
"""The epoch of a member that was assigned nothing yet; with it a member joins."""
LEAVE_EPOCH: Final = -1
"""With this epoch a member leaves."""
NO_PARTITIONS: Final[TopicPartitions] = {}


class ShareMemberMetadata(msgspec.Struct, frozen=True):
    """Who a member is and what it subscribes to; ShareGroupMemberMetadata stores it."""

    client_id: str
    client_host: str
    rack_id: str | None = None
    topics: tuple[str, ...] = ()
    """By name, in ascending order, without doubles."""


class ShareAssignment(msgspec.Struct, frozen=True):
    """What a member reads; ShareGroupCurrentMemberAssignment stores it."""

    epoch: int = NO_EPOCH
    previous_epoch: int = NO_EPOCH
    """In case the answer with `epoch` was lost."""
    partitions: TopicPartitions = NO_PARTITIONS


UNASSIGNED: Final = ShareAssignment()


@dataclass(slots=True)
class ShareMember(KnowsClient):
    """A member of a share group. Events replace `metadata` and `current` as a whole."""

    member_id: str
    metadata: ShareMemberMetadata
    current: ShareAssignment = UNASSIGNED
    session_timeout_ms: int = field(default=0, compare=False)
    """That of its first heartbeat since it joined or its group was loaded."""
    client_details: ClientDetails = field(default=UNKNOWN_CLIENT, compare=False)
    joined_ms: int | None = field(default=None, compare=False)
    """When it joined, in wall-clock milliseconds; None: before the group was loaded."""
    committed_ms: int | None = field(default=None, compare=False)
    """Always None: members of share groups commit no offsets."""
    client_connection: ClientConnection | None = field(default=None, compare=False)
    """By which it joined, or sent its first heartbeat since its group was loaded; None if that is not known."""

    client_id = attribute("metadata.client_id")
    client_host = attribute("metadata.client_host")

    @property
    def group_instance_id(self) -> None:
        """Share groups have no static members."""
        return None

    @property
    def answered_ms(self) -> int | None:
        """It waits for no answer that would renew its session."""
        return None

    @property
    def is_new(self) -> bool:
        """A member that joins is answered at once, so it always knows its id."""
        return False
