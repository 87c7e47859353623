"""The transaction coordinator of one node: its shards, their timers, and the markers of what was decided.

Counterpart in Kafka: `TransactionCoordinator`, the background tasks of `TransactionStateManager`.
"""

from collections.abc import Callable, Iterable
from itertools import islice
from time import perf_counter
from typing import Any, Final, Protocol

import msgspec

from _wire.errors import ErrorCode
from _wire.messages.list_transactions import TransactionState as Listed
from coordinator.config.transaction_keys import (
    TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS,
    TRANSACTION_REMOVE_EXPIRED_TRANSACTION_CLEANUP_INTERVAL_MS,
)
from coordinator.core.decision import Environment, OperationContext
from coordinator.core.operation import Operation
from coordinator.core.transactions import operations
from coordinator.core.transactions.admin import Filter
from coordinator.core.transactions.end import Completed
from coordinator.core.transactions.partitions import PartitionErrors, PartitionsRequest
from coordinator.core.transactions.transaction import Transaction
from coordinator.deadlines import deadline_after
from coordinator.internal_topics import TRANSACTIONS_TOPIC
from coordinator.runtime.batch import QueuedOperation
from coordinator.runtime.coordinator_runtime import CoordinatorRuntime, MakeShard
from coordinator.runtime.key_timers import KeyTimers
from coordinator.runtime.load_progress import LoadProgress
from coordinator.runtime.reply_to import ReplyTo
from coordinator.runtime.shard import REFUSALS, Shard, ShardState
from coordinator.runtime.slices import Steps
from coordinator.timers.wheel import TimerWheel
from coordinator.transactions.markers import MarkerSender
from coordinator.transactions.state_machine import TransactionStateMachine

CHECKED_AT_ONCE: Final = 1_000
"""Transactional ids whose age is checked before other work has its turn."""

TransactionShard = Shard[TransactionStateMachine]


class CheckKey(msgspec.Struct, frozen=True):
    """The key of the timers at which timed out transactions are aborted, and unused transactional ids forgotten.

    `rest` are the transactional ids that are still to be checked in this round; None: a round begins.
    """

    operation: str
    rest: Any = None


class Requests(Protocol):
    """Assigns request ids; see `PendingRequests`."""

    def register(self, waiting: Any) -> int: ...


class TransactionCoordinator(CoordinatorRuntime[TransactionStateMachine]):
    """The transaction coordinator of one node. There are no shards until `__transaction_state` exists."""

    def __init__(
        self,
        make_shard: MakeShard[TransactionStateMachine],
        environment: Environment,
        wheel: TimerWheel,
        timers: KeyTimers,
        *,
        markers: MarkerSender,
        requests: Requests,
        request_iteration: Callable[[], None],
        seconds: Callable[[], float] = perf_counter,
    ) -> None:
        progress = LoadProgress(TRANSACTIONS_TOPIC, "transactional ids")
        super().__init__(progress, wheel, timers, environment, request_iteration, seconds)
        self._make_shard = make_shard
        self._markers = markers
        self._requests = requests
        config = environment.config
        self._intervals_ms = {
            operations.ABORT_TIMED_OUT.name: config[TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS],
            operations.EXPIRE.name: config[TRANSACTION_REMOVE_EXPIRED_TRANSACTION_CLEANUP_INTERVAL_MS],
        }

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
        self._make_shards(self._make_shard, partition_count)
        self.load(led)
        for name, interval_ms in self._intervals_ms.items():
            self._wheel.start(CheckKey(name), deadline_after(now_ms, interval_ms))

    def unload(self, partition: int) -> None:
        self._markers.clear(list(self.shards[partition].machine.transactions))
        super().unload(partition)

    # ------------------------------------------------------------------------------------------------------ operations

    def enqueue(self, operation: Operation, transactional_id: str, request: Any, context: OperationContext) -> bool:
        """Queue an operation on a transactional id, its request prepared; False if there are no shards yet.

        The response goes to `context.request_id`.
        """
        if not self.shards:
            return False
        self._enqueue(self.shard_of(transactional_id), QueuedOperation(operation, transactional_id, request, context))
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
        context = OperationContext(request_id, api_version, "", "", self.environment, 0, 0)
        self.enqueue(operation, transactional_id, request, context)

    def add_partitions(self, request: PartitionsRequest, reply: Callable[[PartitionErrors], None]) -> None:
        """Add partitions to a transaction, or verify that they are in it."""
        self.ask(operations.ADD_PARTITIONS, request.transactional_id, request, reply)

    def list_transactions(self, requested: Filter, now_ms: int) -> Steps[list[Listed] | ErrorCode]:
        """The transactions that a filter matches; an error as long as a partition of this node is not loaded."""
        found: list[Listed] = []
        for shard in self.shards:
            if shard.state is ShardState.INACTIVE:
                continue
            if not shard.is_active:
                return REFUSALS[shard.state]
            found += yield from requested.list(list(shard.machine.transactions.values()), now_ms)
        return found

    def _drained(self, shard: TransactionShard, now_ms: int) -> None:
        self._send_markers(shard)

    def _loaded(self, shard: TransactionShard, now_ms: int) -> None:
        self._mark_dirty(shard)
        self._send_markers(shard)

    def _rebuilt(self, shard: TransactionShard) -> None:
        """The next batch of the shard serves them; nothing else is to be done."""

    def _send_markers(self, shard: TransactionShard) -> None:
        """After the replies: who got one that a partition is in the transaction writes to it before its marker."""
        prepared, shard.machine.to_complete = shard.machine.to_complete, []
        for transaction in prepared:
            self._markers.send(transaction, self._markers_written)

    def _markers_written(self, transaction: Transaction) -> None:
        completed = Completed(transaction.producer_id, transaction.epoch)
        self._enqueue_internal(operations.COMPLETE, transaction.transactional_id, completed)

    # ------------------------------------------------------------------------------------------------------------ time

    timer_keys = (*CoordinatorRuntime.timer_keys, CheckKey)

    def due(self, key: object, now_ms: int) -> None:
        """A timer is due: it becomes operations of the shards."""
        match key:
            case CheckKey(name, rest):
                self._check(name, rest, now_ms)
            case _:
                super().due(key, now_ms)

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
