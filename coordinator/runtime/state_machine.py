"""The interface of what a shard runs: it decides operations and is changed by events.

Counterpart in Kafka: `CoordinatorShard`, which `CoordinatorRuntime` is generic over.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Protocol

from coordinator.core.causes import Cause
from coordinator.core.decision import Decision, OperationContext
from coordinator.core.stored_batch import StoredBatch
from coordinator.runtime.batch import AuditWrite, Batch, QueuedOperation
from coordinator.runtime.interfaces import AuditRecord, Store


class StateMachine(Protocol):
    """The state of one partition, by key. Only `apply`, `discard` and the end of a load or rebuild change it."""

    @property
    def key_count(self) -> int:
        """How many keys have a state."""

    def decide(self, queued: QueuedOperation) -> Decision:
        """What the operation comes to; nothing changes. May raise anything: the operation alone then fails."""

    def decide_too_large(self, queued: QueuedOperation) -> Decision | None:
        """What it comes to when its records are too large; None when it simply fails."""

    def records(self, key: str, decision: Decision) -> list[StoredBatch]:
        """The records of a decision about a key that has not been applied. May raise as `decide`."""

    def apply(self, key: str, decision: Decision, now_ms: int, batch: Batch) -> None:
        """Apply the events and the session changes, and add replies and what is audited to the batch.

        May raise anything: the key then has to be discarded.
        """

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

    def finish_loading(
        self, now_ms: int, store: Store, cause: Cause | None
    ) -> Generator[None, None, list[AuditRecord]]:
        """All is read. Returns, after some steps, audit records that have to be appended before anything is served.

        `cause` says why the partition is loaded, if it failed before.
        """

    def activate(self, now_ms: int) -> Iterator[None]:
        """Prepare to serve what was loaded, in steps: timers and sessions begin. Nothing is decided meanwhile."""

    def discard(self, key: str, batch: Batch, audited: int) -> Iterable[int]:
        """Forget a key, with its timer and sessions. Returns the ids of the requests that wait in it.

        The batch loses what it has of the key beside records and replies, and its audit after the first `audited`.
        """

    def wake(self, key: str, at_ms: int | None) -> None:
        """Have an operation on the discarded key come at `at_ms`, in ms since the epoch; None: not any more."""

    def rebuild(self, keys: Sequence[str], store: Store) -> Iterator[None]:
        """Read what is stored of discarded keys, in steps; none may be taken while a batch is in flight.

        What is appended between the steps is read too.

        Raises:
            StoreError, MalformedMessage: it cannot be read.
        """

    def serve(self, key: str, now_ms: int, batch: Batch) -> None:
        """Serve a key as `rebuild` has read it: its sessions begin, and its audit goes on."""

    def end_rebuild(self) -> None:
        """Forget what was read: its keys are served, or will be read again."""

    def unload(self) -> Iterable[int]:
        """Forget everything, with its timers and sessions. Returns the ids of the requests that wait in it."""
