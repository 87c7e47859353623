"""What can happen to a group of the classic protocol. Applying an event is the only way a group changes.

An event is never changed. Its fields are given by name, so that a field that is added later shifts no other.

Counterpart in Kafka: the records that `CoordinatorShard.replay` applies, plus events for the changes that Kafka
makes directly to its `ClassicGroup`.
"""

from typing import NamedTuple

import msgspec

from coordinator.core.causes import Cause, Requester
from coordinator.core.classic.group import ClassicGroup, Member, Protocol, Rebalance, RebalanceReason
from coordinator.core.classic.states import REBALANCES_FROM
from coordinator.core.client_connection import ClientConnection
from coordinator.core.client_details import UNKNOWN_CLIENT, ClientDetails
from coordinator.core.groups.connection_at_removal import UNKNOWN, ConnectionAtRemoval
from coordinator.core.groups.event import GroupEvent
from coordinator.core.groups.group import Group
from coordinator.core.groups.states import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE


class PendingMemberAdded(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A member id was handed out with MEMBER_ID_REQUIRED; it holds up rebalances of others until it joins (KIP-394)."""

    group_id: str
    at_ms: int
    member_id: str
    session_timeout_ms: int
    client_host: str = ""

    def apply(self, group: Group[ClassicGroup]) -> None:
        group.membership.pending_members[self.member_id] = self.session_timeout_ms


class PendingMemberRemoved(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A pending member id was removed before its member joined.

    One that leaves starts a rebalance in Stable and CompletingRebalance; its mere expiry does not (4.3).
    `found_no_room`: its JoinGroup was rejected because the group is full.
    """

    group_id: str
    at_ms: int
    member_id: str
    cause: Cause
    client_id: str = ""
    client_host: str = ""
    reason: str = ""
    found_no_room: bool = False

    def apply(self, group: Group[ClassicGroup]) -> None:
        classic = group.membership
        del classic.pending_members[self.member_id]
        if self.found_no_room:
            classic.defer_join_completion()
        else:
            classic.allow_join_completion()
        if self.cause is Cause.MEMBER_LEFT and classic.state in (STABLE, COMPLETING_REBALANCE):
            classic.rebalance_reason = classic.rebalance_reason or RebalanceReason(
                self.cause, self.member_id, self.client_id, self.client_host, None, self.reason
            )


class MemberJoined(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A member that the group did not know joins the next generation and waits for it."""

    group_id: str
    at_ms: int
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: tuple[Protocol, ...]
    request_id: int
    reason: str
    client_details: ClientDetails = UNKNOWN_CLIENT
    client_connection: ClientConnection | None = None
    fills_group: bool = False
    """Whether the group is full with it."""
    rejected_as: str = ""
    """The member id that is none any more, as its connection was told just before; empty: it was told nothing."""

    def apply(self, group: Group[ClassicGroup]) -> None:
        classic = group.membership
        classic.pending_members.pop(self.member_id, None)
        if not classic.members:
            classic.protocol_type = self.protocol_type
        member = Member(
            member_id=self.member_id,
            group_instance_id=self.group_instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            session_timeout_ms=self.session_timeout_ms,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            protocols=self.protocols,
            awaiting_join=self.request_id,
            client_details=self.client_details,
            joined_ms=self.at_ms,
            client_connection=self.client_connection,
        )
        classic.add_member(member)
        if self.client_connection is not None:
            self.client_connection.carry(self.group_id, self.member_id)
        if classic.rebalance is not None and classic.rebalance.from_empty:
            classic.rebalance.new_member_came = True
        classic.request_rebalance(Cause.NEW_MEMBER, member, self.reason)


class MemberRejoined(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A known member joins the next generation and waits for it.

    `cause` is that of the rebalance, if this is what starts it. `last_heard_ms`: when it was heard before that, in
    wall-clock milliseconds. `has_synced`: whether it had asked for its last assignment; None: not known.
    """

    group_id: str
    at_ms: int
    member_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[Protocol, ...]
    cause: Cause
    request_id: int
    reason: str
    client_details: ClientDetails = UNKNOWN_CLIENT
    client_connection: ClientConnection | None = None
    last_heard_ms: int | None = None
    has_synced: bool | None = None

    def apply(self, group: Group[ClassicGroup]) -> None:
        classic = group.membership
        member = classic.members[self.member_id]
        member.session_timeout_ms = self.session_timeout_ms
        member.rebalance_timeout_ms = self.rebalance_timeout_ms
        member.client_details = self.client_details
        member.joined_ms = self.at_ms
        member.client_connection = self.client_connection
        if self.client_connection is not None:
            self.client_connection.carry(self.group_id, self.member_id)
        classic.update_protocols(member, self.protocols)
        classic.wait_for_join(member, self.request_id)
        classic.request_rebalance(self.cause, member, self.reason)


class MemberRemoved(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A member was removed: it left, its session expired, it was too late or it was rejected.

    `connection`, and for how long of its silence the coordinator itself stood still are told of a member that did not
    go by itself, as far as they are known; `requested_by` only if another client removed it. `last_heard_ms` is of one
    that left before the request by which it did.
    `found_no_room`: its JoinGroup was rejected because the group is full.
    """

    group_id: str
    at_ms: int
    member_id: str
    cause: Cause
    reason: str
    last_heard_ms: int | None = None
    coordinator_paused_ms: int | None = None
    connection: ConnectionAtRemoval = UNKNOWN
    requested_by: Requester | None = None
    found_no_room: bool = False

    def apply(self, group: Group[ClassicGroup]) -> None:
        classic = group.membership
        member = classic.remove_member(self.member_id)
        classic.request_rebalance(self.cause, member, self.reason)
        if self.found_no_room:
            classic.defer_join_completion()


class StaticMemberReplaced(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A static member came back under a new member id (KIP-345). As on Kafka, client id and host stay the old one's.

    `request_id` is None when it takes over the assignment at once, without a rebalance. `cause` is that of the
    rebalance otherwise. `old_last_heard_ms`: when the client before was last heard, in wall-clock milliseconds.
    """

    group_id: str
    at_ms: int
    group_instance_id: str
    old_member_id: str
    new_member_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[Protocol, ...]
    request_id: int | None
    reason: str
    client_id: str = ""
    client_host: str = ""
    client_details: ClientDetails = UNKNOWN_CLIENT
    cause: Cause = Cause.STATIC_REPLACED
    client_connection: ClientConnection | None = None
    old_last_heard_ms: int | None = None

    def replacement(self, old: Member) -> Member:
        """The member that takes the place of `old`."""
        return Member(
            member_id=self.new_member_id,
            group_instance_id=self.group_instance_id,
            client_id=old.client_id,
            client_host=old.client_host,
            session_timeout_ms=self.session_timeout_ms,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            protocols=self.protocols,
            assignment=old.assignment,
            awaiting_join=self.request_id,
            is_new=False,
            client_details=self.client_details,
            joined_ms=self.at_ms,
            client_connection=self.client_connection,
            replaced_by=Requester(self.client_id, self.client_host, self.client_details.principal),
        )

    def apply(self, group: Group[ClassicGroup]) -> None:
        classic = group.membership
        led = classic.leader == self.old_member_id
        owed_sync = self.old_member_id in classic.pending_sync
        old = classic.remove_member(self.old_member_id)
        classic.add_member(self.replacement(old))
        if self.client_connection is not None:
            self.client_connection.carry(self.group_id, self.new_member_id)
        if led:
            classic.leader = self.new_member_id
        if owed_sync:
            classic.pending_sync.add(self.new_member_id)
        if self.request_id is not None:
            classic.request_rebalance(self.cause, classic.members[self.new_member_id], self.reason)


class RebalanceStarted(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """Members are asked to join again. In CompletingRebalance, assignments and waiting SyncGroups are dropped."""

    group_id: str
    at_ms: int
    rebalance_reason: RebalanceReason
    deadline_ms: int
    from_empty: bool
    delay_ms: int
    remaining_delay_ms: int

    def apply(self, group: Group[ClassicGroup]) -> None:
        classic = group.membership
        assert classic.state in REBALANCES_FROM, (group.group_id, classic.state, self)
        if classic.state is COMPLETING_REBALANCE:
            for member in classic.members.values():
                if member.awaiting_sync is not None:
                    member.answered_ms = self.at_ms
                member.assignment, member.awaiting_sync = b"", None
        classic.move_to(PREPARING_REBALANCE, self.at_ms)
        classic.rebalance_reason = None
        classic.pending_sync.clear()
        classic.rebalance = Rebalance(
            self.rebalance_reason, self.deadline_ms, self.from_empty, self.delay_ms, self.remaining_delay_ms
        )


class JoinPhaseExtended(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The join phase gets more time: a new member came during the initial delay, or nobody but silent static members
    is left."""

    group_id: str
    at_ms: int
    deadline_ms: int
    delay_ms: int
    remaining_delay_ms: int

    def apply(self, group: Group[ClassicGroup]) -> None:
        rebalance = group.membership.rebalance
        assert rebalance is not None, (group.group_id, self)
        rebalance.deadline_ms, rebalance.delay_ms = self.deadline_ms, self.delay_ms
        rebalance.remaining_delay_ms, rebalance.new_member_came = self.remaining_delay_ms, False


class AbsentMember(NamedTuple):
    """A static member that did not join in a join phase; when it was last heard, in wall-clock ms. None: not known."""

    member_id: str
    last_heard_ms: int | None


class GenerationStarted(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The join phase is complete: members, leader and protocol are fixed until the next one.

    `absent` are members that did not join in time, and stay.
    """

    group_id: str
    at_ms: int
    generation_id: int
    protocol_name: str
    leader: str
    sync_deadline_ms: int
    absent: tuple[AbsentMember, ...] = ()

    def apply(self, group: Group[ClassicGroup]) -> None:
        classic = group.membership
        assert self.leader in classic.members, (group.group_id, self)
        assert self.generation_id == classic.generation_id + 1, (group.group_id, self)
        classic.move_to(COMPLETING_REBALANCE, self.at_ms)
        classic.rebalance = None
        classic.generation_id, classic.protocol_name, classic.leader = (
            self.generation_id,
            self.protocol_name,
            self.leader,
        )
        classic.keep_subscriptions(member.metadata_for(self.protocol_name) for member in classic.members.values())
        classic.sync_deadline_ms = self.sync_deadline_ms
        classic.pending_sync = set(classic.members)
        for member in classic.members.values():
            classic.wait_for_join(member, None)
            member.is_new, member.answered_ms = False, self.at_ms


class GroupEmptied(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The rebalance ended without a member. That uses up a generation, and committed offsets start to age."""

    group_id: str
    at_ms: int
    generation_id: int

    def apply(self, group: Group[ClassicGroup]) -> None:
        classic = group.membership
        assert not classic.members, (group.group_id, self)
        classic.move_to(EMPTY, self.at_ms)
        classic.rebalance = None
        classic.generation_id, classic.protocol_name, classic.leader = self.generation_id, None, None
        classic.keep_subscriptions(())


class MemberSynced(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A member sent SyncGroup; in CompletingRebalance it waits (`request_id`) for the leader's."""

    group_id: str
    at_ms: int
    member_id: str
    request_id: int | None
    client_connection: ClientConnection | None = None

    def apply(self, group: Group[ClassicGroup]) -> None:
        classic = group.membership
        member = classic.members[self.member_id]
        member.awaiting_sync, member.client_connection = self.request_id, self.client_connection
        if self.client_connection is not None:
            self.client_connection.carry(self.group_id, self.member_id)
        member.synced_ms = self.at_ms
        classic.pending_sync.discard(self.member_id)


class MemberAssigned(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """One member's assignment in this generation, as the leader computed it."""

    group_id: str
    at_ms: int
    member_id: str
    assignment: bytes

    def apply(self, group: Group[ClassicGroup]) -> None:
        group.membership.members[self.member_id].assignment = self.assignment


class GenerationStable(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """All assignments of the generation are known; every SyncGroup that waited is answered."""

    group_id: str
    at_ms: int
    generation_id: int

    def apply(self, group: Group[ClassicGroup]) -> None:
        classic = group.membership
        assert self.generation_id == classic.generation_id, (group.group_id, self)
        classic.move_to(STABLE, self.at_ms)
        for member in classic.members.values():
            if member.awaiting_sync is not None:
                member.awaiting_sync, member.answered_ms = None, self.at_ms


class AssignmentRejected(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """The leader's assignment cannot be stored: the generation never becomes stable, and the group has to rebalance."""

    group_id: str
    at_ms: int
    member_id: str

    def apply(self, group: Group[ClassicGroup]) -> None:
        classic = group.membership
        for member in classic.members.values():
            if member.awaiting_sync is not None:
                member.awaiting_sync, member.answered_ms = None, self.at_ms
        classic.request_rebalance(Cause.ASSIGNMENT_TOO_LARGE, classic.members[self.member_id], "")
