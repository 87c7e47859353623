"""Which node leads a partition. Nothing else in the server assumes how many nodes there are."""

from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

NO_LEADER: Final = -1
"""The leader of a partition whose log directory is offline, as in Metadata responses."""


class RemoteNode(msgspec.Struct, frozen=True):
    """Another node of the cluster, and where clients reach it."""

    node_id: int
    host: str
    port: int


class Leadership(Protocol):
    """The leaders of all partitions, internal topics included."""

    @property
    def version(self) -> int:
        """Rises when what this says may have changed."""

    def leader_of(self, topic: str, partition: int) -> int:
        """The id of the node that leads a partition that exists; NO_LEADER if none can."""

    def other_nodes(self) -> Sequence[RemoteNode]:
        """The nodes of the cluster beside this one."""


class SingleNode:
    """A cluster of one node, which leads every partition."""

    version: Final = 0

    def __init__(self, node_id: int) -> None:
        self._node_id = node_id

    def leader_of(self, topic: str, partition: int) -> int:
        return self._node_id

    def other_nodes(self) -> Sequence[RemoteNode]:
        return ()
