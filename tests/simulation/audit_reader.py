"""A reader of the audit topic that trusts nothing: each event must fit the events before it."""

from collections.abc import Callable
from typing import Any, NamedTuple

from _wire.messages.describe_groups import DescribedGroup
from coordinator.audit import schema
from coordinator.core.consumer.group import FIRST_EPOCH
from coordinator.core.consumer.member import LEAVE_STATIC_EPOCH
from coordinator.core.consumer_protocol import read_assignment, subscription_topics
from coordinator.core.groups.kind import CONSUMER_NAME

Partitions = frozenset[tuple[str, int]]


class AuditedState(NamedTuple):
    """Where a group was after an event."""

    generation_id: int
    state: str
    members: frozenset[str]


class Described(NamedTuple):
    """A group as DescribeGroups shows it, with its members' bytes decoded."""

    state: str
    protocol_type: str
    protocol_name: str
    members: list["DescribedMember"]


class DescribedMember(NamedTuple):
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    topics: list[str]
    partitions: Partitions


def decoded(group: DescribedGroup) -> Described:
    """What an answer to DescribeGroups says of the group."""
    members = [
        DescribedMember(
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            sorted(subscription_topics(member.member_metadata)) if member.member_metadata else [],
            frozenset(read_assignment(group.protocol_type, member.member_assignment, schema.PARTITIONS_NAMED_MAX)[1]),
        )
        for member in group.members
    ]
    return Described(group.group_state, group.protocol_type, group.protocol_data, members)


def who(member: schema.MemberRef) -> tuple[str, str | None, str, str]:
    return member.member_id, member.group_instance_id, member.client_id, member.client_host


def flat(partitions: schema.TopicPartitions) -> Partitions:
    return frozenset((topic, index) for topic, indexes in partitions.items() for index in indexes)


class AuditReader:
    """One group, over all its incarnations, as its events describe it."""

    def __init__(self, may_go_back: Callable[[], bool] = lambda: False) -> None:
        """`may_go_back` says whether the time of an event may be before that of an earlier one."""
        self._may_go_back = may_go_back
        self.seq = self.created_seq = self.time_ms = 0
        self.generation_id = 0
        self.state = "Dead"
        self.members: set[str] = set()
        self.owned: dict[str, Partitions] = {}
        self.states: dict[int, AuditedState] = {}
        """By `seq`."""
        self.assigned_in_generation = 0
        self.protocol_type = self.protocol_name = ""
        self.is_consumer = False
        """Whether it is a consumer group (KIP-848)."""
        self.target_epoch: int | None = None
        """Of a consumer group: the epoch of its last target assignment; None: not known."""
        self.described: dict[str, DescribedMember] = {}
        """Member id → the member as DescribeGroups shows it in Stable."""

    def describe(self) -> Described:
        """The group as DescribeGroups shows it, from the topic alone."""
        members = list(self.described.values())
        if self.state != "Stable":
            members = [member._replace(topics=[]) for member in members]
        protocol_name = self.protocol_name if self.state == "Stable" else ""
        return Described(self.state, self.protocol_type, protocol_name, members)

    def apply(self, event: Any, offset: int, *, may_be_lost: bool = False) -> None:
        """The next event of the group, and its offset. `may_be_lost`: a power loss took more than the last batch."""
        self._check_seq(event, offset)
        self._check_state_before(event)
        self.seq, self.created_seq, self.time_ms = event.seq, event.created_seq, event.time_ms
        self.generation_id, self.state = event.generation_id, event.state
        if isinstance(event, schema.GroupLoaded):
            self._loaded(event, may_be_lost)
        else:
            self._apply(event, offset)
        self._describe(event)
        self.states[event.seq] = AuditedState(self.generation_id, self.state, frozenset(self.members))

    def _describe(self, event: Any) -> None:
        described = self.described
        match event:
            case schema.GroupCreated():
                self.is_consumer = event.group_type == CONSUMER_NAME
            case schema.MemberReconciled(member=member):
                described[member.member_id] = described[member.member_id]._replace(partitions=flat(event.partitions))
            case schema.MemberJoined():
                if not described:
                    self.protocol_type = event.protocol_type
                described[event.member.member_id] = DescribedMember(
                    *who(event.member), event.subscribed_topics, frozenset()
                )
            case schema.MemberRejoined(member=member):
                described[member.member_id] = described[member.member_id]._replace(topics=event.subscribed_topics)
            case schema.MemberRemoved(member=member):
                del described[member.member_id]
            case schema.StaticMemberReplaced(member=member):
                client = event.described_client_id, event.described_client_host
                old = described.pop(event.old_member_id)
                described[member.member_id] = DescribedMember(
                    member.member_id, member.group_instance_id, *client, event.subscribed_topics, old.partitions
                )
            case schema.RebalanceSuperseded() if not self.is_consumer:
                for member_id, known in described.items():
                    described[member_id] = known._replace(partitions=frozenset())
            case schema.MemberAssigned(member=member):
                described[member.member_id] = described[member.member_id]._replace(partitions=flat(event.partitions))
            case schema.GenerationStarted():
                self.protocol_name = event.protocol_name
            case schema.GroupLoaded() | schema.GroupSnapshot() | schema.GroupConverted():
                self.protocol_type, self.protocol_name = event.protocol_type, event.protocol_name
                self.is_consumer = event.group_type == CONSUMER_NAME
                if not isinstance(event, schema.GroupSnapshot):
                    self.described = {
                        member.member.member_id: DescribedMember(
                            *who(member.member), member.subscribed_topics, flat(member.partitions)
                        )
                        for member in event.members
                    }
            case schema.GroupRemoved():
                described.clear()
                self.protocol_type = self.protocol_name = ""

    def _check_seq(self, event: Any, offset: int) -> None:
        """Contiguous within an incarnation; a new one begins with a larger number than any before."""
        assert event.time_ms >= self.time_ms or self._may_go_back(), event
        if event.seq == event.created_seq:
            assert isinstance(event, schema.GroupCreated | schema.GroupLoaded), event
            assert self.state == "Dead", event
            assert event.seq == offset + 1 > self.seq, event
            self.generation_id = 0
            self.members.clear()
            self.owned.clear()
        else:
            assert (event.seq, event.created_seq) == (self.seq + 1, self.created_seq), event

    def _check_state_before(self, event: Any) -> None:
        if isinstance(event, schema.GroupCreated):
            first = FIRST_EPOCH if event.group_type == CONSUMER_NAME else 0
            assert (event.state_before, event.generation_id_before, event.state) == ("Empty", first, "Empty"), event
            assert event.seq == event.created_seq, event
        else:
            assert (event.state_before, event.generation_id_before) == (self.state, self.generation_id), event

    def _apply(self, event: Any, offset: int) -> None:
        match event:
            case schema.MemberJoined():
                assert event.member.member_id not in self.members
                self.members.add(event.member.member_id)
            case schema.MemberRejoined():
                assert event.member.member_id in self.members
            case schema.MemberRemoved():
                self.members.remove(event.member.member_id)
                self.owned.pop(event.member.member_id, None)
            case schema.StaticMemberReplaced():
                self.members.remove(event.old_member_id)
                self.members.add(event.member.member_id)
                self.owned[event.member.member_id] = self.owned.pop(event.old_member_id, frozenset())
            case schema.RebalanceStarted():
                assert event.members == len(self.members)
            case schema.GenerationStarted():
                assert event.members == len(self.members)
                assert event.leader in self.members or (self.is_consumer and not event.leader)
                assert event.join_ms >= 0
                self.assigned_in_generation = 0
                self._check_target(event)
            case schema.MemberAssigned():
                assert event.readable
                self._assigned(event)
            case schema.MemberReconciled():
                self._assigned(event)
                assert event.partition_count == len(flat(event.partitions)), event
                assert event.revoking_count == len(flat(event.revoking)), event
                is_there = event.member_epoch != LEAVE_STATIC_EPOCH  # otherwise it keeps the state that it had
                assert (event.member_state == "UNREVOKED_PARTITIONS") == bool(event.revoking) or not is_there, event
                assert {wait.member.member_id for wait in event.waits_for} <= self.members, event
                assert self.target_epoch is None or event.member_epoch <= self.target_epoch, event
            case schema.GroupConverted():
                self.members = {member.member.member_id for member in event.members}
                self.owned = {member.member.member_id: flat(member.partitions) for member in event.members}
                self.target_epoch = None
            case schema.GenerationStable():
                assert not self.is_consumer or self.target_epoch in (event.generation_id, None), event
                shared = sum(map(len, self.owned.values())) if self.is_consumer else self.assigned_in_generation
                assert (event.members, event.partitions) == (len(self.members), shared), event
                assert event.join_ms + event.sync_ms == event.rebalance_ms
                assert min(event.join_ms, event.sync_ms, event.unowned_partition_ms) >= 0
                assert 0 <= event.partitions_moved <= event.partitions
            case schema.RebalanceSuperseded():
                # Null where the audit topic does not tell any more when the epoch rose.
                assert self.is_consumer if event.rebalance_ms is None else event.rebalance_ms >= 0, event
            case schema.GroupEmptied():
                assert event.rebalance_ms >= 0
            case schema.GroupRemoved():
                self.members.clear()
                self.owned.clear()
                self.target_epoch = None
            case schema.GroupSnapshot():
                self._check_snapshot(event, offset)
            case schema.OffsetsCommitted():
                assert min(event.commits, event.partitions) > 0 <= event.interval_ms, event
                assert event.first_log_offset <= event.last_log_offset, event

    def _assigned(self, event: schema.MemberAssigned | schema.MemberReconciled) -> None:
        member_id = event.member.member_id
        now, gained, lost, kept = (flat(each) for each in (event.partitions, event.gained, event.lost, event.kept))
        before = self.owned.get(member_id, frozenset())
        assert (now - before, before - now, now & before) == (gained, lost, kept), event
        self.owned[member_id] = now
        self.assigned_in_generation += len(now)

    def _check_target(self, event: schema.GenerationStarted) -> None:
        """Of a consumer group: each target is of a later epoch than the one before, and of none that is to come."""
        assert (event.target_epoch is None) == (not self.is_consumer), event
        if event.target_epoch is not None:
            assert (self.target_epoch or 0) < event.target_epoch <= event.generation_id, event
        self.target_epoch = event.target_epoch

    def _check_snapshot(self, event: schema.GroupSnapshot, offset: int) -> None:
        """It repeats what the events before it say, and what of it is stored."""
        assert (event.generation_id, event.state) == (self.generation_id, self.state), event
        owned = {member.member.member_id: flat(member.partitions) for member in event.members}
        assert owned == {member_id: self.owned.get(member_id, frozenset()) for member_id in self.members}, event
        assert (event.stored is None) == (self.is_consumer or event.state in ("Empty", "Stable")), event
        if event.stored is not None:
            stored = AuditedState(event.stored.generation_id, event.stored.state, frozenset(event.stored.member_ids))
            assert self.states[event.stored.seq] == stored, event
        assert event.checkpoint_offset is None or event.checkpoint_offset <= offset, event

    def _loaded(self, event: schema.GroupLoaded, may_be_lost: bool) -> None:
        """What is not void tells the group as it was loaded."""
        self.target_epoch = None
        self.members = {member.member.member_id for member in event.members}
        self.owned = {member.member.member_id: flat(member.partitions) for member in event.members}
        if may_be_lost:
            return
        assert event.void_from_seq is not None, event
        assert not event.lost, event
        loaded = AuditedState(event.generation_id, event.state, frozenset(self.members))
        assert self.states[event.void_from_seq - 1] == loaded, event
