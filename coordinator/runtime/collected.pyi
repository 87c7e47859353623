from collections.abc import Iterable

from coordinator.core.decision import Reply
from coordinator.core.stored import Stored, TransactionMarker
from coordinator.core.stored_batch import StoredBatch
from coordinator.runtime.batch import QueuedOperation, SteadyRequest

class RecordsTooLarge(ValueError):
    """The records of one decision do not fit into a record batch of the log."""

class Batch:
    """Records to append, and the replies to send when they are appended."""

    bytes_max: int
    queued: list[QueuedOperation | SteadyRequest]
    """The operations that it is about, for which somebody waits."""
    stored: list[Stored]
    replies: list[Reply | SteadyRequest]

    def __init__(self, bytes_max: int) -> None: ...
    def check(self, decided: Iterable[StoredBatch]) -> None:
        """Raise RecordsTooLarge for a batch that the log would not take."""

    def divided(self, decided: Iterable[StoredBatch]) -> list[StoredBatch]:
        """The same records, in as many batches as the log takes; a record that is too large by itself stays."""

    def store(self, decided: Iterable[StoredBatch]) -> None:
        """Take the records of a decision; those of one producer, or of none, share a batch as far as they fit."""

    def store_marker(self, marker: TransactionMarker) -> None:
        """Take a marker; what is stored next begins a batch of its own."""
