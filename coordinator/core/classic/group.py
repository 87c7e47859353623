"""The members and generations of a group in the classic protocol. Only events (`events.py`) change them.

Counterpart in Kafka: `ClassicGroup`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from coordinator.core.assignment import readable_partitions
from coordinator.core.causes import Cause, Requester
from coordinator.core.classic.states import check_transition
from coordinator.core.client_connection import ClientConnection
from coordinator.core.client_details import UNKNOWN_CLIENT, ClientDetails, KnowsClient
from coordinator.core.consumer_protocol import CONSUMER_PROTOCOL_TYPE
from coordinator.core.groups.membership import TopicName
from coordinator.core.groups.states import DEAD, EMPTY, PREPARING_REBALANCE, GroupState

NO_GENERATION = -1
NO_MEMBER_ID = ""
NOBODY: Final[set[str]] = set()
"""Nobody is added to it: an empty set takes 216 bytes, and groups that only commit offsets need none of their own."""


class Protocol(NamedTuple):
    """One assignor that a member supports, and the member's metadata for it."""

    name: str
    metadata: bytes


class RebalanceReason(msgspec.Struct, KnowsClient, frozen=True):
    """Why a rebalance is necessary: the cause, the member behind it and the text that its client gave (KIP-800)."""

    cause: Cause
    member_id: str
    client_id: str
    client_host: str
    group_instance_id: str | None
    reason: str
    client_details: ClientDetails = UNKNOWN_CLIENT


@dataclass(slots=True)
class Member(KnowsClient):
    """A member of a group.

    The fields after `is_new` only explain the member to others. They are not stored, so a load leaves them empty.

    `awaiting_join` and `awaiting_sync` are the request ids of its waiting JoinGroup and SyncGroup. `is_new` lasts from
    its first JoinGroup to its first generation: until then it may know no member id to send heartbeats with.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[Protocol, ...]
    assignment: bytes = b""
    awaiting_join: int | None = None
    awaiting_sync: int | None = None
    is_new: bool = True
    client_details: ClientDetails = field(default=UNKNOWN_CLIENT, compare=False)
    joined_ms: int | None = field(default=None, compare=False)
    """When its last JoinGroup came that counted for a generation, in wall-clock milliseconds."""
    synced_ms: int | None = field(default=None, compare=False)
    """When its last SyncGroup came."""
    committed_ms: int | None = field(default=None, compare=False)
    """When its last OffsetCommit or TxnOffsetCommit was accepted."""
    replaced_by: Requester | None = field(default=None, compare=False)
    """The client behind a static member that was replaced: `client_id` and `client_host` stay those of the first."""

    client_connection: ClientConnection | None = field(default=None, compare=False)
    """By which its last JoinGroup or SyncGroup came; None if that is not known."""
    answered_ms: int | None = field(default=None, compare=False)
    """When a JoinGroup or SyncGroup that it waited with was last answered: that renews its session, too."""

    @property
    def has_synced(self) -> bool | None:
        """Whether it asked for its assignment since it joined last; None: it joined before its group was loaded."""
        if self.joined_ms is None:
            return None
        return self.synced_ms is not None and self.synced_ms >= self.joined_ms

    @property
    def client(self) -> Requester:
        """The client that sends this member's requests."""
        return self.replaced_by or Requester(self.client_id, self.client_host, self.client_details.principal)

    def metadata_for(self, protocol_name: str | None) -> bytes:
        for name, metadata in self.protocols:
            if name == protocol_name:
                return metadata
        return b""


class Rebalance(msgspec.Struct):
    """A rebalance in its join phase.

    `from_empty`: it began in Empty and completes only at its deadline, which new members extend by at most
    `remaining_delay_ms` (`group.initial.rebalance.delay.ms`, KIP-134). `completion_deferred`: all members have
    joined because one was rejected; Kafka 4.3 then completes the phase only when a member joins, leaves or expires, or
    at the deadline.
    """

    reason: RebalanceReason
    deadline_ms: int
    from_empty: bool
    delay_ms: int = 0
    remaining_delay_ms: int = 0
    new_member_came: bool = False
    completion_deferred: bool = False


class ClassicGroup(msgspec.Struct):
    """A group of the classic protocol, from Empty on."""

    group_id: str
    state: GroupState = EMPTY
    state_since_ms: int | None = None
    generation_id: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str | None = None
    members: dict[str, Member] = msgspec.field(default_factory=dict)
    static_members: dict[str, str] = msgspec.field(default_factory=dict)
    """Instance id → member id."""
    pending_members: dict[str, int] = msgspec.field(default_factory=dict)
    """Member ids handed out with MEMBER_ID_REQUIRED that have not joined yet → session timeout in ms (KIP-394)."""
    pending_sync: set[str] = msgspec.field(default_factory=lambda: NOBODY)
    """Members of this generation that have not sent SyncGroup. Each generation has a set of its own."""
    sync_deadline_ms: int = 0
    """When those in `pending_sync` are removed."""
    rebalance: Rebalance | None = None
    rebalance_reason: RebalanceReason | None = None
    """Why the group has to rebalance; None once the rebalance has started."""
    subscriptions: tuple[bytes, ...] | None = None
    """The subscriptions of the last generation: its members' metadata for its protocol.

    None before the first generation, and when its protocol type is not `consumer`.
    """
    protocol_support: dict[str, int] = msgspec.field(default_factory=dict)
    """Protocol name → how many members offer it."""
    awaiting_join_count: int = 0

    # Decisions read these.

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout among the members, 0 without any."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    @property
    def all_have_joined(self) -> bool:
        return self.awaiting_join_count == len(self.members) and not self.pending_members

    def accepts_protocols(self, protocol_type: str, names: Sequence[str]) -> bool:
        """Whether a member with these protocols can be in the group: its type fits and all members share one name."""
        if self.state is EMPTY:
            return bool(protocol_type and names)
        offered_by = [self.protocol_support.get(name, 0) for name in names]
        return protocol_type == self.protocol_type and len(self.members) in offered_by

    def shared_protocols(self, searched_max: int) -> list[str]:
        """The protocols that all members offer, by name, among the first `searched_max` of the group."""
        searched = islice(self.protocol_support.items(), searched_max)
        return sorted(name for name, members in searched if members == len(self.members))

    def assigned_partitions(self, member_id: str, topic_name: TopicName) -> dict[str, list[int]] | None:
        """Topic → partitions that a member is assigned; None if its assignment is not of the consumer protocol."""
        return readable_partitions(self.protocol_type, self.members[member_id].assignment)

    # Events change the group by these.

    def mark_created(self, at_ms: int) -> None:
        self.state_since_ms = at_ms

    def mark_removed(self, at_ms: int) -> None:
        self.move_to(DEAD, at_ms)
        self.pending_members.clear()

    def move_to(self, state: GroupState, at_ms: int) -> None:
        check_transition(self.group_id, self.state, state)
        self.state, self.state_since_ms = state, at_ms

    def add_member(self, member: Member) -> None:
        assert member.member_id not in self.members, (self.group_id, member.member_id)
        if member.group_instance_id is not None:
            assert member.group_instance_id not in self.static_members, (self.group_id, member.group_instance_id)
            self.static_members[member.group_instance_id] = member.member_id
        self.members[member.member_id] = member
        self._count_protocols(member.protocols, +1)
        if member.awaiting_join is not None:
            self.awaiting_join_count += 1
        if self.leader is None:
            self.leader = member.member_id

    def remove_member(self, member_id: str) -> Member:
        member = self.members.pop(member_id)
        self._count_protocols(member.protocols, -1)
        if member.awaiting_join is not None:
            self.awaiting_join_count -= 1
        if member.group_instance_id is not None:
            del self.static_members[member.group_instance_id]
        self.pending_sync.discard(member_id)
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        return member

    def update_protocols(self, member: Member, protocols: tuple[Protocol, ...]) -> None:
        before, member.protocols = member.protocols, protocols
        if protocols != before:
            self._count_protocols(before, -1)
            self._count_protocols(protocols, +1)

    def wait_for_join(self, member: Member, request_id: int | None) -> None:
        """Set the JoinGroup that a member waits for the response to; None when it no longer waits."""
        self.awaiting_join_count += (request_id is not None) - (member.awaiting_join is not None)
        member.awaiting_join = request_id

    def keep_subscriptions(self, metadata: Iterable[bytes]) -> None:
        """Set the subscriptions of a generation that starts or was loaded."""
        self.subscriptions = tuple(metadata) if self.protocol_type == CONSUMER_PROTOCOL_TYPE else None

    def request_rebalance(self, cause: Cause, member: Member, reason: str) -> None:
        """Remember why the group has to rebalance; the first reason before a rebalance counts.

        During a rebalance none is remembered: members that join or leave then are part of that rebalance.
        """
        self.allow_join_completion()
        if self.rebalance_reason is None and self.state is not PREPARING_REBALANCE:
            who = (member.member_id, member.client_id, member.client_host, member.group_instance_id)
            self.rebalance_reason = RebalanceReason(cause, *who, reason, member.client_details)

    def defer_join_completion(self) -> None:
        if self.rebalance is not None:
            self.rebalance.completion_deferred = True

    def allow_join_completion(self) -> None:
        if self.rebalance is not None:
            self.rebalance.completion_deferred = False

    def _count_protocols(self, protocols: tuple[Protocol, ...], by: int) -> None:
        for name in {protocol.name for protocol in protocols}:
            count = self.protocol_support.get(name, 0) + by
            if count:
                self.protocol_support[name] = count
            else:
                del self.protocol_support[name]
