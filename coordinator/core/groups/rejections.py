"""Tells of requests that were rejected: the group does not change, but who looks for a fault wants to know.

Kafka has no counterpart, because it has no audit topic.
"""

from typing import Any, Final, NamedTuple, Protocol

import msgspec

from _wire.errors import NONE, ErrorCode
from _wire.messages.heartbeat import HeartbeatRequest
from _wire.messages.join_group import JoinGroupRequest
from _wire.messages.offset_commit import OffsetCommitRequest
from _wire.messages.sync_group import SyncGroupRequest
from _wire.messages.txn_offset_commit import TxnOffsetCommitRequest
from coordinator.core.decision import NOTHING, Decision, OperationContext
from coordinator.core.groups.events import RequestRejected
from coordinator.core.groups.group import Group

PART_OF_THE_PROTOCOL: Final = frozenset({NONE, ErrorCode.MEMBER_ID_REQUIRED, ErrorCode.REBALANCE_IN_PROGRESS})
"""Answers that tell a healthy client what to do next."""
HELD_INSTANCE: Final = frozenset({ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNRELEASED_INSTANCE_ID})
"""Errors that say that another member has the instance id."""
PROTOCOLS_KEPT_MAX: Final = 100
"""How many of the assignors that a rejected JoinGroup offers are kept: a request has room for 200,000."""


class MemberRequest(Protocol):
    """A request that names a member."""

    @property
    def member_id(self) -> str: ...
    @property
    def group_instance_id(self) -> str | None: ...


class NamedMember(NamedTuple):
    """The member that a ConsumerGroupHeartbeat names, and the epoch that it says it has."""

    member_id: str
    group_instance_id: str | None
    member_epoch: int


class NoMember(NamedTuple):
    """The request is that of an administrator, who is none."""

    member_id: str = ""
    group_instance_id: str | None = None


def rejecting(
    group: Group[Any] | None,
    api: str,
    request: MemberRequest,
    error: ErrorCode,
    decision: Decision,
    context: OperationContext,
    *,
    injected: bool = False,
) -> Decision:
    """The decision, with the event that tells of the error that it answers; there is none without a group.

    `injected`: a fault of a test is the reason for the error.
    """
    if group is None or error in PART_OF_THE_PROTOCOL:
        return decision
    event = rejection(group, api, request, error, context, injected)
    return msgspec.structs.replace(decision, events=(*decision.events, event), no_step_follows=not decision.events)


def rejection(
    group: Group[Any],
    api: str,
    request: MemberRequest,
    error: ErrorCode,
    context: OperationContext,
    injected: bool = False,
) -> RequestRejected:
    """The event that tells of an error, whichever it is."""
    is_held = error in HELD_INSTANCE and request.group_instance_id is not None
    return RequestRejected(
        group_id=group.group_id,
        at_ms=context.wall_ms,
        api=api,
        error=error,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        client_id=context.client_id,
        client_host=context.client_host,
        client_details=context.client_details,
        holder_id=group.membership.static_members.get(request.group_instance_id or "") if is_held else None,
        injected=injected,
        muted_since_ms=_muted_since_ms(context) if error is ErrorCode.UNKNOWN_MEMBER_ID else None,
        **_asked_for(request),
    )


def _muted_since_ms(context: OperationContext) -> int | None:
    """When nothing was read from a connection of the client last, as far as it is known by its id and host."""
    from_ms = context.environment.throttled.began(context.client_id, context.client_host)
    return None if from_ms is None else context.environment.wall.at(from_ms)


def _asked_for(request: MemberRequest) -> dict[str, Any]:
    """What the request says beside who sent it, as far as it explains an error."""
    match request:
        case JoinGroupRequest():
            return {
                "protocol_type": request.protocol_type,
                "protocols": tuple(protocol.name for protocol in request.protocols[:PROTOCOLS_KEPT_MAX]),
            }
        case OffsetCommitRequest():
            return {"request_generation_id": request.generation_id_or_member_epoch}
        case TxnOffsetCommitRequest():
            return {
                "request_generation_id": request.generation_id,
                "transactional_id": request.transactional_id,
            }
        case HeartbeatRequest() | SyncGroupRequest():
            return {"request_generation_id": request.generation_id}
        case NamedMember():
            return {"request_generation_id": request.member_epoch}
    return {}


class RejectedRequest(msgspec.Struct, frozen=True):
    """A request that was answered with an error before its group was asked, or by a fault that a test injected."""

    api: str
    request: MemberRequest
    error: ErrorCode
    injected: bool = False


def report(group: Group[Any] | None, rejected: RejectedRequest, context: OperationContext) -> Decision:
    """Only report the error: the request is answered already."""
    if group is None:
        return NOTHING
    if rejected.injected:
        event = rejection(group, rejected.api, rejected.request, rejected.error, context, injected=True)
        return Decision((event,), no_step_follows=True)
    return rejecting(group, rejected.api, rejected.request, rejected.error, Decision(), context)
