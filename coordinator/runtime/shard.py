"""One partition led here: a serial queue of operations over a state machine.

Counterpart in Kafka: the context of one partition in `CoordinatorRuntime`.
"""

from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import Any, Final, Generic, TypeAlias, TypeVar

from _wire.errors import ErrorCode, MalformedMessage
from coordinator.core.causes import Cause
from coordinator.core.decision import Decision, Reply
from coordinator.core.event import Event
from coordinator.logger import logger
from coordinator.runtime.batch import Batch, ProjectionWrite, QueuedOperation, SteadyRequest
from coordinator.runtime.failed_keys import FailedKeys
from coordinator.runtime.interfaces import LocalStore, Responses, Store, StoreError
from coordinator.runtime.key_timers import KeyTimers
from coordinator.runtime.operation_under_way import WEIGHT_OF_STEPS
from coordinator.runtime.projection import Projection
from coordinator.runtime.shard_queue import ShardQueue
from coordinator.runtime.shard_state import REFUSALS, ShardState
from coordinator.runtime.slices import Steps, awaited
from coordinator.runtime.state_machine import StateMachine
from coordinator.runtime.waiting_steps import WaitingSteps

__all__ = ["LOAD_RETRY_MS_AT_FIRST", "LOAD_RETRY_MS_AT_MOST", "REFUSALS", "RequestDrain", "Shard", "ShardState"]

ACTIVE: Final = ShardState.ACTIVE
"""A global, as each operation looks at it: an attribute of an enum class takes longer (CPython 3.11)."""

LOAD_RETRY_MS_AT_FIRST: Final = 100
LOAD_RETRY_MS_AT_MOST: Final = 10_000

Machine = TypeVar("Machine", bound=StateMachine)


def _never() -> bool:
    return False


class Shard(ShardQueue, Generic[Machine]):
    """Decides, encodes, applies, advances, appends, releases (`shard_queue.pyx`); loads, and fails.

    Nothing else changes its state machine.

    At most one batch is being appended. Operations that come meanwhile wait, reads included: they would see
    changes whose append may still fail.

    A key that breaks an invariant fails alone: `failed_keys` are refused, and rebuilt from the log.
    """

    machine: Machine

    def __init__(
        self,
        partition: int,
        machine: Machine,
        store: Store,
        timers: KeyTimers,
        responses: Responses,
        *,
        request_drain: "RequestDrain",
        projection: Projection | None = None,
        local: LocalStore | None = None,
    ) -> None:
        """`request_drain` is called when an append, or what a load waits for, completes outside of `drain`.

        `local` is the store, if its logs are files of this node.
        """
        failed_keys = FailedKeys(
            partition, machine, projection, store, timers, responses, local=local, answered=partial(request_drain, self)
        )
        super().__init__(
            partition,
            machine,
            store,
            timers,
            responses,
            failed_keys,
            request_drain=request_drain,
            projection=projection,
            local=local,
        )
        self.retry_ms = LOAD_RETRY_MS_AT_FIRST
        self._load_cause: Cause | None = None
        """Why the next load happens, for the projection; None: for no failure."""
        self._load: WaitingSteps | None = None
        self._load_now_ms = 0
        self.failed_since_ms: int | None = None
        """Since when nothing was stored, until its owner has taken note after it was loaded again; None: it was."""

    @property
    def is_active(self) -> bool:
        return self.state is ACTIVE

    def submit_first(self, queued: QueuedOperation | ProjectionWrite) -> None:
        """Queue an operation before all that is queued already."""
        self._queue.appendleft(queued)

    @property
    def queue_size(self) -> int:
        """How many operations wait."""
        return len(self._queue)

    # ---------------------------------------------------------------------------------------------------------- loading

    def start_loading(self, cause: Cause | None = None) -> None:
        """This node leads the partition from now on, or tries again to read it; a `cause` is told by the projection."""
        self._load_cause = cause or self._load_cause
        self.state, self._in_flight = ShardState.LOADING, None
        self._is_activating = False
        self._cancel_load()
        self._load = WaitingSteps(self._load_steps(), partial(self._request_drain, self))

    @property
    def load_is_waiting(self) -> bool:
        """Whether the load has no step to take until a drain is requested."""
        return self._load is not None and self._load.is_waiting

    def load_next_slice(self, now_ms: int, is_time_over: Callable[[], bool] = _never) -> bool:
        """Take steps of the load until `is_time_over`, so that a long log stalls nothing else; False if there are more.

        At the end the state is ACTIVE, or FAILED when a log cannot be read or the projection not be written; the caller
        retries that. Nothing happens while `load_is_waiting`, at whose end a drain is requested.
        """
        self._load_now_ms = now_ms
        try:
            if self._load is not None and self._load.run(is_time_over):
                self._activated()
        except (StoreError, MalformedMessage) as problem:
            self._loading_failed(problem)
        return self.state is not ShardState.LOADING

    def _load_steps(self) -> Steps[None]:
        yield from self.store.prepare()
        yield from self.machine.load(self.store)
        if self.projection is not None:
            yield from self.projection.load(self.machine.loaded, self._load_now_ms, self._load_cause)
            if self.projection.records:
                records = self.projection.pop_records()
                problem = yield from awaited(partial(self.store.append, records, (), self._load_now_ms))
                if problem is not None:
                    raise problem
        self._is_activating = True
        yield from self.machine.activate(self._load_now_ms)

    def _activated(self) -> None:
        self._load, self._load_cause = None, None
        self._is_activating = False
        self.state, self.retry_ms = ShardState.ACTIVE, LOAD_RETRY_MS_AT_FIRST

    def _loading_failed(self, problem: Exception) -> None:
        logger.error("cannot load partition", partition=self.partition, problem=str(problem), retry_ms=self.retry_ms)
        self._cancel_load()
        self._forget_state()
        self.state, self.needs_retry = ShardState.FAILED, True

    def _cancel_load(self) -> None:
        load, self._load = self._load, None
        if load is not None:
            load.cancel()

    def unload(self) -> None:
        """Stop leading the partition: requests are answered NOT_COORDINATOR, and its state is dropped."""
        batch = self._in_flight or self._appended or self._open_batch
        self._in_flight = self._appended = None
        self.state, self._load_cause = ShardState.INACTIVE, None
        self._cancel_load()
        self._is_activating = False
        self.failed_since_ms = None
        self._fail_all(batch, ErrorCode.NOT_COORDINATOR)

    # ------------------------------------------------------------------------------------------------------- operations

    @property
    def _open_batch(self) -> Batch:
        """The batch of the operation under way; without one an empty batch."""
        return Batch(0) if self._under_way is None else self._under_way.batch

    def _serve_rebuilt(self, now_ms: int) -> None:
        """Serve the keys that were rebuilt since the last batch; what they missed comes before all other operations."""
        missed = self.failed_keys.serve_rebuilt(now_ms)
        while self._queue and isinstance(first := self._queue[0], ProjectionWrite):
            first.write(self.machine.states, now_ms)
            self._queue.popleft()
        self._queue.extendleft(reversed(missed))

    def write_held(self, now_ms: int) -> None:
        """Append the records that the store holds back; when that fails, the partition is loaded again."""
        if self.local is None or not self.is_active:
            return
        try:
            self.local.write_held(now_ms)
        except StoreError as problem:
            self._append_failed(self._in_flight or self._open_batch, problem)

    def _append_failed(self, batch: Batch, problem: StoreError) -> None:
        if not problem.is_logged:
            logger.error("cannot append; reloading the partition", partition=self.partition, problem=str(problem))
        self._load_cause = Cause.STORE_FAILED
        self._fail_batch(batch)

    def _steady_failed(self, request: SteadyRequest, now_ms: int) -> None:
        """It broke an invariant of its key, in an `except`."""
        self.failed_keys.fail(request.key, now_ms)
        request_id = request.as_operation().context.request_id
        assert request_id is not None, "somebody waits for each steady request"
        self._responses.fail(request_id, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def _abandon(self, queued: QueuedOperation, now_ms: int) -> None:
        """The operation failed: a key that waits for what it was to bring waits for it no more."""
        if queued.operation.failed is not None and queued.key is not None:
            self.failed_keys.fail(queued.key, now_ms)

    def _apply_in_steps(
        self, queued: QueuedOperation, key: str, decision: Decision, batch: Batch
    ) -> Generator[int, None, None]:
        """Make the records of a decision, apply it, and take the steps of the key that follow.

        Yields as how many operations each step counts.
        """
        decided = self.with_records(queued, key, decision, batch)
        if decided is None:
            self._abandon(queued, queued.context.now_ms)
            return
        yield WEIGHT_OF_STEPS
        decision, records = decided
        context = queued.context
        projected = 0 if self.projection is None else len(self.projection.records)
        try:
            yield from self.machine.apply_in_steps(key, decision, context.now_ms)
        except Exception:
            self.failed_keys.fail(key, context.now_ms, decision, projected)
            self._fail(queued, ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        batch.replies.extend(decision.replies)
        batch.store(records)
        if not decision.no_step_follows:
            self.advance_now(key, context, batch)

    def _apply_to_all(self, queued: QueuedOperation, decision: Decision, batch: Batch) -> None:
        """Apply and store a decision over the whole shard; what it is for one key may fail without the others."""
        context = queued.context
        events: dict[str, list[Event]] = {}
        for event in decision.events:
            events.setdefault(event.key, []).append(event)
        for key, of_key in events.items():
            # With the marker, as its events say what it does to the key; it is stored once, after all of them.
            part = Decision(tuple(of_key), marker=decision.marker, is_partial=decision.is_partial)
            try:
                records = self.machine.records(key, part)
                batch.check(records)
            except Exception:
                logger.exception("unhandled exception in operation", operation=queued.operation.name, key=key)
                continue
            if self.apply_now(key, part, records, context.now_ms, batch):
                self.advance_now(key, context, batch)
        self._is_partial = decision.is_partial
        if decision.is_partial:
            if context.request_id is not None:
                batch.queued.pop()  # it is in the queue again
        elif decision.marker is not None:
            batch.store_marker(decision.marker)
        elif context.request_id is None:
            self.failed_keys.missed(queued)
        batch.replies.extend(decision.replies)

    def _refuse_all(self) -> int:
        """Refuse all that is queued; return how much that was."""
        refused = len(self._queue)
        while self._queue:
            queued = self._queue.popleft()
            if not isinstance(queued, ProjectionWrite):
                self._fail(queued, REFUSALS[self.state])
        return refused

    def _fail(self, queued: QueuedOperation | SteadyRequest, error: ErrorCode) -> None:
        if not isinstance(queued, QueuedOperation):
            queued = queued.as_operation()
        if queued.context.request_id is not None:
            self._responses.reply(queued.context.request_id, queued.error_response(error))

    def _fail_batch(self, batch: Batch) -> None:
        """Drop the batch: its requests and all that wait in the partition get a retriable error."""
        if self.failed_since_ms is None:
            self.failed_since_ms = self._drained_ms
        self.state, self.needs_retry = ShardState.FAILED, True
        self._fail_all(batch, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def _fail_all(self, batch: Batch, error: ErrorCode) -> None:
        """Forget the state, and answer the requests of a batch, those that wait in it and those that are queued."""
        self.failed_keys.clear()
        if self.local is not None:
            self.local.drop_held()
        self._is_partial = False
        if self._under_way is not None:
            self._under_way.cancel()
            self._under_way = None
        waiting = self._forget_state()
        for queued in batch.queued:
            self._fail(queued, error)
        replies = (reply.request_id for reply in batch.replies if isinstance(reply, Reply))
        for request_id in (*waiting, *replies):
            self._responses.fail(request_id, error)
        self._refuse_all()

    def _forget_state(self) -> Iterable[int]:
        """Forget the state of all keys. Returns the ids of the requests that wait in it."""
        self._timers.disarm_all(self.machine.states)
        if self.projection is not None:
            self.projection.clear()
        return self.machine.unload()


RequestDrain: TypeAlias = Callable[[Shard[Any]], None]
"""Has a shard drained soon."""
