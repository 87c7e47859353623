"""A group as it is held in memory. Only events (`events.py`) change it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from coordinator.core.causes import Cause
from coordinator.core.offset_records import CommittedOffset
from coordinator.core.states import EMPTY, PREPARING_REBALANCE, GroupState, check_transition

NO_GENERATION = -1
NO_MEMBER_ID = ""
CONSUMER_PROTOCOL_TYPE = "consumer"
"""The protocol type whose metadata are subscriptions; of any other a coordinator knows no topics."""


class Protocol(NamedTuple):
    """One assignor that a member offers, with what that assignor wants to know of the member."""

    name: str
    metadata: bytes


class TopicPartition(NamedTuple):
    topic: str
    partition: int


class Producer(NamedTuple):
    """Who writes transactions, and in which of its lives (KIP-98)."""

    producer_id: int
    producer_epoch: int


@dataclass(frozen=True, slots=True)
class RebalanceReason:
    """What makes a rebalance necessary: the cause, the member behind it and the reason its client gave (KIP-800)."""

    cause: Cause
    member_id: str
    client_id: str
    client_host: str
    group_instance_id: str | None
    reason: str


@dataclass(slots=True)
class Member:
    """A member of a group.

    `awaiting_join` and `awaiting_sync` are the request ids of its parked JoinGroup and SyncGroup. `is_new` lasts from
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

    def metadata_for(self, protocol_name: str | None) -> bytes:
        for name, metadata in self.protocols:
            if name == protocol_name:
                return metadata
        return b""


@dataclass(slots=True)
class Rebalance:
    """A rebalance in its join phase.

    `from_empty`: it began in Empty and completes only at its deadline, which new members prolong within
    `remaining_delay_ms` (`group.initial.rebalance.delay.ms`, KIP-134). `held`: a refused member left the barrier complete,
    and Kafka 4.3 looks at it again only when somebody joins, leaves or expires, or at the deadline.
    """

    trigger: RebalanceReason
    deadline_ms: int
    from_empty: bool
    delay_ms: int = 0
    remaining_delay_ms: int = 0
    new_member_came: bool = False
    held: bool = False


@dataclass(slots=True)
class Group:
    """A classic group; `exists` is false until its first event."""

    group_id: str
    exists: bool = False
    state: GroupState = EMPTY
    state_since_ms: int | None = None
    generation_id: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str | None = None
    members: dict[str, Member] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)
    """Instance id → member id."""
    pending_members: dict[str, int] = field(default_factory=dict)
    """Member ids handed out with MEMBER_ID_REQUIRED that have not joined yet → session timeout in ms (KIP-394)."""
    pending_sync: set[str] = field(default_factory=set)
    """Members of this generation that have not sent SyncGroup."""
    sync_deadline_ms: int = 0
    """When those in `pending_sync` are removed."""
    rebalance: Rebalance | None = None
    trigger: RebalanceReason | None = None
    """Why the group has to rebalance; a rebalance that starts takes it."""
    offsets: dict[str, dict[int, CommittedOffset]] = field(default_factory=dict)
    """Topic → partition → what was committed last."""
    pending_offsets: dict[tuple[int, TopicPartition], CommittedOffset | None] = field(default_factory=dict)
    """(producer id, partition) → what an open transaction committed, in the order in which it was appended.

    None: a later commit took its place already, so that ending the transaction changes nothing (KIP-447).
    """
    subscriptions: tuple[bytes, ...] | None = None
    """What the last generation read: its members' metadata for its protocol.

    None before the first, and when its protocol type was another than the consumers'.
    """
    protocol_support: dict[str, int] = field(default_factory=dict)
    """Protocol name → how many members offer it."""
    awaiting_join_count: int = 0

    # What follows is asked by decisions.

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout among the members, 0 without any."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    @property
    def all_have_joined(self) -> bool:
        return self.awaiting_join_count == len(self.members) and not self.pending_members

    def committed_offset(self, where: TopicPartition) -> CommittedOffset | None:
        return self.offsets.get(where.topic, {}).get(where.partition)

    def has_pending_offset(self, where: TopicPartition) -> bool:
        """Whether an open transaction committed a position for the partition that does not count yet."""
        return bool(self.pending_offsets) and any(pending == where for _, pending in self.pending_offsets)

    def accepts_protocols(self, protocol_type: str, names: Sequence[str]) -> bool:
        """Whether a member with these protocols can be in the group: its type fits and all members share one name."""
        if self.state is EMPTY:
            return bool(protocol_type and names)
        offered_by = [self.protocol_support.get(name, 0) for name in names]
        return protocol_type == self.protocol_type and len(self.members) in offered_by

    # What follows changes the group and belongs to events.

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
        self._count_protocols(member.protocols, -1)
        member.protocols = protocols
        self._count_protocols(protocols, +1)

    def park_join(self, member: Member, request_id: int | None) -> None:
        """Remember the JoinGroup a member waits with; None when it waits no longer."""
        self.awaiting_join_count += (request_id is not None) - (member.awaiting_join is not None)
        member.awaiting_join = request_id

    def keep_subscriptions(self, metadata: Iterable[bytes]) -> None:
        """Those of a generation that begins, or that was loaded."""
        self.subscriptions = tuple(metadata) if self.protocol_type == CONSUMER_PROTOCOL_TYPE else None

    def put_offsets(self, topic: str, committed: Mapping[int, CommittedOffset]) -> None:
        """Take positions that are appended now, so later than whatever a transaction still holds back."""
        known = self.offsets.get(topic)
        if known is None:
            self.offsets[topic] = dict(committed)
        else:
            known.update(committed)
        if self.pending_offsets:
            for producer_id, where in self.pending_offsets:
                if where.topic == topic and where.partition in committed:
                    self.pending_offsets[producer_id, where] = None

    def remove_offset(self, where: TopicPartition) -> None:
        """Drop what is committed for a partition, and what transactions hold back for it."""
        partitions = self.offsets.get(where.topic, {})
        partitions.pop(where.partition, None)
        if not partitions:
            self.offsets.pop(where.topic, None)
        for key in [key for key in self.pending_offsets if key[1] == where]:
            del self.pending_offsets[key]

    def add_pending_offset(self, producer_id: int, where: TopicPartition, committed: CommittedOffset) -> None:
        """Keep a transaction's position until it ends; the order of the keys is that of the appends."""
        self.pending_offsets.pop((producer_id, where), None)
        self.pending_offsets[producer_id, where] = committed

    def end_transaction(self, producer_id: int, committed: bool) -> None:
        """Take the positions a transaction held back, or drop them; of two for a partition the later append wins."""
        earlier: list[tuple[int, TopicPartition]] = []
        for key, held_back in list(self.pending_offsets.items()):
            if key[0] != producer_id:
                earlier.append(key)
                continue
            del self.pending_offsets[key]
            if committed and held_back is not None:
                where = key[1]
                self.offsets.setdefault(where.topic, {})[where.partition] = held_back
                self.pending_offsets.update(dict.fromkeys(other for other in earlier if other[1] == where))

    def request_rebalance(self, cause: Cause, member: Member, reason: str) -> None:
        """Note what a change of membership asks for; the first one before a rebalance names its cause.

        During a rebalance nothing is noted: whoever comes or goes then belongs to the one under way.
        """
        self.allow_join_completion()
        if self.trigger is None and self.state is not PREPARING_REBALANCE:
            who = (member.member_id, member.client_id, member.client_host, member.group_instance_id)
            self.trigger = RebalanceReason(cause, *who, reason)

    def defer_join_completion(self) -> None:
        if self.rebalance is not None:
            self.rebalance.held = True

    def allow_join_completion(self) -> None:
        if self.rebalance is not None:
            self.rebalance.held = False

    def _count_protocols(self, protocols: tuple[Protocol, ...], by: int) -> None:
        for name in {protocol.name for protocol in protocols}:
            count = self.protocol_support.get(name, 0) + by
            if count:
                self.protocol_support[name] = count
            else:
                del self.protocol_support[name]
