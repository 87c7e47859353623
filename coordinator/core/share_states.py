"""What the share coordinator does for the group coordinator: it keeps the states of the records of share partitions.

Counterpart in Kafka: `Persister`.
"""

from collections.abc import Generator, Sequence
from typing import Any, Final, NamedTuple, Protocol

from _wire.errors import ErrorCode

BY_STRATEGY: Final = -1
"""The start offset of a partition whose first fetch decides where it starts (`share.auto.offset.reset`)."""


class InitialState(NamedTuple):
    """A partition whose state is to be initialized."""

    topic_id: bytes
    partition: int
    state_epoch: int
    start_offset: int


class ShareStates(Protocol):
    """Each method is steps that wait for the answer, which comes when the records are appended."""

    def initialize(self, group_id: str, partitions: Sequence[InitialState]) -> Generator[Any, Any, Sequence[ErrorCode]]:
        """Begin the states of partitions, in place of older ones; an error for each of them, in their order."""
