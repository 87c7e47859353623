"""A node of the product on a virtual loop and a disk in memory, which listens nowhere; its groups have instruments."""

from collections.abc import Callable, Sequence
from typing import Final

from coordinator.config.settings import Config
from coordinator.front.front import make_front
from coordinator.front.group_parts import GroupParts
from coordinator.front.loop_scheduler import LoopScheduler
from coordinator.front.node_loop import NodeLoop
from coordinator.log.disk_threads import DiskThreads, Done, InLine
from coordinator.node.data_plane import DataPlane, make_data_plane
from coordinator.node.disk_host import DiskHost
from coordinator.node.node import Node
from coordinator.node.node_front import front_home
from coordinator.node.share_states import make_share_parts
from coordinator.node.storage import Storage, commit_metadata_in_threads
from coordinator.runtime.delays import Delays
from coordinator.runtime.shard import ShardState
from tests.simulation.virtual_loop import VirtualLoop

CHECKS: Final = 2
"""Timers of the transaction coordinator: for transactions that time out, and for unused transactional ids."""

MakeGroups = Callable[[Config, NodeLoop, Storage], GroupParts]


class SimulatedThreads(DiskThreads):
    """Runs work in a later turn of the loop, so that each run of a history has the same order."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__(loop.call_soon, threads=1)
        self._loop = loop
        self._has_ended = False

    def run(self, work: Sequence[Callable[[], None]], done: Done) -> None:
        if self._has_ended:
            InLine().run(work, done)
        else:
            self._loop.call_soon(InLine().run, work, done)

    def stop(self, *, wait: bool = True) -> Exception | None:
        self._has_ended = True
        if wait:
            self._loop.turn_until_idle()
        return None


class CountingScheduler(LoopScheduler):
    """Knows how many timers of all but the coordinators are on the wheel: those have theirs there themselves."""

    def __init__(self, loop: VirtualLoop, node_loop: NodeLoop) -> None:
        super().__init__(loop, node_loop.wheel, node_loop.now_ms)
        self._running: dict[type, int] = {}
        self._types: dict[int, type] = {}
        self.on_due(self._due)

    @property
    def bootstrap(self) -> str:
        return "nowhere"

    @property
    def running_timers(self) -> int:
        return sum(self._running.values())

    def start(self, key: object, deadline_ms: int) -> int:
        timer = super().start(key, deadline_ms)
        self._running[type(key)] = self._running.get(type(key), 0) + 1
        self._types[timer] = type(key)
        return timer

    def cancel(self, timer: int) -> bool:
        was_running = super().cancel(timer)
        if was_running:
            self._running[self._types[timer]] -= 1
        return was_running

    def _due(self, key: object, now_ms: int) -> None:
        if type(key) in self._running:
            self._running[type(key)] -= 1


def count_timers(node_loop: NodeLoop, loop: VirtualLoop) -> CountingScheduler:
    """Count the timers of the loop of a node that was just made."""
    scheduler = CountingScheduler(loop, node_loop)
    node_loop.scheduler, node_loop.delays = scheduler, Delays(scheduler)
    scheduler.on_due(node_loop.delays.due)
    return scheduler


class SimulatedNode(Node):
    """Made of the parts that the product's builders make; `make_groups` makes those of the groups, with instruments."""

    data_plane: DataPlane

    def __init__(self, config: Config, host: DiskHost, loop: VirtualLoop, make_groups: MakeGroups) -> None:
        with loop.running():
            super().__init__(config, host=host)
        self._scheduler = count_timers(self.loop, loop)
        self.threads.disk = SimulatedThreads(loop)
        self.threads.compression = SimulatedThreads(loop)
        self._make_groups = make_groups

    @property
    def bootstrap(self) -> str:
        return "nowhere"

    @property
    def running_timers(self) -> int:
        """Timers on the wheel that are not those of the group coordinator."""
        transactions = self.data_plane.transactions
        checks = CHECKS if transactions.shards else 0
        retries = sum(shard.state is ShardState.FAILED for shard in transactions.shards)
        return self._scheduler.running_timers + len(transactions.timers) + checks + retries

    def _make_parts(self) -> None:
        config, loop, storage = self._config, self.loop, self.storage
        self.shares = make_share_parts(config, loop, storage)
        self.groups = self._make_groups(config, loop, storage)
        self.data_plane = make_data_plane(config, loop, self.threads, storage, self.groups)
        self.data_plane.transactions._seconds = self.groups.coordinator._seconds  # the builder gives it a real clock
        self._schedule()

    async def _listen(self) -> None:
        """Everything but the sockets."""
        home = front_home(self._config, self.loop, self.storage, self.groups, self.shares, self.data_plane, None)
        self.front = make_front(self._config, self._host, self.loop, self.groups, home, None)
        commit_metadata_in_threads(self.loop, self.threads, self.storage.metadata)
