"""One partition led here: a serial queue of operations over a state machine.

Counterpart in Kafka: the context of one partition in `CoordinatorRuntime`.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from enum import Enum, auto
from functools import partial
from typing import Any, Final, Generic, TypeAlias, TypeVar

from _wire.errors import ErrorCode, MalformedMessage
from coordinator.core.causes import Cause
from coordinator.core.decision import NOTHING, Decision, OperationContext, Reply
from coordinator.core.event import Event
from coordinator.core.operation import Scope
from coordinator.logger import logger
from coordinator.runtime.batch import Batch, ProjectionWrite, QueuedOperation, SteadyRequest
from coordinator.runtime.deciding import Decided, decide, with_records
from coordinator.runtime.failed_keys import FailedKeys
from coordinator.runtime.interfaces import LocalStore, Responses, Store, StoreError
from coordinator.runtime.key_timers import KeyTimers
from coordinator.runtime.operation_under_way import WEIGHT_OF_STEPS, OperationUnderWay
from coordinator.runtime.projection import Projection
from coordinator.runtime.slices import Steps, awaited
from coordinator.runtime.state_machine import StateMachine
from coordinator.runtime.waiting_steps import WaitingSteps

LOAD_RETRY_MS_AT_FIRST: Final = 100
LOAD_RETRY_MS_AT_MOST: Final = 10_000

KEYS_PER_OPERATION: Final = 3
"""An operation over the whole shard takes about as long as one on a single key for each so many of its keys."""

APPEND_OPERATIONS: Final = 1
"""To append a batch takes as long as an operation: a client that waits for each answer makes one with each request."""

STEPS_AT_ONCE_MAX: Final = 16
"""Steps that may follow from one operation without time passing.

A first join with a rebalance timeout of 0 takes five: the rebalance starts and completes, the member that has no time
to sync is removed, and the rebalance after that starts and leaves the group empty.
"""


class ShardState(Enum):
    """Whether the partition is served here."""

    INACTIVE = auto()
    """Another node leads the partition, or none."""
    LOADING = auto()
    ACTIVE = auto()
    FAILED = auto()
    """The log could not be read or written; the partition is loaded again after a while."""


ACTIVE: Final = ShardState.ACTIVE

REFUSALS: Final = {
    ShardState.INACTIVE: ErrorCode.NOT_COORDINATOR,
    ShardState.LOADING: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ShardState.FAILED: ErrorCode.COORDINATOR_NOT_AVAILABLE,
}


Machine = TypeVar("Machine", bound=StateMachine)


def _never() -> bool:
    return False


class Shard(Generic[Machine]):
    """Decides, encodes, applies, advances, appends, releases. Nothing else changes its state machine.

    At most one batch is being appended. Operations that come meanwhile wait, reads included: they would see
    changes whose append may still fail.

    A key that breaks an invariant fails alone: `failed_keys` are refused, and rebuilt from the log.
    """

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
        self.partition = partition
        self.machine = machine
        self.projection = projection
        self.state = ShardState.INACTIVE
        self.retry_ms = LOAD_RETRY_MS_AT_FIRST
        self.store = store
        self.local: Final = local
        self._timers = timers
        self._responses = responses
        self._request_drain = request_drain
        self._queue: deque[QueuedOperation | SteadyRequest | ProjectionWrite] = deque()
        self.submit: Final[Callable[[QueuedOperation | SteadyRequest], None]] = self._queue.append
        """Queues an operation."""
        self._load_cause: Cause | None = None
        """Why the next load happens, for the projection; None: for no failure."""
        self._load: WaitingSteps | None = None
        self._load_now_ms = 0
        self._is_activating = False
        """Whether all is read, and sessions begin: what is queued meanwhile is handled a moment later."""
        self.needs_retry = False
        """Whether it failed and nobody has arranged yet that it is loaded again."""
        self.failed_since_ms: int | None = None
        """Since when nothing was stored, until its owner has taken note after it was loaded again; None: it was."""
        self._drained_ms = 0
        self._in_flight: Batch | None = None
        self._appended: Batch | None = None
        self.has_files = local is None
        """Whether all logs are known to have files: an append makes none."""
        self.made_files = False
        """Whether the last batch made the files of a log."""
        self._is_appending = False
        """Whether the store is being called: what it completes meanwhile is not completed later."""
        self._is_partial = False
        """Whether the first operation of the queue was decided in part: it comes before any other."""
        self._under_way: OperationUnderWay | None = None
        """The operation that is being applied in steps: it has left the queue, and comes before all that is in it."""
        self.failed_keys = FailedKeys(
            partition, machine, projection, store, timers, responses, local=local, answered=partial(request_drain, self)
        )
        self._failed = self.failed_keys.by_key

    @property
    def is_active(self) -> bool:
        return self.state is ShardState.ACTIVE

    def submit_first(self, queued: QueuedOperation | ProjectionWrite) -> None:
        """Queue an operation before all that is queued already."""
        self._queue.appendleft(queued)

    @property
    def is_in_flight(self) -> bool:
        """Whether a batch is being appended, at whose end a drain is requested, or an operation is under way.

        What is stored is then not what the state machine is.
        """
        return self._in_flight is not None or self._is_partial or self._under_way is not None

    @property
    def queue_size(self) -> int:
        """How many operations wait."""
        return len(self._queue)

    @property
    def is_idle(self) -> bool:
        """Whether all that was submitted is decided and stored."""
        return self.state is ShardState.ACTIVE and not self._queue and not self.is_in_flight

    @property
    def is_quiet(self) -> bool:
        """Whether an operation that is queued now would be decided next, on what the state machine is now.

        All that was submitted is decided, stored and answered, and no key has failed.
        """
        return (
            self.state is ShardState.ACTIVE
            and not self._queue
            and not self._failed
            and self._appended is None
            and not self.is_in_flight
        )

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

    def drain(self, now_ms: int, operations_max: int) -> int:
        """Handle what is queued as one batch, and append it; `release` does the rest once it is appended.

        Returns how many of the `operations_max` were used; one over the whole shard counts as many.

        When that fails the state is FAILED, and the caller loads the partition again after a while.
        """
        if self.state is not ACTIVE:
            return 0 if self._is_activating else self._refuse_all()
        if self._in_flight is not None:
            return 0
        if self._appended is not None:
            self.release()  # a batch that was appended since the last call
        self.made_files, self._drained_ms = False, now_ms
        under_way = self._under_way
        is_projected_first = under_way is None and bool(self._queue) and isinstance(self._queue[0], ProjectionWrite)
        if is_projected_first:
            self.write_held(now_ms)  # such records begin where a batch of the log begins
            if not self.is_active:
                return 0
        batch = Batch(self.store.batch_bytes_max) if under_way is None else under_way.batch
        try:
            used = self._handle_queued(now_ms, operations_max, batch)
        except Exception:
            logger.exception("unhandled exception in a batch; reloading the partition", partition=self.partition)
            self._fail_batch(batch)
            return operations_max
        if self._under_way is not None:
            return operations_max
        is_stored = self._append(batch, now_ms)
        if is_projected_first:
            self.write_held(now_ms)
        return used + APPEND_OPERATIONS if is_stored else used

    @property
    def _open_batch(self) -> Batch:
        """The batch of the operation under way; without one an empty batch."""
        return Batch(0) if self._under_way is None else self._under_way.batch

    def _handle_queued(self, now_ms: int, operations_max: int, batch: Batch) -> int:
        """Go on with the operation under way, and handle what is queued; returns how many operations it counts as."""
        if self._under_way is not None:
            # What is queued begins a batch of its own: records of the projection alone would have to come first.
            self._go_on(operations_max)
            return operations_max  # there may be more in the queue
        if self.failed_keys.rebuilt:
            self._serve_rebuilt(now_ms)
        used = 0
        while self._queue and used < operations_max:
            queued = self._queue.popleft()
            if not isinstance(queued, QueuedOperation):
                if isinstance(queued, ProjectionWrite):
                    queued.write(self.machine.states, now_ms)
                    continue
                try:
                    is_handled = queued.key not in self._failed and queued.handle(self.machine, batch, now_ms)
                except Exception:
                    self._steady_failed(queued, now_ms)
                    is_handled = True
                if is_handled:
                    used += 1
                    continue
                queued = queued.as_operation()
            used += 1 + self._handle(queued, now_ms, batch)
            if self._under_way is not None:
                used += self._go_on(operations_max - used)
            if self._under_way is not None:
                return operations_max
            if queued.key is None:
                if queued.operation.scope is Scope.SHARD:
                    used += len(self.machine.states) // KEYS_PER_OPERATION
                if self._is_partial:
                    self._queue.appendleft(queued)
                    used = max(used, operations_max)
        return used

    def _go_on(self, operations_max: int) -> int:
        """Go on with the operation under way; returns how many operations its steps count as."""
        assert self._under_way is not None
        used = self._under_way.go_on(operations_max)
        if self._under_way.has_ended:
            self._under_way = None
        return used

    def _append(self, batch: Batch, now_ms: int) -> bool:
        """Append a batch; returns whether it has anything to store."""
        projected = () if self.projection is None else self.projection.pop_records()
        if not projected and not batch.stored:
            self._appended = batch
            return False
        new_files = None if self.has_files else self.local
        if new_files is not None:
            self.made_files = new_files.makes_files(projected, batch.stored)
        self._in_flight = batch
        self._is_appending = True
        self.store.append(projected, batch.stored, now_ms, partial(self._append_completed, batch))
        self._is_appending = False
        if new_files is not None:
            self.has_files = new_files.has_files
        return True

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

    def _append_completed(self, batch: Batch, problem: StoreError | None) -> None:
        if batch is not self._in_flight:
            return  # the partition was unloaded meanwhile
        self._in_flight = None
        if problem is None:
            self._appended = batch
        else:
            self._append_failed(batch, problem)
        if not self._is_appending:
            self._request_drain(self)

    def _append_failed(self, batch: Batch, problem: StoreError) -> None:
        if not problem.is_logged:
            logger.error("cannot append; reloading the partition", partition=self.partition, problem=str(problem))
        self._load_cause = Cause.STORE_FAILED
        self._fail_batch(batch)

    def release(self) -> None:
        """Send the replies of the batch that was appended; nothing happens when there is none."""
        batch, self._appended = self._appended, None
        if batch is None:
            return
        self.machine.stored()
        answer = self._responses.reply
        for reply in batch.replies:
            try:
                if isinstance(reply, Reply):
                    answer(reply.request_id, reply.response)
                else:
                    reply.send()
            except Exception:
                logger.exception("unhandled exception while sending a response", partition=self.partition)

    def _handle(self, queued: QueuedOperation, now_ms: int, batch: Batch) -> int:
        """Handle an operation; returns the weight of its decision."""
        context, key = queued.context, queued.key
        context.now_ms, context.wall_ms = now_ms, now_ms + context.environment.wall.step_ms
        if key in self._failed:
            self.failed_keys.asked(queued, key, now_ms)
            self._fail(queued, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
            return 0
        if context.request_id is not None:
            batch.queued.append(queued)
        decided = decide(self.machine, queued, batch)
        if decided is None:
            self._is_partial = False
            self._abandon(queued, now_ms)
            return 0
        decision = decided[0]
        if key is None:
            self._apply_to_all(queued, decision, batch)
        elif not (decision.events or decision.effects or context.request_id is None):
            batch.replies.extend(decision.replies)  # there is nothing to apply, as for each read
        elif decision.weight >= WEIGHT_OF_STEPS:
            self._under_way = OperationUnderWay(batch, self._apply_in_steps(queued, key, decision, batch))
            return decision.weight
        elif not self._apply(key, decided, now_ms, batch):
            self._fail(queued, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        elif (decision.events and not decision.no_step_follows) or context.request_id is None:
            self._advance(key, context, batch)
        return decision.weight

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

    def _apply(self, key: str, decided: Decided, now_ms: int, batch: Batch) -> bool:
        """Apply and store a decision about a key; False if that broke an invariant: the key failed."""
        decision, records = decided
        projected = 0 if self.projection is None else len(self.projection.records)
        try:
            self.machine.apply(key, decision, now_ms)
        except Exception:
            self.failed_keys.fail(key, now_ms, decision, projected)
            return False
        batch.replies.extend(decision.replies)
        batch.store(records)
        return True

    def _apply_in_steps(
        self, queued: QueuedOperation, key: str, decision: Decision, batch: Batch
    ) -> Generator[int, None, None]:
        """Make the records of a decision, apply it, and take the steps of the key that follow.

        Yields as how many operations each step counts.
        """
        decided = with_records(self.machine, queued, key, decision, batch)
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
            self._advance(key, context, batch)

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
            if self._apply(key, (part, records), context.now_ms, batch):
                self._advance(key, context, batch)
        self._is_partial = decision.is_partial
        if decision.is_partial:
            if context.request_id is not None:
                batch.queued.pop()  # it is in the queue again
        elif decision.marker is not None:
            batch.store_marker(decision.marker)
        elif context.request_id is None:
            self.failed_keys.missed(queued)
        batch.replies.extend(decision.replies)

    def _advance(self, key: str, context: OperationContext, batch: Batch) -> None:
        """Take the steps that the state of a key requires, until there is none."""
        for step in range(STEPS_AT_ONCE_MAX + 1):
            decision = NOTHING
            try:
                decision = self.machine.advance(key, context)
                if not decision.events:
                    self._timers.arm(key, self.machine.deadline_ms(key))
                    return
                if step == STEPS_AT_ONCE_MAX:
                    raise AssertionError(f"more than {STEPS_AT_ONCE_MAX} steps at once, the last: {decision.events}")
                records = self.machine.records(key, decision)
            except Exception:
                self.failed_keys.fail(key, context.now_ms, decision)
                return
            if not self._apply(key, (decision, records), context.now_ms, batch):
                return

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
