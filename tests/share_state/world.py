"""A share coordinator on a disk in memory and a virtual clock, without sockets."""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from _wire.errors import ErrorCode
from coordinator.broker.partitions import LEADER_EPOCH
from coordinator.config.server_keys import LOG_DIRS
from coordinator.config.settings import Config
from coordinator.core.decision import Environment
from coordinator.core.share_state.state import SharePartition, ShareState
from coordinator.core.share_states import InitialState, StateBatch
from coordinator.front.pending_requests import PendingRequests
from coordinator.internal_topics import SHARE_STATE_TOPIC
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.runtime.delays import Delays
from coordinator.runtime.key_timers import KeyTimers
from coordinator.runtime.shard import RequestDrain, Shard
from coordinator.runtime.slices import Steps
from coordinator.runtime.steady import SteadyDrain
from coordinator.runtime.store import LogStore
from coordinator.share_state.coordinator import ShareCoordinator
from coordinator.share_state.pruning import Pruning
from coordinator.share_state.share_states import ShareStates
from coordinator.share_state.state_machine import ShareStateMachine
from coordinator.share_state.stream import ShareStateStream
from tests.broker.virtual_broker import DATA, VirtualBroker
from tests.model.memory_files import MemoryFileSystem

T = TypeVar("T")

PARTITIONS: Final = 3
TOPIC: Final = "orders"
SETTINGS: Final = {
    "share.coordinator.state.topic.num.partitions": "2",
    "share.coordinator.snapshot.update.records.per.snapshot": "3",
}


class World:
    """One node, which can be killed and started again on its disk."""

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self.settings = {**SETTINGS, **(settings or {})}
        self.fs = MemoryFileSystem()
        self._start()
        self.topic_id = self.broker.create_topic(TOPIC, PARTITIONS)

    def now_ms(self) -> int:
        return self.broker.clock.now_ms()

    def _start(self, now_ms: int | None = None) -> None:
        self.broker = broker = VirtualBroker(self.settings, self.fs)
        if now_ms is not None:
            broker.clock.advance(now_ms - broker.clock.now_ms())
            broker.wheel.advance(now_ms)
        config = Config({LOG_DIRS.name: str(DATA)} | self.settings)
        self.environment = Environment(
            config,
            broker.metadata_store.image,
            None,  # type: ignore[arg-type]
            lambda: "id",
        )
        self.pending = PendingRequests()
        self.timers = KeyTimers(broker.wheel, SHARE_STATE_TOPIC)
        self.delays = Delays(broker.wheel)
        self.flushes: list[PartitionLog] = []
        """Logs that are to be flushed."""
        self.pruning = Pruning(self.flushes.append)
        self._is_requested = False
        self.coordinator = ShareCoordinator(
            self._shard,
            self.environment,
            broker.wheel,
            self.timers,
            requests=self.pending,
            pruning=self.pruning,
            request_iteration=self._request,
            wall_ms=broker.wall_ms,
        )
        drain = SteadyDrain(self.coordinator, None, self.now_ms, self.environment.wall)
        self.states = ShareStates(self.coordinator, self._make_topic, broker.slices, self.delays, self.now_ms, drain)
        self._load()

    def _shard(self, index: int, request_drain: RequestDrain) -> Shard[ShareStateMachine]:
        stream = ShareStateStream(self.log(index), LEADER_EPOCH)
        self.pruning.add(stream)
        store = LogStore(stream, appended=self.broker.notifier.mark_appended)
        per_snapshot = int(self.settings["share.coordinator.snapshot.update.records.per.snapshot"])
        machine = ShareStateMachine(stream.snapshots, lambda: per_snapshot)
        return Shard(index, machine, store, self.timers, self.pending, request_drain=request_drain, local=store)

    def _make_topic(self) -> Steps[None]:
        yield from ()
        if not self.coordinator.shards:
            self.broker.topics.create_share_state_topic(self.now_ms())
            self._load()

    def _load(self) -> None:
        count = self.broker.metadata_store.image.partition_count(SHARE_STATE_TOPIC)
        if count:
            self.coordinator.start(count, range(count), self.now_ms())
            self.run()

    def log(self, index: int) -> PartitionLog:
        return self.broker.partitions.get(SHARE_STATE_TOPIC, index)

    def log_of(self, partition: int, group_id: str = "g") -> PartitionLog:
        """The log that has the state of a share partition."""
        key = SharePartition(group_id, self.topic_id, partition).key
        return self.log(self.coordinator.partition_of(key))

    def restart(self, *, clean: bool = False) -> None:
        """End the node, as by `kill -9` unless `clean`, and start another one on its disk."""
        self.broker.close(clean=clean)
        self.fs.heal()
        self._start(self.now_ms())

    @property
    def all(self) -> dict[str, ShareState]:
        """Key → state, of all shards."""
        return {key: state for shard in self.coordinator.shards for key, state in shard.machine.states.items()}

    # ---- time

    def _request(self) -> None:
        self._is_requested = True

    def run(self) -> None:
        """Let the loop turn until nothing is left to do."""
        self._is_requested = True
        while self._is_requested:
            self._is_requested = False
            self.coordinator.drain(self.now_ms())
            self.broker.end_iteration()

    def advance(self, ms: int) -> None:
        """Let time pass: timers are handled at their times, in order. What is to be flushed is flushed at once."""
        until_ms = self.now_ms() + ms
        while True:
            due_ms = self.broker.wheel.next_deadline_ms()
            now_ms = until_ms if not 0 <= due_ms <= until_ms else max(due_ms, self.now_ms())
            self.broker.clock.advance(now_ms - self.now_ms())
            for key in self.broker.wheel.advance(now_ms):
                self.coordinator.due(key, now_ms)
                self.delays.due(key, now_ms)
            self.run()
            while self.flushes:
                self.flushes.pop().flush()
            if now_ms == until_ms:
                return

    # ---- requests

    def begin(self, steps: Steps[Any]) -> list[Any]:
        """Take steps as far as they go; the list gets their result."""
        results: list[Any] = []

        def failed(problem: Exception) -> None:
            raise problem

        self.broker.slices.start(steps, results.append, failed, "client")
        self.run()
        return results

    def do(self, steps: Steps[T]) -> T:
        """The result of steps that need no time to pass."""
        (result,) = self.begin(steps)
        made: T = result
        return made

    def initialize(self, *partitions: int, state_epoch: int = 2, start_offset: int = -1, group_id: str = "g") -> Any:
        initial = [InitialState(self.topic_id, partition, state_epoch, start_offset) for partition in partitions]
        return self.do(self.states.initialize(group_id, initial))

    def write(
        self, partition: int, *batches: tuple[int, int, int, int], start_offset: int = -1, group_id: str = "g"
    ) -> ErrorCode:
        (error,) = self.begin_write(partition, *batches, start_offset=start_offset, group_id=group_id)
        return error

    def begin_write(
        self, partition: int, *batches: tuple[int, int, int, int], start_offset: int = -1, group_id: str = "g"
    ) -> list[ErrorCode]:
        """The list gets the answer."""
        made = [StateBatch(*batch) for batch in batches]
        answers: list[ErrorCode] = []
        self.states.writer(group_id, self.topic_id, partition)(2, 0, start_offset, -1, made, answers.append)
        self.run()
        return answers

    def read(self, partition: int, leader_epoch: int = 0, group_id: str = "g") -> Any:
        return self.do(self.states.read(group_id, self.topic_id, partition, leader_epoch))

    def delete(self, *partitions: int, group_id: str = "g") -> Any:
        return self.do(self.states.delete(group_id, [(self.topic_id, partition) for partition in partitions]))
