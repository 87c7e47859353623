"""The nodes in front of the brokers: three from the start, and one more that comes and goes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

from coordinator.client.bootstrap import Bootstrap
from coordinator.client.group_owners import describe_ownership
from coordinator.client.wire import ClientError
from tests.cluster.rounds.brokers import MIN_IN_SYNC, REPLICAS
from tests.cluster.running import SETTINGS, WATCHES_ALL, RunningNode
from tests.waiting import wait_for

NODE_IDS: Final = (1, 2, 3)
EXTRA_NODE_ID: Final = 4
LOG_PARTITIONS: Final = 12
SECONDS: Final = 90
NODE_SETTINGS: Final = SETTINGS | {
    "cluster.adopt": "*",
    "membership.topic.num.partitions": str(LOG_PARTITIONS),
    "membership.topic.replication.factor": str(REPLICAS),
    "membership.topic.min.isr": str(MIN_IN_SYNC),
}
WATCHING: Final = NODE_SETTINGS | WATCHES_ALL


class Nodes:
    """Leaving its context ends all of them."""

    def __init__(self, folder: Path, cluster: str, settings: Mapping[str, str] = NODE_SETTINGS) -> None:
        self.nodes = [RunningNode(folder, cluster, each, settings) for each in (*NODE_IDS, EXTRA_NODE_ID)]
        self.extra = self.nodes[-1]

    @property
    def bootstrap(self) -> str:
        """Of the nodes that are always there."""
        return ",".join(node.bootstrap for node in self.nodes if node is not self.extra)

    @property
    def running(self) -> list[RunningNode]:
        return [node for node in self.nodes if node.is_running]

    def __enter__(self) -> Self:
        try:
            for node in self.nodes[:-1]:
                node.start()
            wait_for(lambda: not self.not_served(), SECONDS, "all partitions to be served", every_ms=200)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *problem: object) -> None:
        for node in self.running:
            node.kill()

    def not_served(self) -> str:
        """What keeps the nodes from serving each partition once; empty if nothing does."""
        try:
            told = describe_ownership(Bootstrap(self.running[0].bootstrap))
        except ClientError as problem:
            return str(problem)
        if len(told.nodes) != len(self.running):
            return f"{len(told.nodes)} of {len(self.running)} nodes are known; unreachable: {told.unreachable}"
        led = sorted(partition for node in told.nodes for partition in set(node.partitions) - set(node.unserved))
        return "" if led == list(range(LOG_PARTITIONS)) else f"the partitions that are served are {led}"
