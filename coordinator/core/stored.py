"""What a coordinator stores in its log: batches of records, and the markers of transactions."""

from typing import NamedTuple, TypeAlias

import msgspec

from coordinator.core.stored_batch import StoredBatch

StoredRecord = tuple[bytes, bytes | None]
"""Key and value; a null value is a tombstone."""


class Producer(NamedTuple):
    """A transactional producer and its epoch (KIP-98)."""

    producer_id: int
    producer_epoch: int


class TransactionMarker(msgspec.Struct, frozen=True):
    """The end of a transaction, written to every partition that it touched (KIP-98)."""

    producer: Producer
    committed: bool
    coordinator_epoch: int


Stored: TypeAlias = StoredBatch | TransactionMarker
