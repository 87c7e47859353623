"""The shards of a coordinator: their queues are drained, partitions are loaded, and failed keys are rebuilt.

Counterpart in Kafka: `CoordinatorRuntime`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Final, Generic, TypeAlias

from coordinator.core.causes import Cause
from coordinator.core.decision import Environment, OperationContext
from coordinator.core.operation import ADVANCE, Operation
from coordinator.core.partitioning import partition_for
from coordinator.deadlines import deadline_after
from coordinator.runtime.key_timers import KeyTimers
from coordinator.runtime.load_progress import LoadProgress
from coordinator.runtime.shard import LOAD_RETRY_MS_AT_MOST, Machine, RequestDrain, Shard, ShardState
from coordinator.runtime.shard_drains import ShardDrains
from coordinator.runtime.timer_keys import KeyTimerKey, LoadRetryKey
from coordinator.timers.wheel import TimerWheel

LOAD_SECONDS_AT_ONCE: Final = 0.002
"""How long partitions are loaded, or keys rebuilt, before other work of the event loop has its turn."""
LOADS_WAITING_MAX: Final = 20
"""Loads that wait for answers of other nodes at a time."""


MakeShard: TypeAlias = Callable[[int, RequestDrain], Shard[Machine]]
"""(partition, what the shard calls when it has to be drained) → shard."""


class CoordinatorRuntime(ShardDrains, ABC, Generic[Machine]):
    """What the coordinators of groups and of transactions have in common.

    It knows no loop: it gets the time as an argument, and calls `request_iteration` when work is queued.
    """

    shards: tuple[Shard[Machine], ...]

    def __init__(
        self,
        progress: LoadProgress,
        wheel: TimerWheel,
        timers: KeyTimers,
        environment: Environment,
        request_iteration: Callable[[], None],
        seconds: Callable[[], float] = perf_counter,
    ) -> None:
        """`seconds` is a clock for nothing but the length of slices. There are no shards at first (`_make_shards`)."""
        super().__init__(request_iteration)
        self.environment = environment
        self._wheel = wheel
        self.timers = timers
        self._seconds = seconds
        self._load_progress = progress

    def _make_shards(self, make_shard: MakeShard[Machine], partition_count: int) -> None:
        """Make the shards of all partitions of the topic; none is led here yet."""
        self.shards = tuple(make_shard(partition, self._mark_dirty) for partition in range(partition_count))

    @abstractmethod
    def _loaded(self, shard: Shard[Machine], now_ms: int) -> None:
        """A partition is served from now on."""

    @abstractmethod
    def _drained(self, shard: Shard[Machine], now_ms: int) -> None:
        """The queue of a shard was drained; the replies of what is appended already have left."""

    @abstractmethod
    def _rebuilt(self, shard: Shard[Machine]) -> None:
        """The keys `shard.failed_keys.rebuilt` will be served again."""

    # ----------------------------------------------------------------------------------------------------- partitions

    def load(self, partitions: Iterable[int], cause: Cause | None = None) -> None:
        """Lead these partitions from now on. They are read in slices, at each `drain`, one after the other.

        `cause` says why a partition that was led here before is loaded again.
        """
        partitions = tuple(partitions)
        for partition in partitions:
            self.shards[partition].start_loading(cause)
            self._loading.append(self.shards[partition])
        self._load_progress.begin(len(partitions), self._seconds())
        self._request_iteration()

    @property
    def is_loading(self) -> bool:
        """Whether partitions are being loaded, or wait for it."""
        return bool(self._loading)

    def unload(self, partition: int) -> None:
        """Another node leads the partition now."""
        shard = self.shards[partition]
        if shard in self._loading:
            self._loading.remove(shard)
            self._load_progress.unloaded()
        shard.unload()

    def partition_of(self, key: str) -> int:
        return partition_for(key, len(self.shards))

    def shard_of(self, key: str) -> Shard[Machine]:
        return self.shards[self.partition_of(key)]

    # ----------------------------------------------------------------------------------------------------- operations

    def _internal_context(self) -> OperationContext:
        """Of what nobody waits for."""
        return OperationContext(None, 0, "", "", self.environment, 0, 0)

    def _enqueue_internal(self, operation: Operation, key: str, request: object = None) -> None:
        self.submit(operation, key, request, self._internal_context())

    # -------------------------------------------------------------------------------------------------------- loading

    def _load_next_slice(self, now_ms: int) -> None:
        """One partition after the other; while one waits for an answer of another node, the next ones are read."""
        is_time_over = self._slice()
        waiting = 0
        while waiting < len(self._loading) and waiting < LOADS_WAITING_MAX:
            shard = self._loading[waiting]
            if not shard.load_next_slice(now_ms, is_time_over):
                if shard.load_is_waiting:
                    waiting += 1
                    continue
                self._request_iteration()
                break
            del self._loading[waiting]
            if shard.needs_retry:
                self._retry_later(shard, now_ms)
            else:
                self._loaded(shard, now_ms)
            self._load_progress.ended(len(shard.machine.states))
            if self._loading and is_time_over():
                self._request_iteration()
                break
        self._load_progress.report(self._seconds())

    def _slice(self) -> Callable[[], bool]:
        """A slice begins; tells whether it is over."""
        seconds, until = self._seconds, self._seconds() + LOAD_SECONDS_AT_ONCE
        return lambda: seconds() >= until

    def _rebuild_next_slice(self, now_ms: int) -> None:
        """One slice for the whole node: keys that fail again and again cost the others no more."""
        shards = self._rebuilding.values()
        shard = next((idle for idle in shards if not (idle.is_in_flight or idle.failed_keys.is_waiting)), None)
        if shard is None:
            return  # the end of an append, or an answer, requests the next iteration
        if shard.failed_keys.next_slice(now_ms, self._slice()):
            del self._rebuilding[shard.partition]
            self._rebuilt(shard)
            self._mark_dirty(shard)
        if self._rebuilding:
            self._request_iteration()

    def _retry_later(self, shard: Shard[Machine], now_ms: int) -> None:
        shard.needs_retry = False
        key = LoadRetryKey(self._load_progress.topic, shard.partition)
        self._wheel.start(key, deadline_after(now_ms, shard.retry_ms))
        shard.retry_ms = min(shard.retry_ms * 2, LOAD_RETRY_MS_AT_MOST)

    timer_keys: tuple[type, ...] = (KeyTimerKey, LoadRetryKey)

    def due(self, key: object, now_ms: int) -> None:
        """A timer is due, perhaps of this coordinator: it becomes an operation of its shard."""
        match key:
            case KeyTimerKey():
                if self.timers.fired(key):
                    self._enqueue_internal(ADVANCE, key.key)
            case LoadRetryKey():
                self._retry(key)

    def _retry(self, key: LoadRetryKey) -> None:
        """Load a partition again that could not be read or written, if it is one of this coordinator."""
        if key.topic == self._load_progress.topic and self.shards[key.partition].state is ShardState.FAILED:
            self.load([key.partition])
