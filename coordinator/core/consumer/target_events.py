"""The events of target assignments that are computed beside the requests; they are not stored."""

import msgspec

from coordinator.core.consumer.group import ConsumerGroup, FailedWork
from coordinator.core.consumer.target import TargetInput
from coordinator.core.groups.event import GroupEvent
from coordinator.core.groups.group import Group


class TargetComputationStarted(msgspec.Struct, GroupEvent, frozen=True, kw_only=True, eq=False):
    """The target of a group epoch is to be computed from `asked`; `install target` brings it.

    `member_id` is the member whose request asked. It is not stored: after a load the next request asks again.
    """

    group_id: str
    at_ms: int
    epoch: int
    member_id: str
    asked: TargetInput

    def apply(self, group: Group[ConsumerGroup]) -> None:
        group.membership.computing = self


class TargetComputationEnded(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The computation brought nothing that the group needs; the next request asks again if one is due."""

    group_id: str
    at_ms: int

    def apply(self, group: Group[ConsumerGroup]) -> None:
        group.membership.computing = group.membership.failed_target = None


class TargetComputationFailed(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The group keeps the target that it had; it is not stored."""

    group_id: str
    at_ms: int
    failed: FailedWork

    def apply(self, group: Group[ConsumerGroup]) -> None:
        consumer = group.membership
        consumer.computing, consumer.failed_target = None, self.failed
