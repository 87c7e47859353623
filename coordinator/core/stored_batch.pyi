from collections.abc import Mapping
from typing import Any

from coordinator.core.event import Event
from coordinator.core.stored import Producer

class StoredBatch:
    """Records that are appended together: a transaction's, or plain ones (`producer` is None).

    A record is its key and its value; a null value is a tombstone. `size_bytes` is that of the record batch, when all
    its records have one timestamp and it is not compressed.
    """

    @property
    def producer(self) -> Producer | None: ...
    @property
    def records(self) -> list[tuple[bytes, bytes | None]]: ...
    @property
    def size_bytes(self) -> int: ...
    def __init__(self, producer: Producer | None, records: list[tuple[bytes, bytes | None]]) -> None: ...
    def extend(self, records: list[tuple[bytes, bytes | None]]) -> None:
        """Add records."""

    def extend_if_fits(self, other: StoredBatch, bytes_max: int) -> bool:
        """Add the records of another batch of the same producer, unless this would exceed `bytes_max`.

        Returns whether they were added.
        """

def batches_of(
    events: tuple[Event, ...], makers: Mapping[type, Any], state: Any, transactional: type
) -> list[StoredBatch]:
    """The records that `makers`, by class of event, make of events over a state that these were not applied to yet.

    A maker gets an event, the state, and all events. Those of class `transactional` belong to their producer.
    """
