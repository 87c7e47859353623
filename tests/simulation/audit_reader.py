"""A reader of the audit topic that trusts nothing: each event must fit the events before it."""

from typing import Any, NamedTuple

from coordinator.audit import schema

Partitions = frozenset[tuple[str, int]]


class AuditedState(NamedTuple):
    """Where a group was after an event."""

    generation_id: int
    state: str
    members: frozenset[str]


def flat(partitions: schema.TopicPartitions) -> Partitions:
    return frozenset((topic, index) for topic, indexes in partitions.items() for index in indexes)


class AuditReader:
    """One group, over all its incarnations, as its events describe it."""

    def __init__(self) -> None:
        self.seq = self.created_seq = self.time_ms = 0
        self.generation_id = 0
        self.state = "Dead"
        self.members: set[str] = set()
        self.owned: dict[str, Partitions] = {}
        self.states: dict[int, AuditedState] = {}
        """By `seq`."""
        self.assigned_in_generation = 0

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
        self.states[event.seq] = AuditedState(self.generation_id, self.state, frozenset(self.members))

    def _check_seq(self, event: Any, offset: int) -> None:
        """Contiguous within an incarnation; a new one begins with a larger number than any before."""
        assert event.time_ms >= self.time_ms, event
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
            assert (event.state_before, event.generation_id_before, event.state) == ("Empty", 0, "Empty"), event
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
                assert event.leader in self.members
                assert event.join_ms >= 0
                self.assigned_in_generation = 0
            case schema.MemberAssigned():
                self._assigned(event)
            case schema.GenerationStable():
                assert (event.members, event.partitions) == (len(self.members), self.assigned_in_generation)
                assert event.join_ms + event.sync_ms == event.rebalance_ms
                assert min(event.join_ms, event.sync_ms, event.unowned_partition_ms) >= 0
                assert 0 <= event.partitions_moved <= event.partitions
            case schema.RebalanceSuperseded() | schema.GroupEmptied():
                assert event.rebalance_ms >= 0
            case schema.GroupRemoved():
                self.members.clear()
                self.owned.clear()
            case schema.GroupSnapshot():
                self._check_snapshot(event, offset)
            case schema.OffsetsCommitted():
                assert min(event.commits, event.partitions) > 0 <= event.interval_ms, event
                assert event.first_log_offset <= event.last_log_offset, event

    def _assigned(self, event: schema.MemberAssigned) -> None:
        member_id = event.member.member_id
        assert event.readable
        now, gained, lost, kept = (flat(each) for each in (event.partitions, event.gained, event.lost, event.kept))
        before = self.owned.get(member_id, frozenset())
        assert (now - before, before - now, now & before) == (gained, lost, kept), event
        self.owned[member_id] = now
        self.assigned_in_generation += len(now)

    def _check_snapshot(self, event: schema.GroupSnapshot, offset: int) -> None:
        """It repeats what the events before it say, and what of it is stored."""
        assert (event.generation_id, event.state) == (self.generation_id, self.state), event
        owned = {each.member.member_id: flat(each.partitions) for each in event.members}
        assert owned == {member_id: self.owned.get(member_id, frozenset()) for member_id in self.members}, event
        assert (event.stored is None) == (event.state in ("Empty", "Stable")), event
        if event.stored is not None:
            stored = AuditedState(event.stored.generation_id, event.stored.state, frozenset(event.stored.member_ids))
            assert self.states[event.stored.seq] == stored, event
        assert event.checkpoint_offset is None or event.checkpoint_offset <= offset, event

    def _loaded(self, event: schema.GroupLoaded, may_be_lost: bool) -> None:
        """What is not void tells the group as it was loaded."""
        self.members = {each.member.member_id for each in event.members}
        self.owned = {each.member.member_id: flat(each.partitions) for each in event.members}
        if may_be_lost:
            return
        assert event.void_from_seq is not None, event
        assert not event.lost, event
        loaded = AuditedState(event.generation_id, event.state, frozenset(self.members))
        assert self.states[event.void_from_seq - 1] == loaded, event
