"""Static members: an instance id that comes back under a new member id takes its old place (KIP-345, KIP-814)."""

from _wire.errors import ErrorCode
from _wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from coordinator.core.classic.events import StaticMemberReplaced
from coordinator.core.classic.group import ClassicGroup, Member
from coordinator.core.classic.members import answers_to_removed, last_heard_ms
from coordinator.core.classic.rebalance import members_with_metadata, select_protocol
from coordinator.core.classic.requests import protocols_of, reason_of, rebalance_timeout_ms
from coordinator.core.decision import Decision, OperationContext, Reply
from coordinator.core.groups.connection_at_removal import last_sign_ms
from coordinator.core.groups.states import STABLE
from coordinator.core.sessions import SessionEnded, SessionStarted

SKIP_ASSIGNMENT_VERSION = 9
"""From this version on a leader that rejoins gets the members, and is asked to skip the assignment (KIP-814)."""


def replace(group: ClassicGroup, request: JoinGroupRequest, context: OperationContext, new_member_id: str) -> Decision:
    """Replace a static member by a new member id. A stable group rebalances only if its protocol changes.

    Its session has the old timeout until its first heartbeat (seen on Kafka 4.3.1).
    """
    assert context.request_id is not None
    assert request.group_instance_id is not None, group.group_id
    old = group.members[group.static_members[request.group_instance_id]]
    protocols = protocols_of(request)
    member = Member(
        member_id=new_member_id,
        group_instance_id=request.group_instance_id,
        client_id=old.client_id,
        client_host=old.client_host,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=rebalance_timeout_ms(request, context),
        protocols=protocols,
    )
    at_once = group.state is STABLE and select_protocol(_with(group, old, member)) == group.protocol_name
    replaced = StaticMemberReplaced(
        group_id=group.group_id,
        at_ms=context.wall_ms,
        group_instance_id=request.group_instance_id,
        old_member_id=old.member_id,
        new_member_id=new_member_id,
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        protocols=protocols,
        request_id=None if at_once else context.request_id,
        reason=reason_of(request.reason),
        client_id=context.client_id,
        client_host=context.client_host,
        client_details=context.client_details,
        client_connection=context.client_connection,
        old_last_heard_ms=last_sign_ms(last_heard_ms(group.group_id, old, context), old, context),
    )
    replies = answers_to_removed(old, ErrorCode.FENCED_INSTANCE_ID)
    if at_once:
        replies.append(Reply(context.request_id, _replaced_response(group, old, member, context)))
    started = SessionStarted(
        new_member_id, request.group_instance_id, old.session_timeout_ms, member.session_timeout_ms
    )
    return Decision((replaced,), tuple(replies), (SessionEnded(old.member_id), started))


def _with(group: ClassicGroup, old: Member, new: Member) -> list[Member]:
    return [new if member is old else member for member in group.members.values()]


def _replaced_response(group: ClassicGroup, old: Member, new: Member, context: OperationContext) -> JoinGroupResponse:
    """The current generation, for the member that took over.

    Before v9 a leader could not be asked to skip the assignment: the response names its old id
    as the leader, so that it acts as a follower.
    """
    leads = group.leader == old.member_id
    skips = leads and context.api_version >= SKIP_ASSIGNMENT_VERSION
    return JoinGroupResponse(
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=new.member_id if skips else group.leader or "",
        skip_assignment=skips,
        member_id=new.member_id,
        members=members_with_metadata(_with(group, old, new), group.protocol_name) if skips else [],
    )
