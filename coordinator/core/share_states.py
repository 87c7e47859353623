"""What the share coordinator does for others: it keeps the states of the records of share partitions.

Counterpart in Kafka: `Persister`.
"""

from collections.abc import Generator, Sequence
from typing import Any, Final, NamedTuple, Protocol

from _wire.errors import ErrorCode

BY_STRATEGY: Final = -1
"""The start offset of a partition whose first fetch decides where it starts (`share.auto.offset.reset`)."""
UNKNOWN_COUNT: Final = -1
"""How many records are done, when that is not known."""


class InitialState(NamedTuple):
    """A partition whose state is to be initialized."""

    topic_id: bytes
    partition: int
    state_epoch: int
    start_offset: int


class StateBatch(NamedTuple):
    """The state of records with consecutive offsets: 0 available, 2 acknowledged, 4 archived."""

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int


class PartitionState(NamedTuple):
    """The state of a share partition. `start_offset` is -1 before the first write, unless one was set."""

    state_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: tuple[StateBatch, ...]


class Summary(NamedTuple):
    """Where a share partition starts. One without a state has epochs 0, and -1 for the rest."""

    error: ErrorCode
    state_epoch: int = 0
    leader_epoch: int = 0
    start_offset: int = BY_STRATEGY
    delivery_complete_count: int = UNKNOWN_COUNT


class ShareStates(Protocol):
    """Each method is steps that wait for the answer, which comes when the records are appended.

    Topics are named by their ids (16 bytes). An epoch of -1 is not checked.
    """

    def initialize(self, group_id: str, partitions: Sequence[InitialState]) -> Generator[Any, Any, Sequence[ErrorCode]]:
        """Begin the states of partitions, in place of older ones; an error for each of them, in their order."""

    def read(
        self, group_id: str, topic_id: bytes, partition: int, leader_epoch: int
    ) -> Generator[Any, Any, PartitionState | ErrorCode]:
        """The state of a partition, for the leader of that epoch; leaders before it are fenced from now on."""

    def delete(
        self, group_id: str, partitions: Sequence[tuple[bytes, int]]
    ) -> Generator[Any, Any, Sequence[ErrorCode]]:
        """Forget the states of partitions (topic id, partition); an error for each of them, in their order."""

    def summary(
        self, group_id: str, partitions: Sequence[tuple[bytes, int, int]]
    ) -> Generator[Any, Any, Sequence[Summary]]:
        """Where partitions (topic id, partition, leader epoch) start, in their order."""
