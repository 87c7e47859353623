"""The share coordinator of one node: its shards, and what it does from time to time.

Counterpart in Kafka: `ShareCoordinatorService`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from time import perf_counter
from typing import Any, Final, Protocol

import msgspec

from _wire.errors import ErrorCode
from coordinator.config.share_coordinator_keys import (
    SHARE_COORDINATOR_COLD_PARTITION_SNAPSHOT_INTERVAL_MS,
    SHARE_COORDINATOR_STATE_TOPIC_PRUNE_INTERVAL_MS,
)
from coordinator.core.decision import Environment, OperationContext
from coordinator.core.operation import Operation
from coordinator.core.share_state import operations
from coordinator.core.share_state.requests import Outcome, error_response
from coordinator.core.share_state.state import SharePartition
from coordinator.deadlines import deadline_after
from coordinator.internal_topics import SHARE_STATE_TOPIC
from coordinator.runtime.batch import QueuedOperation
from coordinator.runtime.coordinator_runtime import CoordinatorRuntime, MakeShard
from coordinator.runtime.key_timers import KeyTimers
from coordinator.runtime.load_progress import LoadProgress
from coordinator.runtime.reply_to import ReplyTo
from coordinator.runtime.shard import Shard
from coordinator.share_state.pruning import Pruning
from coordinator.share_state.state_machine import ShareStateMachine
from coordinator.timers.wheel import TimerWheel

CHECKED_AT_ONCE: Final = 1_000
"""Share partitions that are looked at before other work has its turn."""

ShareStateShard = Shard[ShareStateMachine]


class ColdKey(msgspec.Struct, frozen=True):
    """The key of the timer at which old snapshots are copied. `rest` are the keys to be copied still, if any are."""

    rest: Any = None


class GoneKey(msgspec.Struct, frozen=True):
    """The key of the timer at which states of deleted topics are forgotten; `rest` are those to be looked at still."""

    rest: Any = None


class PruneKey(msgspec.Struct, frozen=True):
    """The key of the timer at which records are deleted that nobody needs."""


class Requests(Protocol):
    """Assigns request ids; see `PendingRequests`."""

    def register(self, waiting: Any) -> int: ...


class ShareCoordinator(CoordinatorRuntime[ShareStateMachine]):
    """The share coordinator of one node. There are no shards until `__share_group_state` exists."""

    def __init__(
        self,
        make_shard: MakeShard[ShareStateMachine],
        environment: Environment,
        wheel: TimerWheel,
        timers: KeyTimers,
        *,
        requests: Requests,
        pruning: Pruning,
        request_iteration: Callable[[], None],
        wall_ms: Callable[[], int],
        seconds: Callable[[], float] = perf_counter,
    ) -> None:
        progress = LoadProgress(SHARE_STATE_TOPIC, "share partitions")
        super().__init__(progress, wheel, timers, environment, request_iteration, seconds)
        self._make_shard = make_shard
        self._requests = requests
        self._pruning = pruning
        self._wall_ms = wall_ms
        self._is_looking_for_gone = False
        config = environment.config
        self._cold_ms = config[SHARE_COORDINATOR_COLD_PARTITION_SNAPSHOT_INTERVAL_MS]
        self._prune_ms = config[SHARE_COORDINATOR_STATE_TOPIC_PRUNE_INTERVAL_MS]

    # ------------------------------------------------------------------------------------------------------ partitions

    def start(self, partition_count: int, led: Iterable[int], now_ms: int) -> None:
        """`__share_group_state` exists: load the partitions that this node leads."""
        self._make_shards(self._make_shard, partition_count)
        self.load(led)
        self._wheel.start(ColdKey(), deadline_after(now_ms, self._cold_ms))
        self._wheel.start(PruneKey(), deadline_after(now_ms, self._prune_ms))

    @property
    def held_bytes(self) -> int:
        """The memory that all states take, about."""
        return sum([shard.machine.held_bytes for shard in self.shards])

    @property
    def writes(self) -> int:
        """Records that were stored since the start of the node, but for those of deletions."""
        return sum([shard.machine.writes for shard in self.shards])

    @property
    def pruned(self) -> Mapping[int, int]:
        """Partition → the offset up to which its log was pruned last; 0: it was not since the start of the node."""
        return {shard.partition: self._pruning.pruned.get(shard.partition, 0) for shard in self.shards}

    # ------------------------------------------------------------------------------------------------------ operations

    def ask(self, operation: Operation, of: SharePartition, request: Any, reply: Callable[[Outcome], None]) -> None:
        """Queue an operation on a share partition; the outcome goes to a function, perhaps at once."""
        if self.shards:
            queued = self.operation(operation, of, request, reply)
            self._enqueue(self.shard_of(of.key), queued)
        else:
            reply(error_response(request, ErrorCode.NOT_COORDINATOR, 0))

    def operation(
        self, operation: Operation, of: SharePartition, request: Any, reply: Callable[[Outcome], None]
    ) -> QueuedOperation:
        """An operation as it is queued: the outcome goes to a function."""
        request_id = self._requests.register(ReplyTo(reply, lambda error: error_response(request, error, 0)))
        context = OperationContext(request_id, 0, "", "", self.environment, 0, 0)
        return QueuedOperation(operation, of.key, request, context)

    def _drained(self, shard: ShareStateShard, now_ms: int) -> None:
        """Nothing follows from what is stored."""

    def _loaded(self, shard: ShareStateShard, now_ms: int) -> None:
        self._mark_dirty(shard)
        # Topics may have been deleted before.
        self.topics_deleted(now_ms)

    def _rebuilt(self, shard: ShareStateShard) -> None:
        """The next batch of the shard serves them; nothing else is to be done."""

    # ------------------------------------------------------------------------------------------------------------ time

    timer_keys = (*CoordinatorRuntime.timer_keys, ColdKey, GoneKey, PruneKey)

    def due(self, key: object, now_ms: int) -> None:
        """A timer is due: it becomes operations of the shards."""
        match key:
            case ColdKey(rest):
                self._copy_cold(self._cold() if rest is None else rest, now_ms)
            case GoneKey(rest):
                self._forget_gone(self._of_deleted_topics() if rest is None else rest, now_ms)
            case PruneKey():
                self._prune(now_ms)
            case _:
                super().due(key, now_ms)

    def topics_deleted(self, now_ms: int) -> None:
        """States of topics that do not exist are to be forgotten."""
        if self.shards and not self._is_looking_for_gone:
            self._is_looking_for_gone = True
            self._wheel.start(GoneKey(), now_ms + 1)

    def _copy_cold(self, rest: Iterator[str | None], now_ms: int) -> None:
        if self._enqueue_some(operations.COPY_IF_COLD, rest):
            self._wheel.start(ColdKey(rest), now_ms + 1)
        else:
            self._wheel.start(ColdKey(), deadline_after(now_ms, self._cold_ms))

    def _forget_gone(self, rest: Iterator[str | None], now_ms: int) -> None:
        # A topic that is deleted from here on has a round of its own: this one may have passed its states.
        self._is_looking_for_gone = False
        if self._enqueue_some(operations.FORGET, rest):
            self._wheel.start(GoneKey(rest), now_ms + 1)

    def _enqueue_some(self, operation: Operation, rest: Iterator[str | None]) -> bool:
        """Look at some share partitions and queue an operation on those that need it; whether there may be more."""
        looked_at = 0
        for key in islice(rest, CHECKED_AT_ONCE):
            looked_at += 1
            if key is not None:
                self._enqueue_internal(operation, key)
        return looked_at == CHECKED_AT_ONCE

    def _cold(self) -> Iterator[str | None]:
        """The keys of states that were written long ago, None for all others.

        None at all of a shard in which nothing has come since all were copied.
        """
        written_until_ms = self._wall_ms() - self._cold_ms
        for shard in self._active():
            keys = list(shard.machine.states)
            are_all_cold = True
            for key in keys:
                state = shard.machine.states.get(key)
                are_all_cold = are_all_cold and (state is None or state.is_cold)
                yield None
            for key in () if are_all_cold else keys:
                state = shard.machine.states.get(key)
                is_old = state is not None and state.written_ms <= written_until_ms
                yield key if is_old else None

    def _of_deleted_topics(self) -> Iterator[str | None]:
        """The keys of states of topics that do not exist, None for all others."""
        topics = self.environment.topics
        for shard in self._active():
            for key in list(shard.machine.states):
                state = shard.machine.states.get(key)
                is_gone = state is not None and topics.topic_name(state.of.topic_id) is None
                yield key if is_gone else None

    def _active(self) -> Iterator[ShareStateShard]:
        return (shard for shard in self.shards if shard.is_active)

    def _prune(self, now_ms: int) -> None:
        """Delete what nobody needs; once more a moment later where that is not on stable storage yet."""
        is_waiting = False
        for shard in self._active():
            is_waiting = not self._pruning.prune(shard.partition, may_begin=not shard.is_in_flight) or is_waiting
        delay_ms = min(FLUSH_MS, self._prune_ms) if is_waiting else self._prune_ms
        self._wheel.start(PruneKey(), deadline_after(now_ms, delay_ms))


FLUSH_MS: Final = 1_000
"""After it, records that were to be flushed are probably on stable storage."""
