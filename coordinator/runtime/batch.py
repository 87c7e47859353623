"""The results of the operations that one drain of a shard handles.

Counterpart in Kafka: `CoordinatorRuntime.CoordinatorBatch`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from _wire.errors import ErrorCode
from coordinator.core.classic_group import ClassicGroup
from coordinator.core.decision import OperationContext, Reply
from coordinator.core.offset_records import records_bytes
from coordinator.core.operation import Operation
from coordinator.core.stored import Stored, StoredBatch
from coordinator.runtime.interfaces import AuditRecord

BATCH_OVERHEAD_BYTES: Final = 61
"""Of a record batch without its records (KIP-98)."""


@dataclass(slots=True)
class QueuedOperation:
    """An operation in the queue of its shard. `key` is the group id, None for an operation over the whole shard."""

    operation: Operation
    key: str | None
    request: Any
    context: OperationContext

    def error_response(self, error: ErrorCode) -> Any:
        make = self.operation.error_response
        assert make is not None, f"{self.operation.name} has a request id and no error response"
        return make(self.request, error, self.context.api_version)


@dataclass(slots=True)
class AuditWrite:
    """Audit records about groups as they are before the events of a batch: it goes first in its batch."""

    write: Callable[[Mapping[str, ClassicGroup], int], list[AuditRecord]]
    """(groups of the shard, now in ms) → records."""


class RecordsTooLarge(ValueError):
    """The records of one decision do not fit into a record batch of the log."""


class Batch:
    """Records to append, and the replies to send when they are appended."""

    __slots__ = ("audit", "bytes_max", "last_bytes", "newly_stable", "queued", "replies", "stored")

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.queued: list[QueuedOperation] = []
        """The operations that it is about, for which somebody waits."""
        self.audit: list[AuditRecord] = []
        self.stored: list[Stored] = []
        self.last_bytes = 0
        """Bytes of the last of `stored`."""
        self.replies: list[Reply] = []
        self.newly_stable: dict[str, int] = {}
        """Group id → generation that became stable: once it is stored, heartbeats need not come to the shard."""

    def check(self, decided: Sequence[StoredBatch]) -> list[int]:
        """As `sizes`. Raises RecordsTooLarge for a batch that the log would not take."""
        sizes = self.sizes(decided)
        for size in sizes:
            if size > self.bytes_max:
                raise RecordsTooLarge(f"a record batch of {size} bytes, message.max.bytes is {self.bytes_max}")
        return sizes

    def sizes(self, decided: Sequence[StoredBatch]) -> list[int]:
        """The bytes of each of the record batches of a decision."""
        return [records_bytes(each.records) + BATCH_OVERHEAD_BYTES for each in decided]

    def store(self, decided: Sequence[StoredBatch], sizes: Sequence[int]) -> None:
        """Take the records of a decision; those of one producer, or of none, share a batch as far as they fit."""
        for each, size in zip(decided, sizes, strict=True):
            last = self.stored[-1] if self.stored else None
            fits = self.last_bytes + size <= self.bytes_max
            if fits and isinstance(last, StoredBatch) and last.producer == each.producer:
                last.records.extend(each.records)
                self.last_bytes += size
            else:
                self.stored.append(each)
                self.last_bytes = size
