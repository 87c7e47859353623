"""A member of a group as nodes have seen it, and what they say of themselves."""

from typing import Final, NamedTuple, Protocol

import msgspec

from coordinator.audit.schema.sighted import ClientSighted
from coordinator.observe.places import Place


class NodesThere(Protocol):
    """Which nodes look at what passes."""

    def vouches(self, node_id: int, at_ms: int) -> bool:
        """Whether the node would have seen by then what a client of it sent."""

    def sees(self, at_ms: int) -> bool:
        """Whether somebody whom no node has seen by then came to the brokers directly."""


class AlwaysThere:
    """Of nodes that say nothing of themselves, it is not known who is not seen."""

    def vouches(self, node_id: int, at_ms: int) -> bool:
        return True

    def sees(self, at_ms: int) -> bool:
        return False


ALWAYS_THERE: Final = AlwaysThere()


class SeenMember(msgspec.Struct):
    """A member as nodes have seen it. Times in ms since the epoch; None: not seen."""

    client: ClientSighted = ClientSighted()
    node_id: int = -1
    """The node by which it was heard last."""
    heard_ms: int | None = None
    silent: bool = False
    joined_ms: int | None = None
    """When its last JoinGroup passed."""
    joined_generation: int = -1
    synced_generation: int = -1
    synced_ms: int | None = None
    """When its last SyncGroup passed."""
    protocols: tuple[str, ...] = ()
    """What it offered when it joined last."""
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    connection_open: bool | None = None
    connection_closed_ms: int | None = None
    left_ms: int | None = None
    left_reason: str = ""
    committed_ms: int | None = None
    """When its last commit was answered well; told when it leaves."""
    removed_by: ClientSighted | None = None
    """Another client that removed it."""
    rejected: str = ""
    rejected_ms: int | None = None
    place: Place | None = None
    """Where the last of it was seen."""
    group_instance_id: str | None = None
    is_gone: bool = False
    """It was told that it is removed."""
    unseen_ms: int | None = None
    """Since when nothing follows from its silence: its node was away, or dropped what it saw; or the coordinator did
    not answer it."""


class JoinSeen(NamedTuple):
    """When a member sent JoinGroup, and the SyncGroup that followed; None: that did not pass."""

    joined_ms: int
    synced_ms: int | None
