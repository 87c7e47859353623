"""The state that responses show to clients, and whether it is consistent: generations, assignments, offsets."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

from _wire.errors import ErrorCode
from _wire.messages.join_group import JoinGroupResponse
from coordinator.core.groups.group import Group
from coordinator.core.offsets.records import CommittedOffset
from coordinator.core.topic_partition import TopicPartition
from tests.simulation.clients import Request
from tests.simulation.consumers import owners


class Generation:
    """One generation as the responses showed it to its members.

    `plans` are the assignments in SyncGroup requests; those that contradict a response are dropped. The leader is
    unknown until a JoinGroup has a response on an open connection.

    `identity` is the same for all member ids of one instance: a static member that comes back is the same member.
    `from_its_start` is false if a power loss restored the generation, whose responses are unknown then.
    """

    def __init__(self, identity: Callable[[str], str], *, from_its_start: bool = True) -> None:
        self._identity = identity
        self.from_its_start = from_its_start
        self.leader: str | None = None
        self.protocol_name: str | None = None
        self.members: frozenset[str] | None = None
        self.joined: set[str] = set()
        self.plans: list[tuple[str, Mapping[str, bytes]]] = []
        self.assigned: dict[str, bytes] = {}

    def apply_join(self, response: JoinGroupResponse) -> None:
        leader = self._identity(response.leader)
        assert (self.leader or leader) == leader, f"two leaders: {self.leader}, {leader}"
        assert (self.protocol_name or response.protocol_name) == response.protocol_name, "two protocols"
        self.leader, self.protocol_name = leader, response.protocol_name
        self.joined.add(self._identity(response.member_id))
        if response.members:
            assert self._identity(response.member_id) == leader, "a follower gets the members"
            members = frozenset(self._identity(member.member_id) for member in response.members)
            assert self.members in (None, members), f"two sets of members: {self.members}, {members}"
            assert len(members) == len(response.members), "a member is listed twice"
            self.members = members
        elif response.member_id == response.leader:
            raise AssertionError("a leader does not get the members")
        assert self.members is None or self.joined <= self.members, "a client gets a generation that it is not in"

    def apply_assignment(self, member_id: str, assignment: bytes) -> None:
        who = self._identity(member_id)
        assert self.assigned.setdefault(who, assignment) == assignment, f"{who} is assigned two things"
        if self.from_its_start:
            self.plans = [
                (planner, plan)
                for planner, plan in self.plans
                if planner == (self.leader or planner) and assignment in self._meant_for(member_id, plan)
            ]
            assert self.plans, f"{who} gets an assignment that no leader sent"
        shared = owners(self.assigned)
        assert sum(len(owners({who: part})) for who, part in self.assigned.items()) == len(shared), "owned twice"

    def _meant_for(self, member_id: str, plan: Mapping[str, bytes]) -> set[bytes]:
        """What a plan gives a member. A static member may have come back since under a new id; or the plan was made
        before a crash, for a generation that was lost and whose number counts again: then it knows only the old id."""
        if member_id in plan:
            return {plan[member_id]}
        who = self._identity(member_id)
        return {b""} | {part for each, part in plan.items() if self._identity(each) == who}


class Position(NamedTuple):
    """What was committed. `order` is that of the acknowledgements, which is that of the appends."""

    offset: int
    metadata: str
    expire_timestamp_ms: int | None
    order: int = 0

    def is_as(self, committed: CommittedOffset) -> bool:
        return self[:3] == (committed.offset, committed.metadata, committed.expire_timestamp_ms)


Positions = dict[TopicPartition, Position]


class Ledger:
    """Acknowledged offsets, and those that open transactions hold back. What was asked and not answered when the
    server died may be there or not."""

    def __init__(self) -> None:
        self.acknowledged: defaultdict[str, Positions] = defaultdict(dict)
        self.held_back: defaultdict[tuple[str, int], Positions] = defaultdict(dict)
        """Group and producer id → positions that count when the transaction is committed."""
        self.undecided: list[Request] = []
        self._order = 0

    def committed(self, request: Request, now_ms: int) -> None:
        self.acknowledged[request.message.group_id].update(self._taken(request, now_ms))

    def committed_in_transaction(self, request: Request) -> None:
        message = request.message
        self.held_back[message.group_id, message.producer_id].update(self._taken(request, 0))

    def _taken(self, request: Request, now_ms: int) -> Positions:
        errors = {
            TopicPartition(topic.name, partition.partition_index): partition.error_code
            for topic in request.response.topics
            for partition in topic.partitions
        }
        wanted = positions(request.message, now_ms)
        assert errors.keys() == wanted.keys(), "each partition of a commit is answered"
        self._order += 1
        return {
            where: said._replace(order=self._order) for where, said in wanted.items() if errors[where] == ErrorCode.NONE
        }

    def transaction_ended(self, group_id: str, producer_id: int, committed: bool) -> None:
        """Of two positions the one that was appended later counts."""
        for where, said in self.held_back.pop((group_id, producer_id), {}).items():
            known = self.acknowledged[group_id].get(where)
            if committed and (known is None or known.order < said.order):
                self.acknowledged[group_id][where] = said

    def held_back_partitions(self, group_id: str) -> set[TopicPartition]:
        """The partitions whose offset a transaction that is still open may change."""
        return {tp for (group, _), said in self.held_back.items() if group == group_id for tp in said}

    def forget(self, group_id: str, partitions: Iterable[TopicPartition] | None = None) -> None:
        """What was acknowledged of the partitions is gone, of all by default; what is held back for them too."""
        kept = [said for (group, _), said in self.held_back.items() if group == group_id]
        for known in (self.acknowledged[group_id], *kept):
            for where in list(known) if partitions is None else partitions:
                known.pop(where, None)

    def expired(self, group_id: str, partitions: set[TopicPartition], found: Collection[TopicPartition]) -> None:
        """These were found too old, unless their batch failed or they were committed again."""
        for where in partitions - set(found):
            self.acknowledged[group_id].pop(where, None)

    def server_died(self, unanswered: list[Request]) -> None:
        self.undecided = unanswered

    def reload(self, group_id: str, group: Group, expired: set[TopicPartition], *, may_be_lost: bool) -> None:
        """Compare with what a start found, and go on from there."""
        found = committed_offsets(group)
        if not may_be_lost:
            undecided = [each for each in self.undecided if each.group_id == group_id]
            deleted = any(each.api in ("DeleteGroups", "OffsetDelete") for each in undecided)
            possible = [positions(each.message, 0) for each in undecided if each.api.endswith("OffsetCommit")]
            committed = {
                each.message.producer.producer_id
                for each in self.undecided
                if each.api == "complete transaction" and each.message.committed
            }
            possible += [
                said
                for (group, producer), said in self.held_back.items()
                if producer in committed and group == group_id
            ]
            known = self.acknowledged[group_id]
            for where in known.keys() | found.keys():
                offset = found[where].offset if where in found else None
                allowed = [each[where].offset for each in possible if where in each]
                allowed += [known[where].offset] if where in known else []
                gone = deleted or where in expired or where not in known
                assert offset in allowed or (offset is None and gone), (
                    f"{group_id} {where}: {offset}, acknowledged or under way: {allowed}"
                )
        self._begin_anew(group_id, group)

    def _begin_anew(self, group_id: str, group: Group) -> None:
        for key in [key for key in self.held_back if key[0] == group_id]:
            del self.held_back[key]
        self.acknowledged[group_id] = {
            where: Position(committed_offset.offset, committed_offset.metadata, committed_offset.expire_timestamp_ms)
            for where, committed_offset in committed_offsets(group).items()
        }
        pending = group.offsets.pending
        for (producer_id, (topic, partition)), each in () if pending is None else pending.in_order():
            if each is not None:
                where = TopicPartition(topic, partition)
                self._order += 1
                said = Position(each.offset, each.metadata, each.expire_timestamp_ms, self._order)
                self.held_back[group_id, producer_id][where] = said


def committed_offsets(group: Group) -> dict[TopicPartition, CommittedOffset]:
    return {
        TopicPartition(topic, partition): committed
        for topic, partitions in group.offsets.by_topic.items()
        for partition, committed in partitions.items()
    }


def positions(request: Any, now_ms: int) -> Positions:
    """What a commit asks for, in a transaction or not."""
    retention_ms = getattr(request, "retention_time_ms", -1)
    return {
        TopicPartition(topic.name, partition.partition_index): Position(
            partition.committed_offset,
            partition.committed_metadata or "",
            None if retention_ms == -1 else min(max(now_ms + retention_ms, 0), 2**63 - 1),
        )
        for topic in request.topics
        for partition in topic.partitions
    }
