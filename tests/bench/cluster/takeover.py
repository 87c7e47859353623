"""How long a group has no coordinator when its node is stopped or killed."""

import time
from collections import Counter
from collections.abc import Callable
from typing import Final, NamedTuple

from _wire.messages.heartbeat import HeartbeatRequest
from coordinator.client.bootstrap import Bootstrap
from coordinator.client.group_owners import describe_ownership
from coordinator.client.wire import ClientError
from coordinator.core.partitioning import partition_for
from tests.cluster.running import RunningNode, RunningNodes
from tests.waiting import wait_for
from tests.wire_client import WireClient

HEARTBEAT_VERSION: Final = 3
SECONDS_MAX: Final = 60
ASK_EVERY_SECONDS: Final = 0.005


class LiveGroup(NamedTuple):
    """A group with one member, which only sends heartbeats."""

    group_id: str
    member_id: str


def leading(nodes: RunningNodes) -> dict[int, int]:
    """Partition → the id of the node that serves it."""
    told = describe_ownership(Bootstrap(nodes.nodes[0].bootstrap))
    return {each: node.node_id for node in told.nodes for each in set(node.partitions) - set(node.unserved)}


def wait_until_shared_out(nodes: RunningNodes, partitions: int) -> None:
    """Wait until each node serves its share; a node that has just started gets it in two steps."""
    share = partitions // len(nodes.nodes)

    def are_shared_out() -> bool:
        served = Counter(leading(nodes).values())
        return len(served) == len(nodes.nodes) and min(served.values()) >= share and served.total() == partitions

    wait_for(are_shared_out, SECONDS_MAX, "the partitions to be shared out", every_ms=100)


def group_led_by(nodes: RunningNodes, node: RunningNode, partitions: int, prefix: str) -> str:
    """The name of a new group whose coordinator is that node, ending with -0."""
    leaders = leading(nodes)
    names = (f"{prefix}{number}-0" for number in range(1_000))
    return next(name for name in names if leaders[partition_for(name, partitions)] == node.node_id)


def takeover_seconds(nodes: RunningNodes, partitions: int, prefix: str, end: Callable[[RunningNode], object]) -> float:
    """From the moment when one of two nodes is ended until the other answers a heartbeat; then start it again."""
    ended, other = nodes.nodes
    group_id = group_led_by(nodes, ended, partitions, prefix)
    with WireClient(ended.bootstrap, "bench") as client:
        group = LiveGroup(group_id, client.join_alone(group_id, session_timeout_ms=60_000))
    with WireClient(other.bootstrap, "bench") as client:
        began = time.monotonic()
        end(ended)
        while not _is_answered(client, group):
            if time.monotonic() - began > SECONDS_MAX:
                raise ClientError(f"nobody has taken {group_id} over within {SECONDS_MAX} s")
            time.sleep(ASK_EVERY_SECONDS)
        seconds = time.monotonic() - began
    wait_for(lambda: not ended.is_running, SECONDS_MAX, "the node to end")
    ended.start()
    wait_until_shared_out(nodes, partitions)
    return seconds


def _is_answered(client: WireClient, group: LiveGroup) -> bool:
    request = HeartbeatRequest(group_id=group.group_id, generation_id=1, member_id=group.member_id)
    return bool(client.request(request, HEARTBEAT_VERSION).error_code == 0)
