from collections import deque
from collections.abc import Callable
from typing import Any

from coordinator.core.decision import OperationContext
from coordinator.core.operation import Operation
from coordinator.runtime.batch import QueuedOperation
from coordinator.runtime.shard import Shard

class ShardDrains:
    """The shards of a coordinator, and which of them have work. Loads and rebuilds are its subclass's."""

    shards: tuple[Shard[Any], ...]
    _dirty: dict[int, Shard[Any]]
    _loading: deque[Shard[Any]]
    _rebuilding: dict[int, Shard[Any]]
    """Partition → shard with keys that failed alone and are due to be rebuilt."""
    _request_iteration: Callable[[], None]

    def __init__(self, request_iteration: Callable[[], None]) -> None: ...
    @property
    def is_dirty(self) -> bool:
        """Whether a drain comes anyway."""

    def submit(self, operation: Operation, key: str, request: Any, context: OperationContext) -> None:
        """Queue an operation on a key, its request prepared; the response goes to `context.request_id`."""

    def _enqueue(self, shard: Shard[Any], queued: QueuedOperation) -> None: ...
    def _mark_dirty(self, shard: Shard[Any]) -> None: ...
    def drain_later(self, partition: int) -> None:
        """Have a drain handle what was queued in this partition."""

    def drain(self, now_ms: int) -> None:
        """Handle what is queued. Call it once per loop iteration when `request_iteration` was called.

        What is more than about `turns.OPERATIONS_AT_ONCE` operations is left for the next iteration, in its order.
        Shards whose logs have no files yet wait while others make theirs.

        Responses leave when all shards have appended: one after the other they wake a client once. Sent between the
        work of the shards, each would wake it, which costs a tenth of a commit.
        """
