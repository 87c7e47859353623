"""What happened to a group beside its rebalances."""

from coordinator.audit.schema import (
    GroupHeldByCluster,
    GroupRemoved,
    GroupUnseen,
    MemberRef,
    OffsetsDeleted,
    OffsetsExpired,
    OffsetsReset,
    RequestRejected,
)
from coordinator.explain.claims.claim import Claim


class PlaceTaken(Claim, frozen=True):
    """A client took the place of a static member, without a rebalance (KIP-345)."""

    at_ms: int
    member: MemberRef
    before: MemberRef


class OffsetsSet(Claim, frozen=True):
    """Committed offsets were set by somebody who is no member, or set back by one."""

    at_ms: int
    event: OffsetsReset


class OffsetsGone(Claim, frozen=True):
    """Committed offsets were deleted, or expired."""

    at_ms: int
    event: OffsetsDeleted | OffsetsExpired


class Refusal(Claim, frozen=True):
    """A request about the group was refused."""

    at_ms: int
    event: RequestRejected
    is_epoch: bool = False


class Loaded(Claim, frozen=True):
    """The coordinator loaded the group again.

    Of another Kafka: `broker` took it, and `before` gave it up `away_ms` earlier; None: that is not seen.
    """

    at_ms: int
    broker: int | None = None
    before: int | None = None
    away_ms: int | None = None


class GroupConverted(Claim, frozen=True):
    """The group changed its protocol, with so many members (KIP-848)."""

    at_ms: int
    group_type: str
    members: int


class GroupGone(Claim, frozen=True):
    """The group was deleted, or removed because nothing of it was left."""

    at_ms: int
    event: GroupRemoved


class NotSeen(Claim, frozen=True):
    """Something may have happened in a watched group that no node saw."""

    at_ms: int
    event: GroupUnseen


class AtTheCluster(Claim, frozen=True):
    """Who was in the group at the cluster, though nodes in front of it are to coordinate it."""

    at_ms: int
    event: GroupHeldByCluster
