"""The keys of a shard that failed alone, and when each of them is served again."""

from collections.abc import Callable
from typing import Final

import msgspec

from _wire.errors import ErrorCode, MalformedMessage
from coordinator.core.decision import NOTHING, Decision
from coordinator.core.operation import Scope
from coordinator.deadlines import deadline_after
from coordinator.logger import logger
from coordinator.runtime.batch import QueuedOperation
from coordinator.runtime.interfaces import LocalStore, Responses, Store, StoreError
from coordinator.runtime.key_timers import KeyTimers
from coordinator.runtime.projection import Projection
from coordinator.runtime.slices import Steps
from coordinator.runtime.state_machine import StateMachine
from coordinator.runtime.waiting_steps import WaitingSteps

REBUILD_RETRY_MS_AT_FIRST: Final = 100
REBUILD_RETRY_MS_AT_MOST: Final = 10_000
"""As for a partition that cannot be loaded (`shard.LOAD_RETRY_MS_AT_MOST`)."""

LOG_START: Final = 0

KEYS_LOGGED_MAX: Final = 10
"""Keys that a log line names."""


class FailedKey(msgspec.Struct):
    """A key that is not served: its state was discarded, and is to be rebuilt from the log."""

    next_retry_ms: int
    """The delay before the rebuild that follows the next failure, in ms."""
    rebuild_ms: int = 0
    """When the next rebuild begins, in ms since the epoch."""
    is_due: bool = False
    """Whether the next rebuild, or the one under way, is about it."""
    missed: list[QueuedOperation] = msgspec.field(default_factory=list)
    """Operations over the whole shard that came meanwhile; they are decided about this key when it is served again."""


class FailedKeys:
    """Keeps failed keys from being served, and rebuilds them from the log: all that are due in one reading, in slices.

    A rebuild begins `REBUILD_RETRY_MS_AT_FIRST` after the failure. Each further one of the same key waits twice as
    long, up to `REBUILD_RETRY_MS_AT_MOST`, until the key was served for so long without a failure.
    """

    def __init__(
        self,
        partition: int,
        machine: StateMachine,
        projection: Projection | None,
        store: Store,
        timers: KeyTimers,
        responses: Responses,
        *,
        local: LocalStore | None,
        answered: Callable[[], None],
    ) -> None:
        """`answered` is called when what a rebuild waits for is there."""
        self.by_key: dict[str, FailedKey] = {}
        """Always the same dict: the shard looks it up for each operation."""
        self.due: list[str] = []
        """Keys of the next rebuild."""
        self.rebuilt: list[str] = []
        """Keys of which all that is stored was read: the next batch begins to serve them."""
        self._partition = partition
        self._machine = machine
        self._projection = projection
        self._timers = timers
        self._store = store
        self._local = local
        self._responses = responses
        self._being_rebuilt: list[str] = []
        self._answered = answered
        self._steps: WaitingSteps | None = None
        self._served_again: dict[str, tuple[int, int]] = {}
        """Key → the delay in ms before its next rebuild, and until when that delay holds."""

    def fail(self, key: str, now_ms: int, decision: Decision = NOTHING, projected: int | None = None) -> None:
        """Discard a key that broke an invariant, in an `except`: nothing of the decision stays in the batch.

        What was decided about the key before stays: it was valid, and is stored and answered with the batch.
        `projected` is how many records the projection had in the batch before the decision; None: as many as now.
        """
        waiting = self._machine.discard(key)
        if self._projection is not None:
            self._projection.discard(key, len(self._projection.records) if projected is None else projected)
        retry_ms = self._schedule(key, now_ms)
        logger.exception(
            "invariant violated; rebuilding the state of the key", partition=self._partition, key=key, retry_ms=retry_ms
        )
        for request_id in (*waiting, *(reply.request_id for reply in decision.replies)):
            self._responses.fail(request_id, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def _schedule(self, key: str, now_ms: int) -> int:
        """Have the key rebuilt later; returns the delay in ms."""
        failed = self.by_key.get(key)
        if failed is None:
            retry_ms, until_ms = self._served_again.pop(key, (REBUILD_RETRY_MS_AT_FIRST, 0))
            failed = self.by_key[key] = FailedKey(retry_ms if now_ms < until_ms else REBUILD_RETRY_MS_AT_FIRST)
        retry_ms = failed.next_retry_ms
        failed.rebuild_ms = deadline_after(now_ms, retry_ms)
        failed.is_due = False
        failed.next_retry_ms = min(retry_ms * 2, REBUILD_RETRY_MS_AT_MOST)
        self._timers.arm(key, failed.rebuild_ms)
        return retry_ms

    # ---- operations

    def asked(self, queued: QueuedOperation, key: str, now_ms: int) -> None:
        """An operation on a failed key came, perhaps that of its timer."""
        failed = self.by_key[key]
        if queued.operation.scope is Scope.PASSED_OVER:
            failed.missed.append(queued)
        if failed.rebuild_ms <= now_ms and not failed.is_due:
            failed.is_due = True
            self._timers.arm(key, None)
            self.due.append(key)

    def missed(self, queued: QueuedOperation) -> None:
        """An operation over the whole shard, for which nobody waits, was decided without the failed keys."""
        for key, failed in self.by_key.items():
            of_key = QueuedOperation(queued.operation.on_one_group(), key, queued.request, queued.context)
            failed.missed.append(of_key)

    # ---- rebuilding

    def next_slice(self, now_ms: int, is_time_over: Callable[[], bool]) -> bool:
        """Take steps of a rebuild until `is_time_over`, a new one if none is under way; False when there are more.

        Nothing may be in flight. At the end the keys are in `rebuilt`, or wait for the next try if the log could not be
        read.
        """
        if self._steps is None:
            if not self.due:
                return True
            self._being_rebuilt, self.due = self.due, []
            self._steps = WaitingSteps(self._rebuild(), self._answered)
        try:
            # The rebuild reads what the projection said last about each of these keys.
            if self._local is not None:
                self._local.write_held(now_ms)
            if not self._steps.run(is_time_over):
                return False
            self.rebuilt = self._being_rebuilt
        except (StoreError, MalformedMessage) as problem:
            logger.error("cannot rebuild the state of keys", **self._described(), problem=str(problem))
            self._try_again(now_ms)
        except Exception:
            logger.exception("invariant violated while rebuilding the state of keys", **self._described())
            self._try_again(now_ms)
        if not self.rebuilt:
            self._machine.end_rebuild()
        self._being_rebuilt, self._steps = [], None
        return True

    @property
    def is_waiting(self) -> bool:
        """Whether the rebuild has no step to take until `answered` is called."""
        return self._steps is not None and self._steps.is_waiting

    def _rebuild(self) -> Steps[None]:
        """Read what is stored of the keys. The end of the log is reached at the last step."""
        machine, store = self._machine, self._store
        machine.start_rebuild(self._being_rebuilt)
        yield from machine.read_again(store, LOG_START)
        if self._projection is not None:
            read_to = store.end_offset
            yield from self._projection.rebuild(machine.rebuilt)
            yield from machine.read_again(store, read_to)

    def _described(self) -> dict[str, object]:
        keys = self._being_rebuilt
        return {"partition": self._partition, "keys": keys[:KEYS_LOGGED_MAX], "count": len(keys)}

    def _try_again(self, now_ms: int) -> None:
        for key in self._being_rebuilt:
            self._schedule(key, now_ms)

    def serve_rebuilt(self, now_ms: int) -> list[QueuedOperation]:
        """Serve the keys that were rebuilt, from the beginning of a batch on; returns the operations they missed."""
        self._served_again = {key: times for key, times in self._served_again.items() if now_ms < times[1]}
        keys, self.rebuilt = self.rebuilt, []
        missed: list[QueuedOperation] = []
        for key in keys:
            projected = 0 if self._projection is None else len(self._projection.records)
            try:
                self._machine.serve(key, now_ms)
                if self._projection is not None:
                    self._projection.serve(key, self._machine.rebuilt.get(key), now_ms)
            except Exception:
                self.fail(key, now_ms, projected=projected)
                continue
            failed = self.by_key.pop(key)
            self._served_again[key] = failed.next_retry_ms, deadline_after(now_ms, REBUILD_RETRY_MS_AT_MOST)
            missed += failed.missed
        self._machine.end_rebuild()
        return missed

    def clear(self) -> None:
        """The whole shard is loaded again, or not served here any more."""
        for key in self.by_key:
            self._timers.arm(key, None)
        self.by_key.clear()
        self.due.clear()
        self._served_again.clear()
        self.rebuilt, self._being_rebuilt = [], []
        if self._steps is not None:
            self._steps.cancel()
            self._steps = None
