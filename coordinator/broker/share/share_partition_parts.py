"""What share partitions are known by, and what they use of the node."""

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from coordinator.broker.partitions import Partitions
from coordinator.broker.share.settings import ShareRecordSettings
from coordinator.broker.share.share_states import ShareStates
from coordinator.broker.share.tallies import Tallies
from coordinator.runtime.slices import Slices
from coordinator.timers.timers import CancellableTimers

if TYPE_CHECKING:
    from coordinator.broker.share.share_partition import SharePartition


class ShareKey(NamedTuple):
    """What a share partition is known by."""

    group_id: str
    topic_id: bytes
    partition: int


class Phase(Enum):
    """What can be done with a share partition."""

    LOADING = 1
    ACTIVE = 2
    GONE = 3
    """It could not be loaded, was fenced, or has no log any more."""


class LockTimeoutKey(msgspec.Struct, frozen=True, eq=False):
    """The timer key of the earliest end of a lock of a share partition."""

    share_partition: "SharePartition"


class SharePartitionParts(msgspec.Struct, frozen=True, kw_only=True):
    """What share partitions use of the node."""

    partitions: Partitions
    states: ShareStates
    settings: ShareRecordSettings
    timers: CancellableTimers
    slices: Slices
    now_ms: Callable[[], int]
    wall_ms: Callable[[], int]
    tallies: Tallies = msgspec.field(default_factory=Tallies)
