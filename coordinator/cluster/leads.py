"""The partitions of the log that this node leads: begun and ended as the nodes' group says, ended with the lease."""

from collections.abc import Callable, Collection, Iterable
from typing import Final

from coordinator.cluster.nodes.lease import Lease
from coordinator.cluster.nodes.messages import Assignment, Claim, NodeAddress
from coordinator.logger import logger


class PartitionLeads:
    """Which partitions this node leads, and which node leads each of the others."""

    def __init__(self, node: NodeAddress, lease: Lease, started_ms: int, now_ms: Callable[[], int]) -> None:
        self.node: Final = node
        self._lease = lease
        self._started_ms = started_ms
        self._now_ms = now_ms
        self.partitions: set[int] = set()
        """Those that the group of the nodes has assigned to this one."""
        self._fenced: dict[int, int] = {}
        """Those of them that another node has written to, and when this one learned of it."""
        self.nodes: tuple[NodeAddress, ...] = (node,)
        self._leaders: dict[int, int] = {}
        self.takeovers = self.fences = self.leases_lost = 0
        """How often each has happened since the start."""
        self._on_gained: list[Callable[[Iterable[int]], None]] = []
        self._on_lost: list[Callable[[int], None]] = []
        self._on_lease_over: list[Callable[[], None]] = []

    def on_gained(self, listener: Callable[[Iterable[int]], None]) -> None:
        """Call `listener` with the partitions that are this node's from now on."""
        self._on_gained.append(listener)

    def on_lost(self, listener: Callable[[int], None]) -> None:
        """Call `listener` with each partition that is this node's no more; the listeners in their order."""
        self._on_lost.append(listener)

    def on_lease_over(self, listener: Callable[[], None]) -> None:
        """Call `listener` when everything was given up because the lease was over."""
        self._on_lease_over.append(listener)

    def _gain(self, partitions: Collection[int]) -> None:
        self.takeovers += len(partitions)
        for listener in self._on_gained:
            listener(partitions)

    def _lose(self, partition: int) -> None:
        for listener in self._on_lost:
            listener(partition)

    # ---- what others ask

    def may_lead(self, partition: int) -> bool:
        """Whether the partition is this node's by the last that it heard, and the lease still holds."""
        return partition in self.partitions and self._lease.is_held

    def leader_of(self, partition: int) -> NodeAddress | None:
        """The node that leads a partition as far as is known; None: none, or one that is gone."""
        if partition in self.partitions:
            return self.node if self._lease.is_held else None
        leader_id = self._leaders.get(partition)
        if leader_id == self.node.node_id:
            return None
        return next((node for node in self.nodes if node.node_id == leader_id), None)

    def check_lease(self) -> None:
        """Give up everything if the lease is over. Called before anything is answered."""
        if self.partitions and not self._lease.is_held:
            self.leases_lost += 1
            self.give_up_all("no heartbeat was answered within the session of the nodes' group")
            for listener in self._on_lease_over:
                listener()

    def fenced(self, partition: int) -> None:
        """Another node has written to a partition that this one leads: it is not served any more.

        If the group of the nodes confirms later that it is this node's, it is taken over again.
        """
        if partition in self.partitions:
            logger.warning("another node leads the partition", partition=partition)
            self.fences += 1
            self._fenced[partition] = self._now_ms()
            self._lose(partition)

    # ---- what the group of the nodes says

    def claim(self) -> Claim:
        return Claim(node=self.node, leads=tuple(sorted(self.partitions)), started_ms=self._started_ms)

    def assigned(self, assignment: Assignment) -> bool:
        before, now = self.partitions, set(assignment.leads)
        lost, gained = sorted(before - now), sorted(now - before)
        self.partitions = now
        for partition in lost:
            self._fenced.pop(partition, None)
            self._lose(partition)
        self.nodes = assignment.nodes or (self.node,)
        self._leaders = dict(assignment.leaders)
        if lost or gained:
            logger.info("partitions assigned", leads=len(now), gained=len(gained), lost=len(lost))
        if gained:
            self._gain(gained)
        return bool(lost)

    def confirmed(self, sent_ms: int) -> None:
        again = sorted(partition for partition, fenced_ms in self._fenced.items() if fenced_ms < sent_ms)
        for partition in again:
            del self._fenced[partition]
        if again:
            self._gain(again)

    def give_up_all(self, reason: str) -> None:
        given_up, self.partitions = sorted(self.partitions), set()
        self._fenced.clear()
        for partition in given_up:
            self._lose(partition)
        if given_up:
            logger.warning("all partitions given up", partitions=len(given_up), reason=reason)
