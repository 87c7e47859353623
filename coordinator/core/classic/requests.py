"""Fields of requests, as the core represents them."""

from _wire.messages.join_group import JoinGroupRequest
from coordinator.core.causes import REASON_CHARACTERS_MAX
from coordinator.core.classic.group import Protocol
from coordinator.core.decision import OperationContext


def protocols_of(request: JoinGroupRequest) -> tuple[Protocol, ...]:
    return tuple([Protocol(protocol.name, protocol.metadata) for protocol in request.protocols])


def rebalance_timeout_ms(request: JoinGroupRequest, context: OperationContext) -> int:
    """v0 has no rebalance timeout: the session timeout is used for both."""
    return request.rebalance_timeout_ms if context.api_version >= 1 else request.session_timeout_ms


def reason_of(text: str | None) -> str:
    """The reason that a client gave, as much of it as is kept (KIP-800)."""
    return (text or "")[:REASON_CHARACTERS_MAX]
