"""A group that is given to another coordinator: nothing of it stays here. Its committed offsets are there already."""

from typing import Any

from _wire.errors import ErrorCode
from coordinator.core.causes import Cause
from coordinator.core.decision import Decision, OperationContext, replying
from coordinator.core.groups.events import GroupRemoved
from coordinator.core.groups.group import Group
from coordinator.core.groups.states import EMPTY
from coordinator.core.offsets.expiry import ended_sessions


def release(group: Group[Any] | None, cause: Cause, context: OperationContext) -> Decision:
    """Remove the group for this cause if it has no members; answer whether it is gone."""
    if group is None:
        return replying(context, True)
    if group.membership.state is not EMPTY:
        return replying(context, False)
    removed = GroupRemoved(group_id=group.group_id, at_ms=context.wall_ms, cause=cause)
    return replying(context, True, removed, effects=ended_sessions(group))


def error_response(request: Cause, error: ErrorCode, api_version: int) -> bool:
    """It is not known to be gone."""
    return False
