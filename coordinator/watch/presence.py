"""Which nodes see what passes, and from when to when one did not, by what they say of themselves in a partition."""

from collections.abc import Iterator
from typing import Final

import msgspec

from coordinator.audit.schema.sighted import Unseen, Watches
from coordinator.audit.schema.unseen import UnseenBecause

NODES_MAX: Final = 1_000
LATE_MS: Final = 6_000
"""So much later than it was seen a node says at most that it has seen all: else it may be away."""

BEGUN_MS: Final = 1_000
"""From this time on after a node has begun to look, it has seen each client that comes by way of it."""


class NodePresence(msgspec.Struct, array_like=True):
    """What a node has said last. `offset` is where its run was first told, and `before_ms` the end of the run before.

    With these a reader that begins at an earlier position finds the same gap again.
    """

    run_ms: int
    since_ms: int
    until_ms: int
    offset: int
    before_ms: int | None = None


class Presence:
    """Of all nodes, as one partition tells it. Those that never said anything count as always there."""

    def __init__(self) -> None:
        self.nodes: dict[int, NodePresence] = {}

    def apply(self, watches: Watches, offset: int) -> Iterator[Unseen]:
        """The gaps that this tells of, without their group."""
        node = self.nodes.get(watches.node_id)
        if node is None:
            if len(self.nodes) >= NODES_MAX:
                self.nodes.pop(min(self.nodes, key=lambda node_id: self.nodes[node_id].until_ms))
            node = NodePresence(watches.run_ms, watches.since_ms, watches.at_ms, offset)
            self.nodes[watches.node_id] = node
        elif watches.run_ms > node.run_ms:
            node = NodePresence(watches.run_ms, watches.since_ms, watches.at_ms, offset, node.until_ms)
            self.nodes[watches.node_id] = node
        else:
            node.since_ms = max(node.since_ms, watches.since_ms)
            node.until_ms = max(node.until_ms, watches.at_ms)
        if node.offset == offset and node.before_ms is not None and node.before_ms < node.run_ms:
            yield Unseen("", node.run_ms, watches.node_id, node.before_ms, UnseenBecause.NODE_AWAY)
        if watches.lost_from_ms is not None:
            yield Unseen("", watches.lost_until_ms, watches.node_id, watches.lost_from_ms, UnseenBecause.FACTS_DROPPED)

    def vouches(self, node_id: int, at_ms: int) -> bool:
        """Whether the node would have seen by then what a client of it sent."""
        node = self.nodes.get(node_id)
        return node is None or node.until_ms >= at_ms - LATE_MS

    def sees(self, at_ms: int) -> bool:
        """Whether a node that is there looked at that time, so that somebody unseen came to the brokers directly."""
        return any(
            node.since_ms + BEGUN_MS <= at_ms and node.until_ms >= at_ms - LATE_MS for node in self.nodes.values()
        )
