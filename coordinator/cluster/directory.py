"""Where clients reach brokers and nodes, and who coordinates a group, as a node knows it (`relay/directory.py`)."""

from collections.abc import Callable, Sequence
from functools import partial

from _wire.errors import ErrorCode
from coordinator.cluster.brokers.brokers import Brokers
from coordinator.cluster.found import NOT_FOUND, Finding, Found, Unknown
from coordinator.cluster.leads import PartitionLeads
from coordinator.cluster.nodes.messages import NodeAddress
from coordinator.cluster.nodes.peers import Peers
from coordinator.cluster.ownership import GroupOwnership
from coordinator.cluster.relay.directory import Address, CoordinatorNode, Owner


class NodeDirectory:
    """All nodes tell clients the same: each broker is reached through one of them, by the id of the broker."""

    def __init__(
        self,
        brokers: Brokers,
        leads: PartitionLeads,
        ownership: GroupOwnership,
        peers: Peers,
        *,
        nodes_group_id: str,
        node_id_base: int,
        partition_of: Callable[[str], int],
    ) -> None:
        self._brokers = brokers
        self._leads = leads
        self._ownership = ownership
        self._peers = peers
        self._nodes_group_id = nodes_group_id
        self._node_id_base = node_id_base
        self._partition_of = partition_of

    def broker_address(self, broker_id: int) -> Address | None:
        if broker_id not in self._brokers.by_id:
            return None
        nodes = sorted(self._leads.nodes, key=lambda node: node.node_id)
        node = nodes[broker_id % len(nodes)]
        return Address(node.host, node.broker_port_base + broker_id)

    def broker_upstream(self, broker_id: int) -> Address | None:
        broker = self._brokers.by_id.get(broker_id)
        return None if broker is None else Address(broker.host, broker.port)

    def nodes(self) -> Sequence[CoordinatorNode]:
        return [self._as_coordinator(node) for node in self._leads.nodes]

    def owner_of(self, group_id: str, answered: Callable[[Owner], None]) -> None:
        if group_id == self._nodes_group_id:
            answered(NOT_FOUND)
            return
        leader = self._leads.leader_of(self._partition_of(group_id))
        if leader is None:
            answered(Unknown(ErrorCode.COORDINATOR_NOT_AVAILABLE))
            return
        found = partial(self._found, leader, answered)
        if leader == self._leads.node:
            self._ownership.find(group_id, found)
        else:
            self._peers.find(leader, group_id, found)

    def _found(self, leader: NodeAddress, answered: Callable[[Owner], None], owned: Finding[None]) -> None:
        answered(Found(self._as_coordinator(leader)) if isinstance(owned, Found) else owned)

    def owned_groups(self, answered: Callable[[frozenset[str] | None], None]) -> None:
        others = [node for node in self._leads.nodes if node != self._leads.node]
        lists: list[list[str] | None] = [self._ownership.owned_groups()]

        def listed(group_ids: list[str] | None) -> None:
            lists.append(group_ids)
            if len(lists) == len(others) + 1:
                answered_lists = [owned for owned in lists if owned is not None]
                is_whole = len(answered_lists) == len(lists)
                answered(frozenset(group for owned in answered_lists for group in owned) if is_whole else None)

        for node in others:
            self._peers.list_owned(node, listed)
        if not others:
            answered(frozenset(lists[0] or ()))

    def _as_coordinator(self, node: NodeAddress) -> CoordinatorNode:
        return CoordinatorNode(self._node_id_base + node.node_id, node.host, node.port)
