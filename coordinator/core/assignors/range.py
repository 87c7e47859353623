"""`range`: each subscriber of a topic gets a contiguous range of its partitions; the first ones get one more.

Topics with the same number of partitions and the same subscribers are divided equally: the owner of partition 3 of one
topic owns partition 3 of the others (co-partitioning). If racks matter (KIP-881), a member first gets partitions with
a replica in its rack, as far as balance and co-partitioning allow.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

from coordinator.core.assignors.member_order import static_first
from coordinator.core.assignors.model import Assignment, MemberSubscription, Topic, subscribed
from coordinator.core.assignors.racks import member_racks, racks_decide


def assign(members: Sequence[MemberSubscription], topics: Mapping[str, Topic]) -> Assignment:
    """Assign as Kafka's RangeAssignor."""
    subscribers: dict[str, list[str]] = defaultdict(list)
    for member in static_first(members):
        for name in member.topics:
            subscribers[name].append(member.member_id)
    racks = member_racks(members)
    shares = [_Shares(name, topic, subscribers[name], racks) for name, topic in subscribed(members, topics).items()]
    if any(topic.racks_decide for topic in shares):
        _assign_within_racks(shares)
    assignment: Assignment = {member.member_id: {} for member in members}
    for topic in shares:
        topic.fill()
        for member_id, partitions in topic.assigned.items():
            assignment[member_id][topic.name] = sorted(partitions)
    return assignment


class _Shares:
    """The division of one topic. `subscribers` are in the order in which they get partitions."""

    def __init__(self, name: str, topic: Topic, subscribers: Sequence[str], racks: Mapping[str, str]) -> None:
        self.name = name
        self.subscribers = subscribers
        self.assigned: dict[str, list[int]] = {}
        self._left = dict.fromkeys(range(topic.partition_count))
        self._quota, self._extras = divmod(topic.partition_count, len(subscribers))
        self._racks = (
            {subscriber: racks[subscriber] for subscriber in subscribers if subscriber in racks} if racks else {}
        )
        self._replica_racks = [topic.racks_of(partition) for partition in self._left] if self._racks else []
        self.racks_decide = racks_decide(self._racks.values(), self._replica_racks)

    @property
    def co_partitioned_with(self) -> tuple[frozenset[tuple[str, str | None]], int]:
        """A key that is equal for topics that are divided equally."""
        members = frozenset((member_id, self._racks.get(member_id)) for member_id in self.subscribers)
        return members, len(self._replica_racks)

    def room(self, member_id: str) -> int:
        """How many more partitions the member may get."""
        return max(0, self._quota + (self._extras > 0) - len(self.assigned.get(member_id, ())))

    def matches(self, member_id: str, partition: int) -> bool:
        """True if the member has no rack, or its rack has a replica."""
        rack = self._racks.get(member_id)
        return rack is None or (bool(self._replica_racks) and rack in self._replica_racks[partition])

    def assign(self, member_id: str, partitions: Iterable[int]) -> None:
        """Assign partitions that are still unassigned."""
        assigned = self.assigned.setdefault(member_id, [])
        for partition in partitions:
            del self._left[partition]
            assigned.append(partition)
        if len(assigned) > self._quota:
            self._extras -= 1

    def fill(self, fits: Callable[[str, int], bool] | None = None) -> None:
        """Assign to each member in turn the first unassigned partitions that it may take, up to its room."""
        for member_id in self.subscribers:
            if not self._left:
                return
            fit = self._left if fits is None else (count for count in self._left if fits(member_id, count))
            partitions = list(islice(fit, self.room(member_id)))
            if partitions:
                self.assign(member_id, partitions)


def _assign_within_racks(shares: Iterable[_Shares]) -> None:
    groups: dict[object, list[_Shares]] = defaultdict(list)
    for topic in shares:
        groups[topic.co_partitioned_with].append(topic)
    for alike in groups.values():
        if len(alike) > 1:
            _assign_alike(alike)
        elif alike[0].racks_decide:
            alike[0].fill(alike[0].matches)


def _assign_alike(shares: Sequence[_Shares]) -> None:
    """Assign each partition number, of all these topics at once, to the first member for which all of them fit."""
    _, partition_count = shares[0].co_partitioned_with
    waiting = dict.fromkeys(shares[0].subscribers)
    for partition in range(partition_count):
        member_id = next((candidate for candidate in waiting if _all_fit(shares, candidate, partition)), None)
        if member_id is not None:
            for topic in shares:
                topic.assign(member_id, (partition,))
            if not any(topic.room(member_id) for topic in shares):
                del waiting[member_id]


def _all_fit(shares: Iterable[_Shares], member_id: str, partition: int) -> bool:
    return all(topic.room(member_id) and topic.matches(member_id, partition) for topic in shares)
