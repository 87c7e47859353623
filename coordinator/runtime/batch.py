"""What waits in the queue of a shard, and the batch that one drain makes of it.

Counterpart in Kafka: `CoordinatorRuntime.CoordinatorBatch`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from _wire.errors import ErrorCode
from coordinator.core.decision import OperationContext
from coordinator.core.operation import Operation
from coordinator.runtime.collected import Batch, RecordsTooLarge

__all__ = ["Batch", "ProjectionWrite", "QueuedOperation", "RecordsTooLarge", "SteadyRequest"]


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


class SteadyRequest(Protocol):
    """A request that compiled code may decide, encode and apply by itself (`groups/steady_commits.pyx`)."""

    key: str
    answer: bytes

    def handle(self, machine: Any, batch: Batch, now_ms: int) -> bool:
        """Do so, and add to the batch what is to be stored and answered; false: nothing was done.

        It does what `as_operation` would, or nothing.
        """

    def as_operation(self) -> QueuedOperation:
        """What is to be decided in its place."""

    def send(self) -> None:
        """Send the answer."""


class ProjectionWrite(msgspec.Struct):
    """Records of the projection that no event causes. They come first in their batch, about keys as they are then."""

    write: Callable[[Mapping[str, Any], int], None]
    """(state of each key of the shard, now in ms): makes the records."""
