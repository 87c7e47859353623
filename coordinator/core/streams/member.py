"""A member of a streams group: who it is, which process it belongs to, and which tasks it has.

Counterpart in Kafka: `StreamsGroupMember` and `MemberState` of the package `streams`.
"""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

import msgspec

from coordinator.core.attributes import attribute
from coordinator.core.client_connection import ClientConnection
from coordinator.core.client_details import UNKNOWN_CLIENT, ClientDetails, KnowsClient
from coordinator.core.streams.tasks import NOTHING_ASSIGNED, TaskEpochs

NO_EPOCH: Final = 0
"""With this epoch a member joins."""
LEAVE_EPOCH: Final = -1
"""With this epoch a member leaves."""
LEAVE_STATIC_EPOCH: Final = -2
"""Kafka has no static members in streams groups yet: such a request is always rejected."""


class TasksState(IntEnum):
    """How far a member is on the way to its target assignment, as records have it."""

    STABLE = 1
    """It has all that it was to get in its epoch."""
    UNREVOKED_TASKS = 2
    """It has to give tasks up before it gets the next epoch."""
    UNRELEASED_TASKS = 3
    """It waits for tasks that others have not given up."""
    UNKNOWN = 127
    """A state of a later version: the member has to rejoin."""


class StreamsMemberMetadata(msgspec.Struct, frozen=True):
    """Who a member is; StreamsGroupMemberMetadata stores it."""

    client_id: str
    client_host: str
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topology_epoch: int = 0
    process_id: str = ""
    user_endpoint: tuple[str, int] | None = None
    """Host and port at which the process answers queries."""
    client_tags: tuple[tuple[str, str], ...] = ()
    """By key, in ascending order, without doubles."""


class CurrentTasks(msgspec.Struct, frozen=True):
    """What a member has; StreamsGroupCurrentMemberAssignment stores it."""

    epoch: int = NO_EPOCH
    previous_epoch: int = NO_EPOCH
    """In case the answer with `epoch` was lost."""
    state: TasksState = TasksState.STABLE
    assigned: TaskEpochs = NOTHING_ASSIGNED
    pending: TaskEpochs = NOTHING_ASSIGNED
    """Tasks that the member has to give up and has not shown to have given up."""


UNASSIGNED: Final = CurrentTasks()


@dataclass(slots=True)
class StreamsMember(KnowsClient):
    """A member of a streams group. Events replace `metadata` and `current` as a whole."""

    member_id: str
    metadata: StreamsMemberMetadata
    current: CurrentTasks = UNASSIGNED
    session_timeout_ms: int = field(default=0, compare=False)
    """That of its first heartbeat since it joined or its group was loaded."""
    client_details: ClientDetails = field(default=UNKNOWN_CLIENT, compare=False)
    joined_ms: int | None = field(default=None, compare=False)
    """When it joined, in wall-clock milliseconds; None: before the group was loaded."""
    committed_ms: int | None = field(default=None, compare=False)
    client_connection: ClientConnection | None = field(default=None, compare=False)
    """By which it joined, or sent its first heartbeat since its group was loaded; None if that is not known."""

    client_id = attribute("metadata.client_id")
    client_host = attribute("metadata.client_host")

    @property
    def group_instance_id(self) -> None:
        """Streams groups have no static members."""
        return None

    @property
    def answered_ms(self) -> int | None:
        """It waits for no answer that would renew its session."""
        return None

    @property
    def is_new(self) -> bool:
        """A member that joins is answered at once, so it always knows its id."""
        return False

    def is_reconciled_to(self, target_epoch: int) -> bool:
        return self.current.state is TasksState.STABLE and self.current.epoch == target_epoch
