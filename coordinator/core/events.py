"""What can happen to a group. Applying an event is the only way a group changes, at run time and at replay alike.

An event is never changed. Its class is not frozen all the same: that would make each several times as dear to create.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol as Interface

from coordinator.core.causes import Cause
from coordinator.core.group import (
    Group,
    Member,
    Producer,
    Protocol,
    Rebalance,
    RebalanceReason,
    TopicPartition,
)
from coordinator.core.offset_records import CommittedOffset
from coordinator.core.states import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    REBALANCES_FROM,
    STABLE,
)


class Event(Interface):
    """One thing that happened to one group. `apply` is total for a live group and reads no clock."""

    @property
    def group_id(self) -> str: ...

    @property
    def at_ms(self) -> int:
        """Wall-clock milliseconds since the epoch."""

    def apply(self, group: Group) -> None: ...


@dataclass(slots=True)
class GroupCreated:
    """The group came to be: by a first join or a first commit."""

    group_id: str
    at_ms: int

    def apply(self, group: Group) -> None:
        assert not group.exists, (group.group_id, self)
        group.exists = True
        group.state_since_ms = self.at_ms


@dataclass(slots=True)
class PendingMemberAdded:
    """A member id was handed out with MEMBER_ID_REQUIRED; it holds up rebalances of others until it joins (KIP-394)."""

    group_id: str
    at_ms: int
    member_id: str
    session_timeout_ms: int

    def apply(self, group: Group) -> None:
        group.pending_members[self.member_id] = self.session_timeout_ms


@dataclass(slots=True)
class PendingMemberRemoved:
    """A reserved member id was given up before it joined.

    One that says goodbye starts a rebalance in Stable and CompletingRebalance; its mere expiry does not (4.3).
    """

    group_id: str
    at_ms: int
    member_id: str
    cause: Cause
    client_id: str = ""
    client_host: str = ""
    reason: str = ""

    def apply(self, group: Group) -> None:
        del group.pending_members[self.member_id]
        if self.cause is Cause.MEMBER_REFUSED:
            group.defer_join_completion()
        else:
            group.allow_join_completion()
        if self.cause is Cause.MEMBER_LEFT and group.state in (STABLE, COMPLETING_REBALANCE):
            group.trigger = group.trigger or RebalanceReason(
                self.cause, self.member_id, self.client_id, self.client_host, None, self.reason
            )


@dataclass(slots=True)
class MemberJoined:
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

    def apply(self, group: Group) -> None:
        group.pending_members.pop(self.member_id, None)
        if not group.members:
            group.protocol_type = self.protocol_type
        member = Member(
            member_id=self.member_id,
            group_instance_id=self.group_instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            session_timeout_ms=self.session_timeout_ms,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            protocols=self.protocols,
            awaiting_join=self.request_id,
        )
        group.add_member(member)
        if group.rebalance is not None and group.rebalance.from_empty:
            group.rebalance.new_member_came = True
        group.request_rebalance(Cause.NEW_MEMBER, member, self.reason)


@dataclass(slots=True)
class MemberRejoined:
    """A known member asks to be in the next generation and waits for it."""

    group_id: str
    at_ms: int
    member_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[Protocol, ...]
    metadata_changed: bool
    request_id: int
    reason: str

    def apply(self, group: Group) -> None:
        member = group.members[self.member_id]
        member.session_timeout_ms = self.session_timeout_ms
        member.rebalance_timeout_ms = self.rebalance_timeout_ms
        group.update_protocols(member, self.protocols)
        group.park_join(member, self.request_id)
        cause = Cause.METADATA_CHANGED if self.metadata_changed else Cause.LEADER_REJOINED
        group.request_rebalance(cause, member, self.reason)


@dataclass(slots=True)
class MemberRemoved:
    """A member is out: it left, fell silent, came too late or was refused."""

    group_id: str
    at_ms: int
    member_id: str
    cause: Cause
    reason: str

    def apply(self, group: Group) -> None:
        member = group.remove_member(self.member_id)
        group.request_rebalance(self.cause, member, self.reason)
        if self.cause is Cause.MEMBER_REFUSED:
            group.defer_join_completion()


@dataclass(slots=True)
class StaticMemberReplaced:
    """A static member came back under a new member id (KIP-345). As on Kafka, client id and host stay the old one's.

    `request_id` is None when it takes over the assignment at once, without a rebalance.
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

    def apply(self, group: Group) -> None:
        led = group.leader == self.old_member_id
        owed_sync = self.old_member_id in group.pending_sync
        old = group.remove_member(self.old_member_id)
        group.add_member(
            Member(
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
            )
        )
        if led:
            group.leader = self.new_member_id
        if owed_sync:
            group.pending_sync.add(self.new_member_id)
        if self.request_id is not None:
            group.request_rebalance(Cause.STATIC_REPLACED, group.members[self.new_member_id], self.reason)


@dataclass(slots=True)
class RebalanceStarted:
    """Members are asked to join again. Who waited with SyncGroup is told so, and its assignment is dropped."""

    group_id: str
    at_ms: int
    trigger: RebalanceReason
    deadline_ms: int
    from_empty: bool
    delay_ms: int
    remaining_delay_ms: int

    def apply(self, group: Group) -> None:
        assert group.state in REBALANCES_FROM, (group.group_id, group.state, self)
        if group.state is COMPLETING_REBALANCE:
            for member in group.members.values():
                member.assignment, member.awaiting_sync = b"", None
        group.move_to(PREPARING_REBALANCE, self.at_ms)
        group.trigger = None
        group.pending_sync.clear()
        group.rebalance = Rebalance(
            self.trigger, self.deadline_ms, self.from_empty, self.delay_ms, self.remaining_delay_ms
        )


@dataclass(slots=True)
class JoinPhaseExtended:
    """The join phase gets more time: a new member came during the initial delay, or nobody but silent static members
    is left."""

    group_id: str
    at_ms: int
    deadline_ms: int
    delay_ms: int
    remaining_delay_ms: int

    def apply(self, group: Group) -> None:
        rebalance = group.rebalance
        assert rebalance is not None, (group.group_id, self)
        rebalance.deadline_ms, rebalance.delay_ms = self.deadline_ms, self.delay_ms
        rebalance.remaining_delay_ms, rebalance.new_member_came = self.remaining_delay_ms, False


@dataclass(slots=True)
class GenerationStarted:
    """The join barrier closed: members, leader and protocol are fixed until the next one."""

    group_id: str
    at_ms: int
    generation_id: int
    protocol_name: str
    leader: str
    sync_deadline_ms: int

    def apply(self, group: Group) -> None:
        assert self.leader in group.members, (group.group_id, self)
        assert self.generation_id == group.generation_id + 1, (group.group_id, self)
        group.move_to(COMPLETING_REBALANCE, self.at_ms)
        group.rebalance = None
        group.generation_id, group.protocol_name, group.leader = self.generation_id, self.protocol_name, self.leader
        group.keep_subscriptions(member.metadata_for(self.protocol_name) for member in group.members.values())
        group.sync_deadline_ms = self.sync_deadline_ms
        group.pending_sync = set(group.members)
        for member in group.members.values():
            group.park_join(member, None)
            member.is_new = False


@dataclass(slots=True)
class GroupEmptied:
    """The rebalance ended without a member. That uses up a generation, and committed offsets start to age."""

    group_id: str
    at_ms: int
    generation_id: int

    def apply(self, group: Group) -> None:
        assert not group.members, (group.group_id, self)
        group.move_to(EMPTY, self.at_ms)
        group.rebalance = None
        group.generation_id, group.protocol_name, group.leader = self.generation_id, None, None
        group.keep_subscriptions(())


@dataclass(slots=True)
class MemberSynced:
    """A member sent SyncGroup; in CompletingRebalance it waits (`request_id`) for the leader's."""

    group_id: str
    at_ms: int
    member_id: str
    request_id: int | None

    def apply(self, group: Group) -> None:
        group.members[self.member_id].awaiting_sync = self.request_id
        group.pending_sync.discard(self.member_id)


@dataclass(slots=True)
class MemberAssigned:
    """The leader decided what one member gets in this generation."""

    group_id: str
    at_ms: int
    member_id: str
    assignment: bytes

    def apply(self, group: Group) -> None:
        group.members[self.member_id].assignment = self.assignment


@dataclass(slots=True)
class GenerationStable:
    """All assignments of the generation are known; every SyncGroup that waited is answered."""

    group_id: str
    at_ms: int
    generation_id: int

    def apply(self, group: Group) -> None:
        assert self.generation_id == group.generation_id, (group.group_id, self)
        group.move_to(STABLE, self.at_ms)
        for member in group.members.values():
            member.awaiting_sync = None


@dataclass(slots=True)
class GroupRemoved:
    """The group is gone, with whatever it had."""

    group_id: str
    at_ms: int
    cause: Cause

    def apply(self, group: Group) -> None:
        assert not group.members, (group.group_id, self)
        group.move_to(DEAD, self.at_ms)
        group.pending_members.clear()


@dataclass(slots=True)
class OffsetsCommitted:
    """Positions were taken, topic → partition → position: those of one request that were in order."""

    group_id: str
    at_ms: int
    offsets: Mapping[str, Mapping[int, CommittedOffset]]

    def apply(self, group: Group) -> None:
        for topic, committed in self.offsets.items():
            group.put_offsets(topic, committed)


@dataclass(slots=True)
class TransactionalOffsetsCommitted:
    """Positions that count once their transaction is committed (KIP-98, KIP-447)."""

    group_id: str
    at_ms: int
    producer: Producer
    offsets: Mapping[str, Mapping[int, CommittedOffset]]

    def apply(self, group: Group) -> None:
        for topic, committed in self.offsets.items():
            for partition, position in committed.items():
                group.add_pending_offset(self.producer.producer_id, TopicPartition(topic, partition), position)


@dataclass(slots=True)
class TransactionCompleted:
    """A transaction that held back positions of the group was committed or aborted."""

    group_id: str
    at_ms: int
    producer: Producer
    committed: bool

    def apply(self, group: Group) -> None:
        group.end_transaction(self.producer.producer_id, self.committed)


@dataclass(slots=True)
class OffsetsDeleted:
    """Committed offsets that an administrator deleted, or that went with their group or topic."""

    group_id: str
    at_ms: int
    partitions: tuple[TopicPartition, ...]

    def apply(self, group: Group) -> None:
        for partition in self.partitions:
            group.remove_offset(partition)


@dataclass(slots=True)
class OffsetsExpired:
    """Committed offsets that nobody renewed for `offsets.retention.minutes`, or whose own time was over."""

    group_id: str
    at_ms: int
    partitions: tuple[TopicPartition, ...]

    def apply(self, group: Group) -> None:
        for partition in self.partitions:
            group.remove_offset(partition)
