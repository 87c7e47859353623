"""The interface of what a shard runs: it decides operations and is changed by events.

Counterpart in Kafka: `CoordinatorShard`, which `CoordinatorRuntime` is generic over.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol

from coordinator.core.causes import Cause
from coordinator.core.decision import Decision, OperationContext
from coordinator.core.stored_batch import StoredBatch
from coordinator.runtime.batch import AuditWrite, Batch, QueuedOperation
from coordinator.runtime.interfaces import AuditRecord, Store


class StateMachine(Protocol):
    """The state of one partition, by key. Only `apply` and the end of a load change it."""

    def decide(self, queued: QueuedOperation) -> Decision:
        """What the operation comes to; nothing changes. May raise anything: the operation alone then fails."""

    def decide_too_large(self, queued: QueuedOperation) -> Decision | None:
        """What it comes to when its records are too large; None when it simply fails."""

    def records(self, key: str | None, decision: Decision) -> list[StoredBatch]:
        """The records of a decision that has not been applied. May raise as `decide`."""

    def apply(self, key: str | None, decision: Decision, now_ms: int, batch: Batch) -> None:
        """Apply the events and the session changes, and add replies and what is audited to the batch."""

    def advance(self, key: str, context: OperationContext) -> Decision:
        """The next step that the state of a key requires; a Decision without events when there is none."""

    def settled(self, key: str) -> None:
        """The key has no further step for now: set its timer."""

    def stored(self, batch: Batch) -> None:
        """The batch is stored: what depends on that may become visible."""

    def start_loading(self) -> None: ...

    def write_audit(self, audit_write: AuditWrite, now_ms: int) -> list[AuditRecord]:
        """Audit records that no event causes."""

    def load(self, store: Store) -> Iterator[None]:
        """Read what is stored, in steps; nothing is served before `finish_loading`.

        Raises:
            StoreError, MalformedMessage: it cannot be read.
        """

    def finish_loading(self, now_ms: int, store: Store, cause: Cause | None) -> list[AuditRecord]:
        """All is read. Returns audit records that have to be appended before anything is served.

        `cause` says why the partition is loaded, if it failed before.
        """

    def activate(self, now_ms: int) -> None:
        """Serve what was loaded: timers and sessions begin."""

    def unload(self) -> Iterable[int]:
        """Forget everything, with its timers and sessions. Returns the ids of the requests that wait in it."""
