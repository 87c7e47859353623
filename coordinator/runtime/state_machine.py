"""The interface of what a shard runs: it decides operations and is changed by events.

Counterpart in Kafka: `CoordinatorShard`, which `CoordinatorRuntime` is generic over.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any, Protocol

from coordinator.core.decision import Decision, OperationContext
from coordinator.core.stored_batch import StoredBatch
from coordinator.runtime.batch import QueuedOperation
from coordinator.runtime.interfaces import Store
from coordinator.runtime.slices import Steps


class StateMachine(Protocol):
    """The state of one partition, by key. Only `apply`, `discard` and the end of a load or rebuild change it."""

    @property
    def states(self) -> Mapping[str, Any]:
        """Key → state."""

    def decide(self, queued: QueuedOperation) -> Decision:
        """What the operation comes to; nothing changes. May raise anything: the operation alone then fails."""

    def decide_failed(self, queued: QueuedOperation, problem: Exception) -> Decision | None:
        """What it comes to when it failed, as with `RecordsTooLarge`; None when that is all. May raise as `decide`."""

    def records(self, key: str, decision: Decision) -> list[StoredBatch]:
        """The records of a decision about a key that has not been applied. May raise as `decide`."""

    def apply(self, key: str, decision: Decision, now_ms: int) -> None:
        """Apply the events, then make the effects.

        May raise anything: the key then has to be discarded.
        """

    def apply_in_steps(self, key: str, decision: Decision, now_ms: int) -> Generator[int, None, None]:
        """As `apply`, for a decision with much to apply. Each step yields as how many operations it counts.

        Until the last one no other key is decided about, and the key is in a state that nobody may see.
        """

    def advance(self, key: str, context: OperationContext) -> Decision:
        """The next step that the state of a key requires; a Decision without events when there is none."""

    def deadline_ms(self, key: str) -> int | None:
        """When the state of a key has to advance without an operation; None: never. Milliseconds since the epoch."""

    def stored(self) -> None:
        """All that was applied so far is stored: what depends on that may become visible."""

    def load(self, store: Store) -> Steps[None]:
        """Read what is stored, in steps; nothing of it is served before `activate`.

        Raises:
            StoreError, MalformedMessage: it cannot be read.
        """

    @property
    def loaded(self) -> Mapping[str, Any]:
        """Key → state, as `load` has read them."""

    def activate(self, now_ms: int) -> Steps[None]:
        """Serve what was loaded, in steps: sessions begin. Nothing is decided meanwhile."""

    def discard(self, key: str) -> Iterable[int]:
        """Forget a key and its sessions. Returns the ids of the requests that wait in it."""

    def start_rebuild(self, keys: Sequence[str]) -> None:
        """Discarded keys are to be read again."""

    def read_again(self, store: Store, from_offset: int) -> Steps[None]:
        """Read what is stored of these keys from an offset on, in steps, with what is appended between them.

        Raises:
            StoreError, MalformedMessage: it cannot be read.
        """

    @property
    def rebuilt(self) -> Mapping[str, Any]:
        """Key → state of these keys, as `read_again` has read them."""

    def serve(self, key: str, now_ms: int) -> None:
        """Serve a key as it was read again: its sessions begin."""

    def end_rebuild(self) -> None:
        """Forget what was read: its keys are served, or will be read again."""

    def unload(self) -> Iterable[int]:
        """Forget everything, with its sessions. Returns the ids of the requests that wait in it."""
