"""The results of the operations that one drain of a shard handles.

Counterpart in Kafka: `CoordinatorRuntime.CoordinatorBatch`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from _wire.errors import ErrorCode
from coordinator.core.decision import OperationContext, Reply
from coordinator.core.operation import Operation
from coordinator.core.stored import Stored, TransactionMarker
from coordinator.core.stored_batch import StoredBatch


class QueuedOperation(msgspec.Struct):
    """An operation in the queue of its shard. `key` is None for an operation over the whole shard."""

    operation: Operation
    key: str | None
    request: Any
    context: OperationContext

    def error_response(self, error: ErrorCode) -> Any:
        make = self.operation.error_response
        assert make is not None, f"{self.operation.name} has a request id and no error response"
        return make(self.request, error, self.context.api_version)


class ProjectionWrite(msgspec.Struct):
    """Records of the projection that no event causes. They come first in their batch, about keys as they are then."""

    write: Callable[[Mapping[str, Any], int], None]
    """(state of each key of the shard, now in ms): makes the records."""


class RecordsTooLarge(ValueError):
    """The records of one decision do not fit into a record batch of the log."""


class Batch:
    """Records to append, and the replies to send when they are appended."""

    __slots__ = ("_last", "bytes_max", "queued", "replies", "stored")

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.queued: list[QueuedOperation] = []
        """The operations that it is about, for which somebody waits."""
        self.stored: list[Stored] = []
        self._last: StoredBatch | None = None
        """The last of `stored`, unless that is a marker."""
        self.replies: list[Reply] = []

    def check(self, decided: Iterable[StoredBatch]) -> None:
        """Raise RecordsTooLarge for a batch that the log would not take."""
        for batch in decided:
            if batch.size_bytes > self.bytes_max:
                raise RecordsTooLarge(
                    f"a record batch of {batch.size_bytes} bytes, message.max.bytes is {self.bytes_max}"
                )

    def divided(self, decided: Iterable[StoredBatch]) -> list[StoredBatch]:
        """The same records, in as many batches as the log takes; a record that is too large by itself stays."""
        fitting: list[StoredBatch] = []
        for batch in decided:
            if batch.size_bytes <= self.bytes_max or len(batch.records) == 1:
                fitting.append(batch)
                continue
            half = len(batch.records) // 2
            halves = (
                StoredBatch(batch.producer, batch.records[:half]),
                StoredBatch(batch.producer, batch.records[half:]),
            )
            fitting += self.divided(halves)
        return fitting

    def store(self, decided: Iterable[StoredBatch]) -> None:
        """Take the records of a decision; those of one producer, or of none, share a batch as far as they fit."""
        for batch in decided:
            if self._last is None or not self._last.extend_if_fits(batch, self.bytes_max):
                self.stored.append(batch)
                self._last = batch

    def store_marker(self, marker: TransactionMarker) -> None:
        self.stored.append(marker)
        self._last = None
