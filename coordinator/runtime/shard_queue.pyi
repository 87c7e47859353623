from collections import deque
from collections.abc import Sequence
from typing import Any, Final

from coordinator.core.decision import Decision, OperationContext
from coordinator.core.stored_batch import StoredBatch
from coordinator.runtime.batch import Batch, ProjectionWrite, QueuedOperation, SteadyRequest
from coordinator.runtime.deciding import Decided
from coordinator.runtime.failed_keys import FailedKeys
from coordinator.runtime.interfaces import LocalStore, Responses, Store, StoreError
from coordinator.runtime.key_timers import KeyTimers
from coordinator.runtime.operation_under_way import OperationUnderWay
from coordinator.runtime.projection import Projection
from coordinator.runtime.shard import RequestDrain
from coordinator.runtime.shard_state import ShardState
from coordinator.runtime.state_machine import StateMachine

class ShardQueue:
    """The operations of a shard, from their queue to their replies. What is rare its subclass `Shard` does."""

    partition: Final[int]
    projection: Projection | None
    state: ShardState
    store: Store
    local: Final[LocalStore | None]
    failed_keys: FailedKeys
    has_files: bool
    """Whether all logs are known to have files: an append makes none."""
    made_files: bool
    """Whether the last batch made the files of a log."""
    needs_retry: bool
    """Whether it failed and nobody has arranged yet that it is loaded again."""
    _drained_ms: int
    """When it was last drained."""
    _timers: KeyTimers
    _responses: Responses
    _request_drain: RequestDrain
    _queue: deque[QueuedOperation | SteadyRequest | ProjectionWrite]
    _in_flight: Batch | None
    _appended: Batch | None
    _is_partial: bool
    """Whether the first operation of the queue was decided in part: it comes before any other."""
    _is_activating: bool
    """Whether all is read, and sessions begin: what is queued meanwhile is handled a moment later."""
    _under_way: OperationUnderWay | None
    """The operation that is being applied in steps: it has left the queue, and comes before all that is in it."""
    _failed: dict[str, Any]

    def __init__(
        self,
        partition: int,
        machine: StateMachine,
        store: Store,
        timers: KeyTimers,
        responses: Responses,
        failed_keys: FailedKeys,
        *,
        request_drain: RequestDrain,
        projection: Projection | None,
        local: LocalStore | None,
    ) -> None: ...
    def submit(self, queued: QueuedOperation | SteadyRequest) -> None:
        """Queue an operation."""

    @property
    def is_in_flight(self) -> bool:
        """Whether a batch is being appended, at whose end a drain is requested, or an operation is under way.

        What is stored is then not what the state machine is.
        """

    @property
    def is_idle(self) -> bool:
        """Whether all that was submitted is decided and stored."""

    @property
    def is_quiet(self) -> bool:
        """Whether an operation that is queued now would be decided next, on what the state machine is now.

        All that was submitted is decided, stored and answered, and no key has failed.
        """

    def drain(self, now_ms: int, operations_max: int) -> int:
        """Handle what is queued as one batch, and append it; `release` does the rest once it is appended.

        Returns how many of the `operations_max` were used; one over the whole shard counts as many.

        When that fails the state is FAILED, and the caller loads the partition again after a while.
        """

    def decide(self, queued: QueuedOperation, key: str | None, batch: Batch) -> Decided | None:
        """The decision with its records, measured; None when the operation failed, which changes nothing.

        Records of a decision over the whole shard are made later, key by key, those of one with much to apply in a step
        of their own.
        """

    def with_records(self, queued: QueuedOperation, key: str, decision: Decision, batch: Batch) -> Decided | None:
        """As `decide`: the decision with its records, or another one if they are too large."""

    def apply_now(
        self, key: str, decision: Decision, records: Sequence[StoredBatch], now_ms: int, batch: Batch
    ) -> bool:
        """Apply and store a decision about a key; False if that broke an invariant: the key failed."""

    def advance_now(self, key: str, context: OperationContext, batch: Batch) -> None:
        """Take the steps that the state of a key requires, until there is none."""

    def _append_completed(self, batch: Batch, problem: StoreError | None) -> None: ...
    def release(self) -> None:
        """Send the replies of the batch that was appended; nothing happens when there is none."""
