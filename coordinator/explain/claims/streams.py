"""What only streams groups have (KIP-1071): a topology that cannot run, tasks that moved, a shutdown of all members."""

import msgspec

from coordinator.audit.schema import MemberRef
from coordinator.explain.claims.claim import Claim
from coordinator.explain.claims.findings import Found


class TopologyNotReady(Found, frozen=True):
    """The topology cannot run since `from_ms`: topics are missing, or have other numbers of partitions than it needs.

    `status` and `detail` are as in `streams.topology`. `failed`: internal topics that could not be created, and why.
    """

    status: str
    topics: tuple[str, ...]
    unnamed_topics: int
    detail: str
    failed: tuple[tuple[str, str], ...] = ()


class CouldNotRun(Claim, frozen=True):
    """When the rebalance began the topology could not run, and it has ended without becoming stable.

    `status` is as in `streams.topology`.
    """

    status: str
    topics: tuple[str, ...]
    unnamed_topics: int


class ShutdownRequested(Found, frozen=True):
    """A member asked that all members of the application end, at `from_ms`."""

    member: MemberRef


class StaleMember(msgspec.Struct, frozen=True):
    """A member that runs the topology of this epoch."""

    member: MemberRef
    topology_epoch: int


class StaleTopology(Found, frozen=True):
    """Members of the group run an older topology than it has, since `from_ms`. `unnamed`: so many others do, too."""

    members: tuple[StaleMember, ...]
    unnamed: int
    group_topology_epoch: int


class ShutdownBefore(Claim, frozen=True):
    """A member had asked that all members of the application end before these left."""

    member: MemberRef
    at_ms: int


class MovedTask(msgspec.Struct, frozen=True):
    """An active task that `before` ran last, and `member` has got."""

    subtopology_id: str
    task: int
    before: MemberRef
    member: MemberRef
    was_standby: bool


class TasksMoved(Claim, frozen=True):
    """Active tasks that members got in the rebalance, and that another member had run last.

    A task that moved several times is named once, with the member that ran it before the rebalance. `unnamed`: so many
    others were gained; of those it is not known who ran them.
    """

    tasks: tuple[MovedTask, ...]
    unnamed: int = 0
