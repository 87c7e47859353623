"""What can happen to a group of any kind. See `core/classic/events.py` for how events are written."""

from typing import Any

import msgspec

from _wire.errors import ErrorCode
from coordinator.core.causes import Cause, Requester
from coordinator.core.client_connection import ClientConnection
from coordinator.core.client_details import ClientDetails, KnowsClient
from coordinator.core.groups.event import GroupEvent
from coordinator.core.groups.group import Group
from coordinator.core.groups.kind import CLASSIC_NAME


class GroupCreated(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The group was created by its first join or its first offset commit. `kind` is the name of its kind."""

    group_id: str
    at_ms: int
    client_host: str = ""
    kind: str = CLASSIC_NAME

    def apply(self, group: Group[Any]) -> None:
        group.membership.mark_created(self.at_ms)


class GroupRemoved(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The group was removed, with its committed offsets and pending members."""

    group_id: str
    at_ms: int
    cause: Cause
    requested_by: Requester | None = None

    def apply(self, group: Group[Any]) -> None:
        assert not group.membership.members, (group.group_id, self)
        group.membership.mark_removed(self.at_ms)


class ClientSeen(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The first request of a member since its group was loaded, or by a new connection: nothing of this is stored.

    It is neither stored nor told by itself. Later events about the member have it.
    """

    group_id: str
    at_ms: int
    member_id: str
    client_details: ClientDetails
    client_connection: ClientConnection

    def apply(self, group: Group[Any]) -> None:
        member = group.membership.members[self.member_id]
        member.client_details, member.client_connection = self.client_details, self.client_connection
        self.client_connection.carry(self.group_id, self.member_id)


class RequestRejected(msgspec.Struct, GroupEvent, KnowsClient, frozen=True, kw_only=True):
    """A request about the group was answered with an error. It changes nothing; the audit counts it.

    `holder_id` is the member that has the instance id, for FENCED_INSTANCE_ID. `injected`: by a fault of a test.
    `request_generation_id` is the generation that the request named, if it names one; `protocol_type` and `protocols`
    are those that a JoinGroup offers, the first of them if they are very many; `transactional_id` is that of a
    TxnOffsetCommit.
    """

    group_id: str
    at_ms: int
    api: str
    error: ErrorCode
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    client_details: ClientDetails
    holder_id: str | None
    injected: bool = False
    request_generation_id: int | None = None
    protocol_type: str = ""
    protocols: tuple[str, ...] = ()
    transactional_id: str = ""
    refused_version: int | None = None
    """Of an API in a version that the server does not have."""
    oldest_version: int | None = None
    """The oldest one that it has."""
    muted_since_ms: int | None = None
    """When the last throttle time of its client began, in wall-clock milliseconds; None: none is known."""

    def apply(self, group: Group[Any]) -> None:
        return
