from collections.abc import Sequence

from _wire.messages.leave_group import MemberIdentity, MemberResponse
from coordinator.core.consumer.member import ConsumerMember

def members_that_leave(
    members: dict[str, ConsumerMember], static_members: dict[str, str], identities: Sequence[MemberIdentity]
) -> tuple[dict[str, str | None], list[MemberResponse]]:
    """The members behind these identities: member id → reason of each that leaves, and the response to each identity.

    A member that is named twice leaves with its first reason, and both are answered NONE.
    """
