"""A reader of the audit topic that believes nothing: what it is told must fit what it was told before."""

from typing import Any, NamedTuple

from coordinator.audit import schema

Partitions = frozenset[tuple[str, int]]


class Told(NamedTuple):
    """Where a group was after an event."""

    generation_id: int
    state: str
    members: frozenset[str]


def flat(partitions: schema.TopicPartitions) -> Partitions:
    return frozenset((topic, index) for topic, indexes in partitions.items() for index in indexes)


class AuditReader:
    """One group, as its events tell it."""

    def __init__(self) -> None:
        self.seq = self.created_seq = self.time_ms = 0
        self.generation_id = 0
        self.state = "Dead"
        self.members: set[str] = set()
        self.owned: dict[str, Partitions] = {}
        self.told: list[Told] = []
        self.assigned_in_generation = 0

    def take(self, event: Any, *, may_be_lost: bool = False) -> None:
        """The next event of the group. `may_be_lost`: a power loss may have taken more than the last batch."""
        assert event.seq == self.seq + 1, f"seq {event.seq} after {self.seq}"
        self._check_where(event)
        self.seq, self.created_seq, self.time_ms = event.seq, event.created_seq, event.time_ms
        self.generation_id, self.state = event.generation_id, event.state
        if isinstance(event, schema.GroupLoaded):
            self._loaded(event, may_be_lost)
        else:
            self._take(event)
        self.told.append(Told(self.generation_id, self.state, frozenset(self.members)))

    def _check_where(self, event: Any) -> None:
        began = isinstance(event, schema.GroupCreated)
        assert event.created_seq == (event.seq if began or not self.created_seq else self.created_seq), event
        assert event.time_ms >= self.time_ms, event
        if began:
            assert (event.state_before, event.generation_id_before, event.state) == ("Empty", 0, "Empty"), event
            assert self.state == "Dead", event
            self.members.clear()
            self.owned.clear()
        else:
            assert (event.state_before, event.generation_id_before) == (self.state, self.generation_id), event

    def _take(self, event: Any) -> None:
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

    def _assigned(self, event: schema.MemberAssigned) -> None:
        member_id = event.member.member_id
        assert event.readable
        now, gained, lost, kept = (flat(each) for each in (event.partitions, event.gained, event.lost, event.kept))
        before = self.owned.get(member_id, frozenset())
        assert (now - before, before - now, now & before) == (gained, lost, kept), event
        self.owned[member_id] = now
        self.assigned_in_generation += len(now)

    def _loaded(self, event: schema.GroupLoaded, may_be_lost: bool) -> None:
        """What is not void tells the group as it was loaded."""
        self.members = {each.member.member_id for each in event.members}
        self.owned = {each.member.member_id: flat(each.partitions) for each in event.members}
        if may_be_lost:
            return
        assert event.void_from_seq is not None, event
        assert not event.lost, event
        loaded = Told(event.generation_id, event.state, frozenset(self.members))
        assert self.told[event.void_from_seq - 2] == loaded, event
