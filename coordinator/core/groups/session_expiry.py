"""A session that is over, and whose member could not be removed."""

from typing import Any, Final

from coordinator.core.causes import Cause
from coordinator.core.decision import NOTHING, Decision, OperationContext
from coordinator.core.groups.group import Group
from coordinator.core.groups.requests import SessionExpired
from coordinator.core.sessions import SessionRenewed

RETRY_MS: Final = 10_000


def expiry_failed(
    group: Group[Any] | None, request: SessionExpired, context: OperationContext, problem: object
) -> Decision:
    """Try again later: the session has no timer any more, so its member would stay for ever."""
    if group is None or request.cause is not Cause.SESSION_EXPIRED:
        return NOTHING
    if context.environment.sessions.timeout_ms(group.group_id, request.member_id) is None:
        return NOTHING
    return Decision(effects=(SessionRenewed(request.member_id, RETRY_MS),))
