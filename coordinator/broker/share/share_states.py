"""Where the states of the records of share partitions are kept: the share coordinator.

Counterpart in Kafka: `Persister`.
"""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from _wire.errors import ErrorCode
from coordinator.runtime.slices import Steps

StateBatch = tuple[int, int, int, int]
"""First offset, last offset, state and delivery count of records that are next to each other."""

Acquired = tuple[int, int, int]
"""First offset, last offset and delivery count of records that a member was given."""

BY_STRATEGY: Final = -1
"""The start offset of a partition whose first fetch decides where it starts (`share.auto.offset.reset`)."""


class PartitionState(Protocol):
    """What is stored of a share partition."""

    @property
    def state_epoch(self) -> int: ...
    @property
    def start_offset(self) -> int:
        """`BY_STRATEGY` until something was acknowledged."""

    @property
    def batches(self) -> Sequence[StateBatch]:
        """In the order of their offsets."""


class StateWriter(Protocol):
    """Writes the state of one share partition."""

    def __call__(
        self,
        state_epoch: int,
        leader_epoch: int,
        start_offset: int,
        delivery_complete_count: int,
        batches: list[StateBatch],
        stored: Callable[[ErrorCode], None],
    ) -> None:
        """Store what has changed: the batches alone, and the start offset unless it is -1.

        `stored` is called once, with the error if that failed.
        """


class ShareStates(Protocol):
    """The answer comes when the record is appended."""

    def read(
        self, group_id: str, topic_id: bytes, partition: int, leader_epoch: int
    ) -> Steps[PartitionState | ErrorCode]:
        """Steps that end with the state of a partition that is led at this epoch from now on."""

    def writer(self, group_id: str, topic_id: bytes, partition: int) -> StateWriter:
        """What writes the state of this partition."""
