"""Whether a partition is served here, and what requests for it are answered otherwise."""

from enum import Enum, auto
from typing import Final

from _wire.errors import ErrorCode


class ShardState(Enum):
    """Whether the partition is served here."""

    INACTIVE = auto()
    """Another node leads the partition, or none."""
    LOADING = auto()
    ACTIVE = auto()
    FAILED = auto()
    """The log could not be read or written; the partition is loaded again after a while."""


REFUSALS: Final = {
    ShardState.INACTIVE: ErrorCode.NOT_COORDINATOR,
    ShardState.LOADING: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ShardState.FAILED: ErrorCode.COORDINATOR_NOT_AVAILABLE,
}
