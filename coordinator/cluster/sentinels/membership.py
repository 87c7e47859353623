"""How a sentinel joins its group at the cluster, and leaves it.

It is a static member of a consumer group, whose only protocol no consumer has. While it is there, consumers that go to
the cluster cannot join, commits of others are refused, and committed offsets do not expire. A node that takes the group
over joins with the same instance id: it gets the place of the sentinel before, which from then on is fenced (KIP-345).
"""

from typing import Any, Final

import msgspec

from _wire.errors import ErrorCode
from _wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from _wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from coordinator.cluster.brokers.connection import BrokerConnection

INSTANCE_ID: Final = "group-coordinator-sentinel"
PROTOCOL_TYPE: Final = "consumer"
PROTOCOL: Final = "coordinator-front"
METADATA: Final = b""
"""No subscription, so a consumer of the newer protocol cannot convert the group (KIP-848). It is shorter than the
version that a subscription begins with, which Kafka 4.3 passes over. With other bytes its coordinator fails in each
rebalance of the group, and answers nobody."""
SESSION_MS: Final = (1_800_000, 300_000, 60_000)
"""The longest that brokers allow by default (`group.max.session.timeout.ms`), and shorter ones."""
JOIN_VERSION_MAX: Final = 9
LEAVE_VERSION: Final = 4
JOIN_TIMEOUT_SECONDS: Final = 60
"""The first join of a group waits for group.initial.rebalance.delay.ms, 3 s by default."""
REASON: Final = "coordinated by the nodes in front of this cluster"


class Sentinel(msgspec.Struct, frozen=True):
    """A sentinel that is a member."""

    group_id: str
    member_id: str
    generation_id: int
    broker_id: int
    """The coordinator of the group at the cluster."""
    session_ms: int


async def join(connection: BrokerConnection, group_id: str, broker_id: int) -> Sentinel | ErrorCode:
    """Join, or take the place of the sentinel before. Raises BrokerError."""
    error = ErrorCode.NONE
    for session_ms in SESSION_MS:
        request = JoinGroupRequest(
            group_id=group_id,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=session_ms,
            group_instance_id=INSTANCE_ID,
            protocol_type=PROTOCOL_TYPE,
            protocols=[JoinGroupRequestProtocol(name=PROTOCOL, metadata=METADATA)],
            reason=REASON,
        )
        joined = await connection.request(request, JOIN_VERSION_MAX, JOIN_TIMEOUT_SECONDS)
        error = ErrorCode(joined.error_code)
        if error is not ErrorCode.INVALID_SESSION_TIMEOUT:
            break
    if error is not ErrorCode.NONE:
        return error
    sentinel = Sentinel(group_id, joined.member_id, joined.generation_id, broker_id, session_ms)
    synced = await connection.request(_sync_request(sentinel, joined), 5, JOIN_TIMEOUT_SECONDS)
    error = ErrorCode(synced.error_code)
    return sentinel if error is ErrorCode.NONE else error


def _sync_request(sentinel: Sentinel, joined: Any) -> SyncGroupRequest:
    is_leader = joined.leader == joined.member_id and not joined.skip_assignment
    assignments = [SyncGroupRequestAssignment(member_id=sentinel.member_id, assignment=b"")] if is_leader else []
    return SyncGroupRequest(
        group_id=sentinel.group_id,
        generation_id=sentinel.generation_id,
        member_id=sentinel.member_id,
        group_instance_id=INSTANCE_ID,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=PROTOCOL,
        assignments=assignments,
    )


async def leave(connection: BrokerConnection, group_id: str) -> ErrorCode:
    """Leave by the instance id: whichever node the member is of. Raises BrokerError."""
    members = [MemberIdentity(group_instance_id=INSTANCE_ID)]
    left = await connection.request_in(LeaveGroupRequest(group_id=group_id, members=members), LEAVE_VERSION)
    return ErrorCode(left.error_code or (left.members[0].error_code if left.members else 0))
