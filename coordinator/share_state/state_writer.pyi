from collections.abc import Callable
from typing import Any

from _wire.errors import ErrorCode
from coordinator.core.share_state.requests import Write
from coordinator.core.share_state.state import SharePartition
from coordinator.runtime.batch import Batch, QueuedOperation
from coordinator.runtime.shard_drains import ShardDrains
from coordinator.runtime.steady import SteadyDrain

class StateWriter:
    """Writes the state of one share partition (role `StateWriter` of `core/share_states.py`).

    `as_operation` makes the operation that decides a write that is no plain update, and `ask` answers one while there
    are no shards: both get the request, and what is called when it is stored or is not.
    """

    def __init__(
        self,
        of: SharePartition,
        coordinator: ShardDrains,
        drain: SteadyDrain,
        as_operation: Callable[[Write, Callable[[ErrorCode], None]], QueuedOperation],
        ask: Callable[[Write, Callable[[ErrorCode], None]], None],
    ) -> None: ...
    def __call__(
        self,
        state_epoch: int,
        leader_epoch: int,
        start_offset: int,
        delivery_complete_count: int,
        batches: list[Any],
        stored: Callable[[ErrorCode], None],
    ) -> None: ...

class StateWrite:
    """A write in the queue of a shard. See `runtime/batch.py`, SteadyRequest."""

    key: str
    request_id: None
    def handle(self, machine: Any, batch: Batch, now_ms: int) -> bool: ...
    def as_operation(self) -> QueuedOperation: ...
    def send(self) -> None: ...
