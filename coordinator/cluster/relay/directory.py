"""What the relay asks of the node: where brokers and nodes are, and who coordinates a group."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol, TypeAlias

from coordinator.cluster.found import Finding

FIRST_NODE_ID: Final = 1_000_000
"""Node ids begin here, so that they differ from the ids of brokers: some clients keep both in one table."""


class Address(NamedTuple):
    """Where to connect to."""

    host: str
    port: int


class CoordinatorNode(NamedTuple):
    """A node that coordinates groups, with the address by which clients reach it."""

    node_id: int
    host: str
    port: int


Owner: TypeAlias = Finding[CoordinatorNode]
"""Of a group: the node that owns it. None is found of a group that the cluster coordinates."""


class Directory(Protocol):
    """The cluster as the clients of one listener see it. Callbacks are called once, at once or later."""

    def broker_address(self, broker_id: int) -> Address | None:
        """The address by which clients reach a broker through this node; None: there is none yet."""

    def broker_upstream(self, broker_id: int) -> Address | None:
        """The address of the broker itself; None: it is not in the cluster."""

    def nodes(self) -> Sequence[CoordinatorNode]:
        """The nodes that are up."""

    def owner_of(self, group_id: str, answered: Callable[[Owner], None]) -> None:
        """Find out who coordinates a group."""

    def owned_groups(self, answered: Callable[[frozenset[str] | None], None]) -> None:
        """Find out which groups the nodes own, all nodes together; None: this is not known now."""
