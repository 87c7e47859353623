"""The states of the share partitions of one partition of `__share_group_state`."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Final

from coordinator.core.decision import NOTHING, Decision, OperationContext
from coordinator.core.share_state.events import States
from coordinator.core.share_state.state import ShareState
from coordinator.core.share_state.stored import StoredStates, records_of
from coordinator.core.stored_batch import StoredBatch
from coordinator.runtime.batch import QueuedOperation
from coordinator.runtime.interfaces import Store
from coordinator.runtime.slices import Steps
from coordinator.share_state.replay import ShareStateReplay
from coordinator.share_state.snapshot_offsets import SnapshotOffsets

STATE_BYTES: Final = 600
"""What a state takes beside its names and batches, about."""
SUMMED_AT_ONCE: Final = 1_000


def held_bytes_of(state: ShareState | None) -> int:
    """The memory that a state takes, about: its group id is in it, and in its key."""
    return 0 if state is None else STATE_BYTES + 2 * len(state.of.group_id) + len(state.batches)


class ShareStateMachine:
    """States by the key of their share partition."""

    def __init__(self, snapshots: SnapshotOffsets, updates_per_snapshot: Callable[[], int]) -> None:
        """A load tells `snapshots` where the snapshots lie. `updates_per_snapshot` is the setting of that name."""
        self.states: States = {}
        self.held_bytes = 0
        """The memory that the states take, about."""
        self.writes = 0
        """Records that were decided since the start of the node, but for those of deletions."""
        self._snapshots = snapshots
        self.updates_per_snapshot: Final = updates_per_snapshot
        self._loading = self._nothing()
        self._rebuilding = self._nothing()

    def _nothing(self) -> StoredStates:
        return StoredStates(self.updates_per_snapshot())

    # ------------------------------------------------------------------------------------------------------- operations

    def decide(self, queued: QueuedOperation) -> Decision:
        assert queued.key is not None, "no operation is over the whole shard"
        return queued.operation.decide(self.states.get(queued.key), queued.request, queued.context)

    def decide_failed(self, queued: QueuedOperation, problem: Exception) -> Decision | None:
        return None

    def records(self, key: str, decision: Decision) -> list[StoredBatch]:
        return records_of(decision.events)

    def apply(self, key: str, decision: Decision, now_ms: int) -> None:
        before = self.states.get(key)
        for event in decision.events:
            event.apply(self.states)
        self.held_bytes += held_bytes_of(self.states.get(key)) - held_bytes_of(before)
        self.writes += len(decision.events)

    def apply_in_steps(self, key: str, decision: Decision, now_ms: int) -> Generator[int, None, None]:
        """No decision about a share partition has much to apply."""
        yield 1
        self.apply(key, decision, now_ms)

    def advance(self, key: str, context: OperationContext) -> Decision:
        return NOTHING

    def deadline_ms(self, key: str) -> int | None:
        """None: no share partition has a timer of its own."""
        return None

    def stored(self) -> None:
        """Nothing waits for it but the replies."""

    # ---------------------------------------------------------------------------------------------------------- loading

    def load(self, store: Store) -> Steps[None]:
        self._loading = self._nothing()
        self._snapshots.clear()
        yield from store.replay(ShareStateReplay(self._loading, self._snapshots))

    @property
    def loaded(self) -> Mapping[str, ShareState]:
        return self._loading.states

    def activate(self, now_ms: int) -> Steps[None]:
        held_bytes = 0
        for number, state in enumerate(self._loading.states.values()):
            if number % SUMMED_AT_ONCE == 0:
                yield
            held_bytes += held_bytes_of(state)
        self.states, self._loading, self.held_bytes = self._loading.states, self._nothing(), held_bytes

    def discard(self, key: str) -> Iterable[int]:
        self.held_bytes -= held_bytes_of(self.states.pop(key, None))
        return ()

    def start_rebuild(self, keys: Sequence[str]) -> None:
        self._rebuilding = StoredStates(self.updates_per_snapshot(), frozenset(keys))

    def read_again(self, store: Store, from_offset: int) -> Steps[None]:
        return store.replay(ShareStateReplay(self._rebuilding), from_offset)

    @property
    def rebuilt(self) -> Mapping[str, ShareState]:
        return self._rebuilding.states

    def serve(self, key: str, now_ms: int) -> None:
        state = self._rebuilding.states.get(key)
        if state is not None:
            self.held_bytes += held_bytes_of(state) - held_bytes_of(self.states.get(key))
            self.states[key] = state

    def end_rebuild(self) -> None:
        self._rebuilding = self._nothing()

    def unload(self) -> Iterable[int]:
        self.states, self._loading, self._rebuilding, self.held_bytes = {}, self._nothing(), self._nothing(), 0
        self._snapshots.clear()
        return ()
