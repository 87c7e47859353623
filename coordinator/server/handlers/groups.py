"""JoinGroup, SyncGroup, Heartbeat, LeaveGroup: to the shard of the group, and back through the PendingRequests."""

from typing import Any

from _wire.errors import ErrorCode
from _wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from _wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from _wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from _wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from coordinator.core import joining, members
from coordinator.core.group import NO_GENERATION
from coordinator.runtime.asks import GroupDecision
from coordinator.server.dispatch import DEFERRED, DispatchTable
from coordinator.server.node_context import NodeContext
from coordinator.server.request_context import RequestContext

NULLABLE_PROTOCOL_NAME_VERSION = 7
"""Before it, JoinGroup has "" where there is no protocol; from it on null, also for one named "", as on Kafka."""
SYNC_NAMES_PROTOCOL_VERSION = 5
"""From it on SyncGroup says for which protocol it is (KIP-559)."""


class GroupHandlers:
    """The four requests that members send."""

    def __init__(self, broker: NodeContext) -> None:
        self._broker = broker

    def add_to(self, table: DispatchTable) -> None:
        table.add("JoinGroup", self.join, _join_error, downgrade=_downgrade_join)
        table.add("SyncGroup", self.sync)
        table.add("Heartbeat", self.heartbeat, _heartbeat_error)
        table.add("LeaveGroup", self.leave)

    def join(self, request: JoinGroupRequest, call: RequestContext) -> Any:
        config = self._broker.config
        return self._ask(
            request.group_id, lambda group, now_ms: joining.join(group, request, call, now_ms, config), call
        )

    def sync(self, request: SyncGroupRequest, call: RequestContext) -> Any:
        unnamed = request.protocol_type is None or request.protocol_name is None
        if call.api_version >= SYNC_NAMES_PROTOCOL_VERSION and unnamed:
            return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if not request.group_id:
            return SyncGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID)
        return self._ask(request.group_id, lambda group, now_ms: members.sync(group, request, call, now_ms), call)

    def heartbeat(self, request: HeartbeatRequest, call: RequestContext) -> Any:
        if not request.group_id:
            return HeartbeatResponse(error_code=ErrorCode.INVALID_GROUP_ID)
        return self._ask(request.group_id, lambda group, now_ms: members.heartbeat(group, request, call), call)

    def leave(self, request: LeaveGroupRequest, call: RequestContext) -> Any:
        if not request.group_id:
            return LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID)
        return self._ask(request.group_id, lambda group, now_ms: members.leave(group, request, call, now_ms), call)

    def _ask(self, group_id: str, decide: GroupDecision, call: RequestContext) -> Any:
        call.request_id = self._broker.pending.register(call.connection)
        self._broker.groups.ask(group_id, decide, call.request_id)
        return DEFERRED


def _join_error(request: JoinGroupRequest, error: ErrorCode) -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=error, generation_id=NO_GENERATION, member_id=request.member_id, protocol_name=None
    )


def _heartbeat_error(request: HeartbeatRequest, error: ErrorCode) -> HeartbeatResponse:
    """While groups are loaded every member counts as alive: loading gives it a new session."""
    if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        error = ErrorCode.NONE
    return HeartbeatResponse(error_code=error)


def _downgrade_join(response: JoinGroupResponse, api_version: int) -> None:
    if not response.protocol_name:
        response.protocol_name = "" if api_version < NULLABLE_PROTOCOL_NAME_VERSION else None
