"""Fields of a JoinGroup request, as the core represents them."""

from _wire.messages.join_group import JoinGroupRequest
from coordinator.core.classic_group import Protocol
from coordinator.core.decision import OperationContext


def protocols_of(request: JoinGroupRequest) -> tuple[Protocol, ...]:
    return tuple([Protocol(protocol.name, protocol.metadata) for protocol in request.protocols])


def rebalance_timeout_ms(request: JoinGroupRequest, context: OperationContext) -> int:
    """v0 has no rebalance timeout: the session timeout is used for both."""
    return request.rebalance_timeout_ms if context.api_version >= 1 else request.session_timeout_ms
