"""The transaction coordinator of one node: its shards, their timers, and the markers of what was decided.

Counterpart in Kafka: `TransactionCoordinator`, the background tasks of `TransactionStateManager`.
"""

from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice
from time import perf_counter
from typing import Any, Final, NamedTuple, Protocol

from _wire.errors import ErrorCode
from _wire.messages.list_transactions import TransactionState as Listed
from coordinator.broker.slices import Steps
from coordinator.config import (
    TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS,
    TRANSACTION_REMOVE_EXPIRED_TRANSACTION_CLEANUP_INTERVAL_MS,
)
from coordinator.core.decision import Environment, OperationContext
from coordinator.core.operation import Operation
from coordinator.core.partitioning import partition_for
from coordinator.deadlines import deadline_after
from coordinator.runtime.batch import QueuedOperation
from coordinator.runtime.shard import LOAD_RETRY_MS_AT_MOST, REFUSALS, Shard, ShardState
from coordinator.timers.wheel import TimerWheel
from coordinator.transactions import operations
from coordinator.transactions.admin import Filter
from coordinator.transactions.end import Completed
from coordinator.transactions.markers import MarkerSender
from coordinator.transactions.state_machine import TransactionStateMachine, WakeKey
from coordinator.transactions.transaction import Transaction

OPERATIONS_AT_ONCE: Final = 300
"""Operations that are handled before other work of the event loop has its turn."""
LOAD_SECONDS_AT_ONCE: Final = 0.005
"""How long partitions are loaded before other work of the event loop has its turn."""
CHECKED_AT_ONCE: Final = 1_000
"""Transactional ids whose age is checked before other work has its turn."""

TransactionShard = Shard[TransactionStateMachine]


class LoadRetryKey(NamedTuple):
    """The key of the timer at which a partition that could not be read or written is loaded again."""

    partition: int


class CheckKey(NamedTuple):
    """The key of the timers at which timed out transactions are aborted, and unused transactional ids forgotten.

    `rest` are the transactional ids that are still to be checked in this round; None: a round begins.
    """

    operation: str
    rest: Any = None


class Requests(Protocol):
    """Assigns request ids; see `PendingRequests`."""

    def register(self, waiting: Any) -> int: ...


class ReplyTo:
    """Passes a reply on to a function. `fail` makes the reply that reports an error."""

    __slots__ = ("_fail", "_reply")

    def __init__(self, reply: Callable[[Any], None], fail: Callable[[ErrorCode], Any]) -> None:
        self._reply = reply
        self._fail = fail

    def send_response(self, response: Any) -> None:
        self._reply(response)

    def send_error_response(self, error: ErrorCode) -> None:
        self._reply(self._fail(error))


class TransactionCoordinator:
    """It knows no loop: it gets the time as an argument, and calls `request_iteration` when work is queued.

    There are no shards until `__transaction_state` exists.
    """

    def __init__(
        self,
        make_shard: Callable[[int], TransactionShard],
        wheel: TimerWheel,
        markers: MarkerSender,
        requests: Requests,
        environment: Environment,
        request_iteration: Callable[[], None],
        seconds: Callable[[], float] = perf_counter,
    ) -> None:
        """`seconds` is the clock of the slices in which partitions are loaded."""
        self._seconds = seconds
        self.shards: tuple[TransactionShard, ...] = ()
        self._make_shard = make_shard
        self._wheel = wheel
        self._markers = markers
        self._requests = requests
        self._environment = environment
        self._request_iteration = request_iteration
        self._dirty: dict[int, TransactionShard] = {}
        self._loading: deque[TransactionShard] = deque()
        self._rebuilding: dict[int, TransactionShard] = {}
        config = environment.config
        self._intervals_ms = {
            operations.ABORT_TIMED_OUT.name: config[TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS],
            operations.EXPIRE.name: config[TRANSACTION_REMOVE_EXPIRED_TRANSACTION_CLEANUP_INTERVAL_MS],
        }
        markers.on_complete = self._markers_written

    def counts(self) -> tuple[int, int, int, int]:
        """Transactional ids, open transactions, those whose markers are being written, and how many timed out."""
        machines = [shard.machine for shard in self.shards]
        return (
            sum(len(machine.transactions) for machine in machines),
            sum(len(machine.open) for machine in machines),
            self._markers.count,
            sum(machine.timed_out for machine in machines),
        )

    # ------------------------------------------------------------------------------------------------------ partitions

    def start(self, partition_count: int, led: Iterable[int], now_ms: int) -> None:
        """`__transaction_state` exists: load the partitions that this node leads."""
        self.shards = tuple(self._make_shard(partition) for partition in range(partition_count))
        for shard in self.shards:
            shard.completed_later = self._mark_dirty
        self.load(led)
        for name, interval_ms in self._intervals_ms.items():
            self._wheel.start(CheckKey(name), deadline_after(now_ms, interval_ms))

    def load(self, partitions: Iterable[int]) -> None:
        """Lead these partitions from now on. They are read in slices, one after the other."""
        for partition in partitions:
            self.shards[partition].start_loading()
            self._loading.append(self.shards[partition])
        self._request_iteration()

    def unload(self, partition: int) -> None:
        """Another node leads the partition now."""
        shard = self.shards[partition]
        if shard in self._loading:
            self._loading.remove(shard)
        self._markers.clear(list(shard.machine.transactions))
        shard.unload()

    # ------------------------------------------------------------------------------------------------------ operations

    def enqueue(self, operation: Operation, transactional_id: str, request: Any, context: OperationContext) -> bool:
        """Queue an operation on a transactional id, its request prepared; False if there are no shards yet.

        The response goes to `context.request_id`.
        """
        if not self.shards:
            return False
        shard = self.shards[partition_for(transactional_id, len(self.shards))]
        shard.submit(QueuedOperation(operation, transactional_id, request, context))
        self._mark_dirty(shard)
        return True

    def ask(
        self,
        operation: Operation,
        transactional_id: str,
        request: Any,
        reply: Callable[[Any], None],
        api_version: int = 0,
    ) -> None:
        """Queue an operation whose reply goes to a function, perhaps at once."""

        def failed(error: ErrorCode) -> Any:
            assert operation.error_response is not None
            return operation.error_response(request, error, api_version)

        if not self.shards:
            reply(failed(ErrorCode.NOT_COORDINATOR))
            return
        request_id = self._requests.register(ReplyTo(reply, failed))
        self.enqueue(operation, transactional_id, request, self._context(request_id, api_version))

    def list_transactions(self, wanted: Filter, now_ms: int) -> Steps[list[Listed] | ErrorCode]:
        """The transactions that a filter matches; an error as long as a partition of this node is not loaded."""
        found: list[Listed] = []
        for shard in self.shards:
            if shard.state is ShardState.INACTIVE:
                continue
            if not shard.is_active:
                return REFUSALS[shard.state]
            found += yield from wanted.list(list(shard.machine.transactions.values()), now_ms)
        return found

    def _context(self, request_id: int | None, api_version: int = 0) -> OperationContext:
        return OperationContext(request_id, api_version, "", "", self._environment, 0)

    def _enqueue_internal(self, operation: Operation, transactional_id: str, request: Any = None) -> None:
        self.enqueue(operation, transactional_id, request, self._context(None))

    def _mark_dirty(self, shard: TransactionShard) -> None:
        if not self._dirty:
            self._request_iteration()
        self._dirty[shard.partition] = shard

    def drain(self, now_ms: int) -> None:
        """Handle what is queued; what is more than about `OPERATIONS_AT_ONCE` operations is left for the next time."""
        if self._loading:
            self._load_next_slice(now_ms)
        if self._rebuilding:
            self._rebuild_next_slice(now_ms)
        left = OPERATIONS_AT_ONCE
        while self._dirty:
            if left <= 0:
                self._request_iteration()
                return
            shards, self._dirty = self._dirty, {}
            for shard in shards.values():
                used = shard.drain(now_ms, left if left > 0 else 1)
                if used >= left:
                    self._dirty[shard.partition] = shard
                left -= used
            for shard in shards.values():
                shard.release()
                self._drained(shard, now_ms)

    def _drained(self, shard: TransactionShard, now_ms: int) -> None:
        self._send_markers(shard)
        if shard.failed_keys.due:
            self._rebuilding[shard.partition] = shard
            self._request_iteration()
        if shard.needs_retry:
            self._retry_later(shard, now_ms)

    def _send_markers(self, shard: TransactionShard) -> None:
        """After the replies: who got one that a partition is in the transaction writes to it before its marker."""
        prepared, shard.machine.to_complete = shard.machine.to_complete, []
        for transaction in prepared:
            self._markers.send(transaction)

    def _markers_written(self, transaction: Transaction) -> None:
        completed = Completed(transaction.producer_id, transaction.epoch)
        self._enqueue_internal(operations.COMPLETE, transaction.transactional_id, completed)

    # ------------------------------------------------------------------------------------------------------------ time

    def due(self, key: object, now_ms: int) -> None:
        """A timer is due: it becomes operations of the shards."""
        self._markers.due(key, now_ms)
        match key:
            case WakeKey(transactional_id):
                self._enqueue_internal(operations.WAKE, transactional_id)
            case LoadRetryKey(partition):
                if self.shards[partition].state is ShardState.FAILED:
                    self.load([partition])
            case CheckKey(name, rest):
                self._check(name, rest, now_ms)

    def _check(self, name: str, rest: Any, now_ms: int) -> None:
        """Check some transactional ids; the rest follows a moment later, so that many of them stall no other work."""
        if rest is None:
            rest = iter(self._to_check(name))
        checked = list(islice(rest, CHECKED_AT_ONCE))
        for transactional_id in checked:
            self._enqueue_internal(operations.OPERATIONS[name], transactional_id)
        if len(checked) == CHECKED_AT_ONCE:
            self._wheel.start(CheckKey(name, rest), now_ms + 1)
        else:
            self._wheel.start(CheckKey(name), deadline_after(now_ms, self._intervals_ms[name]))

    def _to_check(self, name: str) -> list[str]:
        active = [shard.machine for shard in self.shards if shard.is_active]
        if name == operations.ABORT_TIMED_OUT.name:
            return [transactional_id for machine in active for transactional_id in machine.open]
        return [transactional_id for machine in active for transactional_id in machine.transactions]

    # --------------------------------------------------------------------------------------------------------- loading

    def _load_next_slice(self, now_ms: int) -> None:
        is_time_over = self._slice()
        while self._loading:
            shard = self._loading[0]
            if is_time_over() or not shard.load_next_slice(now_ms, is_time_over):
                self._request_iteration()
                return
            self._loading.popleft()
            if shard.needs_retry:
                self._retry_later(shard, now_ms)
            else:
                self._mark_dirty(shard)
                self._send_markers(shard)

    def _slice(self) -> Callable[[], bool]:
        """A slice begins; tells whether it is over."""
        seconds, until = self._seconds, self._seconds() + LOAD_SECONDS_AT_ONCE
        return lambda: seconds() >= until

    def _retry_later(self, shard: TransactionShard, now_ms: int) -> None:
        shard.needs_retry = False
        self._wheel.start(LoadRetryKey(shard.partition), deadline_after(now_ms, shard.retry_ms))
        shard.retry_ms = min(shard.retry_ms * 2, LOAD_RETRY_MS_AT_MOST)

    def _rebuild_next_slice(self, now_ms: int) -> None:
        shard = next((each for each in self._rebuilding.values() if not each.is_in_flight), None)
        if shard is None:
            return  # the end of an append requests the next iteration
        if shard.failed_keys.next_slice(now_ms, self._slice()):
            del self._rebuilding[shard.partition]
            self._mark_dirty(shard)
        if self._rebuilding:
            self._request_iteration()
