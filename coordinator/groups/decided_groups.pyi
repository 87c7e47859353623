from typing import Any

from coordinator.core.decision import Decision, OperationContext
from coordinator.core.groups.group import Group
from coordinator.core.stored_batch import StoredBatch
from coordinator.groups.sessions import SessionTable
from coordinator.groups.state_machine import GroupObserver, OnApplied
from coordinator.runtime.batch import QueuedOperation

class DecidedGroups:
    """Groups by group id: decisions about them are made, encoded and applied. What is rare its subclass does."""

    groups: dict[str, Group[Any]]
    sessions: SessionTable
    _newly_stable: dict[str, int]
    """Group id → generation that became stable: once it is stored, heartbeats need not come to the shard."""
    _observer: GroupObserver | None
    _on_applied: OnApplied | None

    def __init__(
        self,
        sessions: SessionTable,
        observer: GroupObserver | None,
        on_applied: OnApplied | None,
        rare_events: frozenset[type],
    ) -> None:
        """`rare_events` are applied by `_apply_and_note`."""

    def decide(self, queued: QueuedOperation) -> Decision: ...
    def records(self, key: str, decision: Decision) -> list[StoredBatch]: ...
    def apply(self, key: str, decision: Decision, now_ms: int) -> None: ...
    def advance(self, key: str, context: OperationContext) -> Decision: ...
    def deadline_ms(self, key: str) -> int | None: ...
    def stored(self) -> None: ...
