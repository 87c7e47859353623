"""Events of a group and its members: created, converted, joined, rejoined, removed, replaced."""

import msgspec

from coordinator.audit.schema.event import AuditEvent
from coordinator.audit.schema.values import (
    DeniedRequests,
    MemberProgress,
    MemberRef,
    MemberSnapshot,
    Requester,
)
from coordinator.core.causes import Cause


class GroupCreated(AuditEvent, frozen=True, kw_only=True, tag="group.created"):
    """The group was created by its first JoinGroup, ConsumerGroupHeartbeat or OffsetCommit.

    `group_type` is that of ListGroups: `classic`, or `consumer` for a group of KIP-848. In a consumer group a
    generation is a group epoch.
    """

    group_type: str = "classic"


class DepartedMember(msgspec.Struct, frozen=True, kw_only=True):
    """A member that is removed as its group changes its type. The fields are those of `member.removed`."""

    at_ms: int
    member: MemberRef
    cause: Cause
    reason: str = ""
    session_timeout_ms: int = 0
    last_heard_ms: int | None = None
    last_joined_ms: int | None = None
    last_committed_ms: int | None = None
    requested_by: Requester | None = None
    connection_open: bool | None = None
    connection_closed_ms: int | None = None
    coordinator_paused_ms: int | None = None
    connection_closed_in_pause_ms: int | None = None
    connection_muted_ms: int | None = None
    denied: DeniedRequests | None = None
    rejected: str = ""
    rejected_ms: int | None = None
    heard_late_ms: int | None = None
    has_synced: bool | None = None


class GroupConverted(AuditEvent, frozen=True, kw_only=True, tag="group.converted"):
    """The group goes on as one of another type, with its committed offsets (KIP-848).

    An empty group becomes one of the type that its first member speaks. A group with members changes its type with
    them: to `consumer` when a first member comes with the new protocol, back to `classic` when the last one is gone.
    `members` and `progress` are as in `group.snapshot`. `departed` are the members that are gone with a change back to
    `classic`, as in `member.removed`, which they have no events of: at most `MEMBERS_NAMED_MAX`. They are among the
    triggers of the rebalance that follows, too.
    """

    group_type: str
    protocol_type: str
    protocol_name: str
    leader: str
    members: list[MemberSnapshot]
    progress: dict[str, MemberProgress] = {}
    departed: list[DepartedMember] = []


class MemberJoined(AuditEvent, frozen=True, kw_only=True, tag="member.joined"):
    """A new member joined the group.

    In a consumer group, `protocols` has the assignor that it asks for, if any (all that it offers, if it is a member of
    the classic protocol), `subscribed_pattern` is its regular
    expression, and `rack_id` its rack.

    If the subscription has more than `TOPICS_NAMED_MAX` topics, `subscribed_topics` is empty and `unnamed_topics` is
    their number. `join_ms` is the time since the rebalance started in whose join phase the member came; null if there
    was none. `fills_group`: the group has as many members with it as `group.max.size` or `group.consumer.max.size`
    allows. `rejected_as` is the member id with which its client asked before by the same connection, and learned that
    there is no such member any more, so that its process is the same; empty if it did not.
    """

    member: MemberRef
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: list[str]
    subscribed_topics: list[str]
    unnamed_topics: int = 0
    reason: str = ""
    join_ms: int | None = None
    protocol_type: str = ""
    subscribed_pattern: str = ""
    rack_id: str = ""
    fills_group: bool = False
    rejected_as: str = ""


class MemberRejoined(AuditEvent, frozen=True, kw_only=True, tag="member.rejoined"):
    """A member sent JoinGroup again; in a consumer group, a heartbeat that said something else about the member.

    `metadata_changed` is true if its protocols or what it subscribes to changed. What it says that it owns (KIP-429,
    KIP-792) is no change. The other fields are as in `member.joined`, and hold from now on: the timeouts and
    `protocols` are null in older events. A member of the consumer protocol has no session timeout of its own, but that
    of its group: `session_timeout_ms` is null. `last_heard_ms` is the wall-clock time of what it sent before that, of a
    member of a classic group; null if it is not known, as after a load. `has_synced` says whether it
    asked for its last assignment before, as in `member.removed`.
    """

    member: MemberRef
    metadata_changed: bool
    subscribed_topics: list[str]
    reason: str
    unnamed_topics: int = 0
    join_ms: int | None = None
    subscribed_pattern: str = ""
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    protocols: list[str] | None = None
    rack_id: str = ""
    last_heard_ms: int | None = None
    has_synced: bool | None = None


class MemberRemoved(AuditEvent, frozen=True, kw_only=True, tag="member.removed"):
    """A member was removed from the group. `reason` is the text that the client sent (KIP-800).

    `session_timeout_ms` is the member's. Wall-clock times: `last_heard_ms` is that of its last request or heartbeat,
    of a member that left before the one by which it did; `last_joined_ms` that of its last JoinGroup,
    `last_committed_ms` that of its last accepted OffsetCommit or TxnOffsetCommit. They are null if the coordinator does
    not know them, as after a load. `has_synced` is about a member of a classic group: whether it asked for its
    assignment (SyncGroup) since it joined last, and was answered; null if that is not known.
    `requested_by` is the client that removed it, if that was another one: an administrator.

    `connection_open` is about the connection by which its last JoinGroup or SyncGroup came, in a consumer group
    (KIP-848) the last heartbeat that changed what it may use, or by which its heartbeats came since that one closed, or
    since a load. It is said of a member that did not go by itself. False:
    its client's side closed it, which the coordinator saw at `connection_closed_ms`, and the member was not heard over
    another one since. True: it was open when the member was removed. Null: nothing is known of it, as after a load, or
    if the coordinator itself closed it.

    `coordinator_paused_ms` is for how long, since `last_heard_ms`, the coordinator itself stood still and heard nobody.
    `heard_late_ms` is for how long at most what was heard last had waited to be read, as nothing was read from that
    connection until just before, because of a quota.
    `connection_closed_in_pause_ms` is how long such a pause was, if the coordinator found the connection closed within
    a second after it: the client may have closed it because nobody answered. What it had sent before was read after the
    pause too, and counts for `last_heard_ms`.

    What the coordinator did to the member since `last_heard_ms`: `connection_muted_ms` is for how long it read nothing
    from that connection, because a quota was exceeded (KIP-219), of a member that left: until just before its request;
    `denied` are its requests that the authorizer refused, which renew no session. `rejected` is the error with which
    its last heartbeat since then was answered, at `rejected_ms`, such as that of a client that missed a generation;
    empty if none came.
    """

    member: MemberRef
    cause: Cause
    reason: str
    session_timeout_ms: int = 0
    last_heard_ms: int | None = None
    last_joined_ms: int | None = None
    last_committed_ms: int | None = None
    requested_by: Requester | None = None
    connection_open: bool | None = None
    connection_closed_ms: int | None = None
    coordinator_paused_ms: int | None = None
    connection_closed_in_pause_ms: int | None = None
    connection_muted_ms: int | None = None
    denied: DeniedRequests | None = None
    rejected: str = ""
    rejected_ms: int | None = None
    heard_late_ms: int | None = None
    has_synced: bool | None = None


class StaticMemberReplaced(AuditEvent, frozen=True, kw_only=True, tag="static_member.replaced"):
    """A static member rejoined with a new member id (KIP-345).

    `member` names the client that came, with its own client id and host. DescribeGroups goes on to show those of the
    client before, as on Kafka: `described_client_id` and `described_client_host`. `old_client_id` and `old_client_host`
    are those of the client whose place it took. `unnamed_topics` is as in `member.joined`, and counts the topics of
    both subscriptions. `cause` is `static_replaced`, or `fault` if a fault that a test injected took the place.
    `old_last_heard_ms` is the wall-clock time of the last request or heartbeat of the client before; null if the
    coordinator does not know it, as after a load.
    """

    member: MemberRef
    old_member_id: str
    reason: str = ""
    old_client_id: str = ""
    old_client_host: str = ""
    described_client_id: str = ""
    described_client_host: str = ""
    subscribed_topics: list[str] = []
    old_subscribed_topics: list[str] = []
    unnamed_topics: int = 0
    cause: Cause = Cause.STATIC_REPLACED
    old_last_heard_ms: int | None = None
