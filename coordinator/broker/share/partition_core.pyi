from collections.abc import Callable
from typing import Final

from _wire.errors import ErrorCode
from coordinator.broker.share.in_flight import InFlightWindow
from coordinator.broker.share.reading import LogReading
from coordinator.broker.share.settings import RecordSettings
from coordinator.broker.share.share_partition_parts import Phase, ShareKey, SharePartitionParts
from coordinator.broker.share.share_states import StateBatch
from coordinator.broker.share.tallies import Tally
from coordinator.broker.share.waiting import WaitingFetches
from coordinator.log.partition.partition_log import PartitionLog

class SharePartitionCore:
    """What each request needs of a share partition. `waiting` are the fetches to wake."""

    key: Final[ShareKey]
    log: Final[PartitionLog]
    waiting: Final[WaitingFetches]
    reading: Final[LogReading]
    window: InFlightWindow
    phase: Phase
    load_error: ErrorCode
    """Why it could not be loaded."""
    is_fetching: bool
    """Whether a fetch reads it: another one leaves it out meanwhile."""
    _parts: SharePartitionParts
    _state_epoch: int
    _leader_epoch: int

    def __init__(
        self, key: ShareKey, log: PartitionLog, parts: SharePartitionParts, waiting: WaitingFetches
    ) -> None: ...
    def can_be_fetched(self, settings: RecordSettings) -> bool:
        """Whether a fetch may read it now: nobody else does, and there is a record or room for one.

        `settings` are those of the group, which who asks many share partitions of it has once.
        """

    def available_bytes(self, settings: RecordSettings) -> int:
        """The bytes from its fetch offset to the end of what is served; -1: reading there fails, which is to be told.

        With read_committed they end at the last stable offset; if that is not known yet, all of them count.
        """

    @property
    def tally(self) -> Tally:
        """What is counted of it until the next report."""

    def write(self, changes: list[StateBatch], stored: Callable[[ErrorCode], None]) -> None:
        """Write changes, or let them wait for writes under way that say an earlier start.

        `stored` is called once, with the error of the share coordinator.
        """

    def arm_timer(self) -> None:
        """Let the timer run to the end of the earliest lock; it may be due too early, but never too late."""

    def stop_timer(self) -> None: ...
    def timer_fired(self) -> None:
        """The timer is due: it runs no more."""
