"""From a rejected request to the fields of its audit event."""

from collections.abc import Iterable
from itertools import islice
from typing import Final

from _wire.errors import ErrorCode
from coordinator.audit import schema
from coordinator.audit.fields import Fields
from coordinator.audit.group_state import GroupAuditState
from coordinator.audit.world import World
from coordinator.core.causes import REASON_CHARACTERS_MAX
from coordinator.core.groups.events import RequestRejected
from coordinator.core.groups.membership import Membership
from coordinator.core.groups.states import GroupState

COMMITS: Final = frozenset({"OffsetCommit", "TxnOffsetCommit"})
HEARTBEATS: Final = frozenset({"Heartbeat", "ConsumerGroupHeartbeat"})
STALE_COMMIT: Final = frozenset(
    {
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.INVALID_PRODUCER_EPOCH,
    }
)
"""Errors of a commit whose client has lost its place: as another error may mean, the client shall not send it again."""

PROTOCOLS_SEARCHED_MAX: Final = 1_000
"""A member may offer as many assignors as a request has room for; the clients have a handful."""


def rejected(
    event: RequestRejected, group: Membership, state: GroupAuditState, before: GroupState, world: World
) -> Fields | None:
    """The fields of `schema.RequestRejected`; None for a rejection that is only counted."""
    if event.injected:
        return _rejection(event, group, 1)
    if event.error is ErrorCode.UNKNOWN_MEMBER_ID and event.api in HEARTBEATS and state.is_gone(event.member_id):
        return _rejection(event, group, 1)
    if event.api == "Heartbeat" and event.error is ErrorCode.UNKNOWN_MEMBER_ID:
        return None
    if event.api == "OffsetCommit" and event.refused_version is None:
        state.count_rejected_commit()
    if event.api in COMMITS and event.error not in STALE_COMMIT and event.refused_version is None:
        return None
    whose = event.group_instance_id if event.refused_version is None else event.member_id
    kind = event.api, event.error, event.client_id, whose, event.holder_id  # who has the place by now is news
    count = state.count_rejection(kind, event.at_ms)
    return _rejection(event, group, count) if count else None


def _rejection(event: RequestRejected, group: Membership, count: int) -> Fields:
    return {
        "api": event.api,
        "error": event.error.name,
        "member": event,
        "holder": None if event.holder_id is None else group.members[event.holder_id],
        "count": count,
        "injected": event.injected,
        "request_generation_id": event.request_generation_id,
        "transactional_id": event.transactional_id,
        "protocol_type": event.protocol_type,
        "protocols": _cut(event.protocols),
        "group_protocol_type": (group.protocol_type or "") if event.protocols else "",
        "group_protocols": _cut(group.shared_protocols(PROTOCOLS_SEARCHED_MAX)) if event.protocols else [],
        "refused_version": event.refused_version,
        "oldest_version": event.oldest_version,
        "muted_since_ms": event.muted_since_ms,
    }


def _cut(protocols: Iterable[str]) -> list[str]:
    """As much of these names, which clients chose, as an event has room for."""
    return [name[:REASON_CHARACTERS_MAX] for name in islice(protocols, schema.PROTOCOLS_NAMED_MAX)]
