"""Requests of operations that serve no API. Each kind of group has its own handler for them, or none."""

import msgspec

from coordinator.core.causes import Cause


class SessionExpired:
    """The session timer of this member id fired; or another cause ends its session.

    `reason` goes with another cause.
    """

    __slots__ = ("cause", "member_id", "reason")

    def __init__(self, member_id: str, cause: Cause = Cause.SESSION_EXPIRED, reason: str = "") -> None:
        self.member_id = member_id
        self.cause = cause
        self.reason = reason


class ForcedRebalance(msgspec.Struct, frozen=True):
    """The group is to rebalance although none of its members changes."""

    cause: Cause
    reason: str


class JoinAsInstance(msgspec.Struct, frozen=True):
    """Another client joins with the instance id of a static member, with what its holder sent when it joined."""

    group_instance_id: str
    cause: Cause
    reason: str
