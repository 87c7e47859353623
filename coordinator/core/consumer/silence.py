"""When a member of a consumer group was last heard."""

from coordinator.core.consumer.member import ConsumerMember
from coordinator.core.decision import OperationContext


def last_heard_ms(group_id: str, member: ConsumerMember, context: OperationContext) -> int | None:
    """When what renews the member's session last came, in wall-clock ms; None: not since its group was loaded."""
    environment = context.environment
    renewed_ms = environment.sessions.last_renewed_ms(group_id, member.member_id)
    if renewed_ms is None:
        return member.joined_ms or None
    return max(environment.wall.at(renewed_ms), member.joined_ms or 0)
