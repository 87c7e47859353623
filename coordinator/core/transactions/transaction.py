"""A transactional id: its producer, and the state and the partitions of its transaction (TransactionMetadata)."""

from typing import Final

import msgspec

from coordinator.core.topic_partition import TopicPartition
from coordinator.core.transactions.states import TransactionState

NO_PRODUCER_ID: Final = -1
NO_EPOCH: Final = -1
NO_TIMESTAMP: Final = -1
LAST_EPOCH: Final = 32_766
"""A producer with this epoch or a later one gets another id. One more is left for an abort by the coordinator."""
EPOCH_MAX: Final = 32_767
"""No producer ever gets it: it is that of the markers with which the last transaction of a producer id ends."""
EPOCH_BUMP_VERSION: Final = 2
"""From this version of the client's transactions on, each transaction has an epoch of its own (KIP-890)."""


class Transaction(msgspec.Struct, frozen=True):
    """All that is known of a transactional id. It is a value: each change makes a new one.

    `last_epoch` is the epoch that the producer had before its last change, -1 if a retry with it would be fenced; it
    is not stored. `previous_producer_id` and `next_producer_id` are -1 or those of a change of the id because its
    epochs are used up. `started_ms` is -1 while no transaction has begun.
    """

    transactional_id: str
    producer_id: int
    epoch: int
    timeout_ms: int
    state: TransactionState
    partitions: frozenset[TopicPartition] = frozenset()
    updated_ms: int = NO_TIMESTAMP
    started_ms: int = NO_TIMESTAMP
    last_epoch: int = NO_EPOCH
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    client_version: int = 0
    """The transaction version of the client that changed it last."""

    @property
    def is_epoch_exhausted(self) -> bool:
        return self.epoch >= LAST_EPOCH
