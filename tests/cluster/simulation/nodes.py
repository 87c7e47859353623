"""A node of the product on a simulated loop: everything but its sockets and threads is real."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from coordinator.cluster.log.store import ClusterStore
from coordinator.cluster.node import ClusterNode
from coordinator.config.key import ConfigError
from coordinator.config.settings import Config
from coordinator.front.descriptors import DescriptorReserve
from coordinator.front.host import Host
from coordinator.runtime.shard import ShardState
from coordinator.timers.clock import VirtualClock
from tests.cluster.simulation.brokers import PORT, address_of
from tests.cluster.simulation.cluster import BROKERS, PARTITIONS, Cluster
from tests.cluster.simulation.loop import ProcessLoop
from tests.cluster.simulation.network import Address, Listening, Network
from tests.cluster.simulation.reports import LOADING
from tests.simulation.node import count_timers
from tests.simulation.reproducible import StepClock

if TYPE_CHECKING:
    from coordinator.front.connection import Connection


class ReadClock:
    """A clock of a process, which may stand still after it has read it."""

    def __init__(self, clock: VirtualClock, on_read: Callable[[], None]) -> None:
        self._clock = clock
        self._on_read = on_read

    def now_ms(self) -> int:
        now_ms = self._clock.now_ms()
        self._on_read()
        return now_ms


class SimulatedNode(ClusterNode):
    """Made in its running loop."""

    def __init__(self, config: Config, host: Host, loop: ProcessLoop, network: Network, cluster: Cluster) -> None:
        super().__init__(config, host=host)
        count_timers(self.loop, loop)
        self._process = loop
        self._network = network
        self._cluster = cluster

    async def _listen(self) -> None:
        self.groups.coordinator._seconds = StepClock()
        listeners = self.front.listeners
        (listener,) = listeners.listeners
        listener.bound(PORT)

        def accept() -> "Connection":
            return listeners._make_connection(listener)

        self._network.listening[Address(self._process.host, PORT)] = Listening(self._process, accept, self.leaderships)

    def leaderships(self) -> dict[int, int | None]:
        """Partition → since which takeover this node leads it, by the epoch with which it would write now.

        `LOADING`: it takes the partition over just now.
        """
        found: dict[int, int | None] = {}
        for shard in self.groups.coordinator.shards:
            assert isinstance(shard.store, ClusterStore)
            leadership = self._cluster.leadership(shard.partition, shard.store._identity)
            found[shard.partition] = LOADING if shard.state is ShardState.LOADING else leadership
        return found


class NodeProcess:
    """A process that runs a node, from its start to its end. It may be started again."""

    def __init__(
        self,
        node_id: int,
        clock: VirtualClock,
        network: Network,
        cluster: Cluster,
        on_read: Callable[["NodeProcess"], None],
    ) -> None:
        self.node_id: Final = node_id
        self.host: Final = f"node-{node_id}"
        self._clock = clock
        self._network = network
        self._cluster = cluster
        self._on_read = on_read
        self.loop = ProcessLoop(clock, network, self.host)  # type: ignore[abstract]
        self.loop.is_dead = True
        self.node: SimulatedNode | None = None
        self.main: asyncio.Task[None] | None = None
        """What starts or stops it."""
        self.is_stopping = False

    @property
    def runs(self) -> bool:
        return not self.loop.is_dead

    def start(self) -> None:
        self.loop = ProcessLoop(self._clock, self._network, self.host)  # type: ignore[abstract]
        self.is_stopping = False
        clock = ReadClock(self._clock, lambda: self._on_read(self))
        host = Host(clock=clock, wall_ms=self._clock.now_ms, descriptors=DescriptorReserve())
        with self.loop.running():
            self.node = SimulatedNode(config_of(self.node_id), host, self.loop, self._network, self._cluster)
            self.main = self.loop.create_task(self._run(self.node))

    async def _run(self, node: SimulatedNode) -> None:
        try:
            await node.start()
        except ConfigError:
            self.kill()  # the cluster cannot be reached; whoever runs the process starts it again

    def stop(self) -> None:
        """Leave in order."""

        async def stop(node: SimulatedNode) -> None:
            if hasattr(node, "member"):
                await node.stop()
            self.kill()

        assert self.node is not None
        self.is_stopping = True
        self.main = self.loop.create_task(stop(self.node))

    def kill(self) -> None:
        self._network.listening.pop(Address(self.host, PORT), None)
        self._network.kill(self.loop)

    def went_on(self, paused_ms: int) -> None:
        """The process stood still for so long."""
        if self.node is not None and hasattr(self.node, "member") and self.runs:
            self.loop.call_soon(self.node.stood_still, paused_ms / 1000, "suspended")

    def led(self) -> dict[int, Any]:
        """The partitions that it serves, with their states."""
        if not self.runs or self.node is None or not hasattr(self.node, "groups"):
            return {}
        return {shard.partition: shard for shard in self.node.groups.coordinator.shards if shard.is_active}


def config_of(node_id: int) -> Config:
    return Config(
        {
            "node.id": str(node_id),
            "listeners": f"PLAINTEXT://node-{node_id}:{PORT}",
            "cluster.bootstrap.servers": ",".join(
                f"{address_of(each).host}:{address_of(each).port}" for each in range(BROKERS)
            ),
            "cluster.adopt": "*",
            "membership.topic.num.partitions": str(PARTITIONS),
            "group.initial.rebalance.delay.ms": "0",
        }
    )
