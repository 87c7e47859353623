"""A group rebalances although nothing changed: what a fault of a test asks for."""

from typing import Final

from coordinator.core.consumer.events import GroupEpochBumped
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.decision import NOTHING, Decision, OperationContext
from coordinator.core.groups.group import Group
from coordinator.core.groups.requests import ForcedRebalance
from coordinator.core.groups.states import RECONCILING, STABLE

STATES: Final = frozenset({RECONCILING, STABLE})
"""Those in which the target assignment is that of the group epoch."""


def force_rebalance(
    group: Group[ConsumerGroup] | None, request: ForcedRebalance, context: OperationContext
) -> Decision:
    """Raise the group epoch, so that the next heartbeat computes a target assignment.

    As the assignors keep what they can, no partition need move. A group without members, or whose target is to be
    computed already, stays.
    """
    if group is None or group.membership.state not in STATES:
        return NOTHING
    consumer = group.membership
    bumped = GroupEpochBumped(
        group_id=consumer.group_id,
        at_ms=context.wall_ms,
        epoch=consumer.epoch + 1,
        metadata_hash=consumer.subscribed_hash,
        cause=request.cause,
        member_id="",
        topics_version=consumer.checked_version,
        reason=request.reason,
    )
    return Decision((bumped,))
