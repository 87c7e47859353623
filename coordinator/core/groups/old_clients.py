"""Members whose client asks for a version of an API that the server refuses: it is too old to do its work here.

Such a request is refused before it is read, and at a connection that may be another one than that by which the client
is a member. Who the client is follows from its client id and its address.

Kafka has no counterpart, because it has no audit topic.
"""

from typing import Any, Final

import msgspec

from _wire.errors import ErrorCode
from coordinator.core.decision import NOTHING, Decision, OperationContext
from coordinator.core.groups.events import RequestRejected
from coordinator.core.groups.group import Group

APIS: Final = frozenset({"Fetch", "ListOffsets", "OffsetFetch", "OffsetCommit"})
"""What a consumer cannot do without, beside the requests by which it is a member."""

Client = tuple[str, str]
"""Client id and host."""


class RefusedVersion(msgspec.Struct, frozen=True):
    """A client asked for `version` of an API, of which the server has `oldest` and later ones alone."""

    api: str
    version: int
    oldest: int


class OldClient(msgspec.Struct, frozen=True):
    """A member whose client was refused."""

    member_id: str
    refused: RefusedVersion


def client_of(member: Any) -> Client:
    """Who a member is now: a static member is described as the client that it was first."""
    now = getattr(member, "replaced_by", None) or member
    return now.client_id, now.client_host


def report(group: Group[Any] | None, old: OldClient, context: OperationContext) -> Decision:
    """Only report it, if the member is still there."""
    member = None if group is None else group.membership.members.get(old.member_id)
    if group is None or member is None:
        return NOTHING
    client_id, client_host = client_of(member)
    rejected = RequestRejected(
        group_id=group.group_id,
        at_ms=context.wall_ms,
        api=old.refused.api,
        error=ErrorCode.UNSUPPORTED_VERSION,
        member_id=old.member_id,
        group_instance_id=member.group_instance_id,
        client_id=client_id,
        client_host=client_host,
        client_details=member.client_details,
        holder_id=None,
        refused_version=old.refused.version,
        oldest_version=old.refused.oldest,
    )
    return Decision((rejected,), no_step_follows=True)
