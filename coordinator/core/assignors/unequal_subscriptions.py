"""The sticky assignment for members with different subscriptions: assign to the least loaded, then balance by moves.

A partition moves to a member that subscribes to its topic and has at least two partitions fewer than its owner. The
search ends when there is no such move. As in Kafka, moves along a chain of members, which could balance further, are
not considered.

Counterpart in Kafka: `AbstractStickyAssignor.GeneralAssignmentBuilder`.
"""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from coordinator.core.assignors.claims import Claims
from coordinator.core.assignors.member_order import text_key
from coordinator.core.assignors.model import Partition, Topic
from coordinator.core.assignors.racks import Racks

FEWER_THAN_OWNER: Final = 2
"""How many partitions fewer than the owner a member must have to get one of the owner's."""


def assign_balanced(
    subscriptions: Mapping[str, AbstractSet[str]], topics: Mapping[str, Topic], claims: Claims, racks: Racks
) -> dict[str, list[Partition]]:
    """Return member id → partitions. `subscriptions` has every member with those of its topics that exist."""
    loads = _Loads(subscriptions)
    search = _Search(loads, claims, racks)
    partitions = [
        (name, number)
        for name in sorted(topics, key=lambda name: (len(loads.subscribers[name]), name))
        for number in range(topics[name].partition_count)
    ]
    unassigned = []
    for partition in partitions:
        owner = claims.owner.get(partition)
        if owner is None or partition[0] not in subscriptions[owner] or not racks.matches(owner, partition):
            unassigned.append(partition)
        else:
            search.give(partition, owner)
    if racks.decide:
        unassigned = search.assign_near(unassigned)
    search.assign(unassigned)
    search.even_out([partition for partition in partitions if not search.is_at_home(partition)])
    search.even_out(partitions)
    search.bring_home(partitions)
    return {member_id: list(partitions) for member_id, partitions in search.assigned.items()}


class _Loads:
    """The number of partitions of each member, and the members in that order."""

    def __init__(self, subscriptions: Mapping[str, AbstractSet[str]]) -> None:
        self.subscriptions = subscriptions
        self.subscribers: dict[str, list[str]] = defaultdict(list)
        self._members = sorted(subscriptions, key=text_key)
        self._rank = {member_id: rank for rank, member_id in enumerate(self._members)}
        for member_id in self._members:
            for name in subscriptions[member_id]:
                self.subscribers[name].append(member_id)
        self._load = dict.fromkeys(self._members, 0)
        self._ascending = list(range(len(self._members)))
        """load * number of members + rank, sorted: the order in which members get partitions."""

    def of(self, member_id: str) -> int:
        return self._load[member_id]

    def lowest(self) -> int:
        return self._ascending[0] // len(self._members)

    def add(self, member_id: str, change: int) -> None:
        place = bisect_left(self._ascending, self._key(member_id))
        del self._ascending[place]
        self._load[member_id] += change
        insort(self._ascending, self._key(member_id))

    def least_loaded(self, topic: str) -> str:
        """The subscriber with the fewest partitions; of several, the first by member id."""
        subscribers = self.subscribers[topic]
        if len(subscribers) ** 2 < len(self._members):
            return min(subscribers, key=self._key)
        return next(self.subscribers_ascending(topic))

    def subscribers_ascending(self, topic: str) -> Iterator[str]:
        """The subscribers of the topic, the least loaded first."""
        members, count = self._members, len(self._members)
        for key in self._ascending:
            member_id = members[key % count]
            if topic in self.subscriptions[member_id]:
                yield member_id

    def _key(self, member_id: str) -> int:
        return self._load[member_id] * len(self._members) + self._rank[member_id]


class _Search:
    """An assignment that is being balanced. A partition is at home if its member owned it before."""

    def __init__(self, loads: _Loads, claims: Claims, racks: Racks) -> None:
        self.assigned: dict[str, dict[Partition, None]] = {member_id: {} for member_id in loads.subscriptions}
        self._loads = loads
        self._claims = claims
        self._racks = racks
        self._owner: dict[Partition, str] = {}

    def is_at_home(self, partition: Partition) -> bool:
        return self._owner[partition] == self._claims.owner.get(partition)

    def give(self, partition: Partition, member_id: str) -> None:
        self._owner[partition] = member_id
        self.assigned[member_id][partition] = None
        self._loads.add(member_id, 1)

    def assign(self, partitions: Iterable[Partition]) -> None:
        """Assign each to the least loaded subscriber."""
        for partition in partitions:
            self.give(partition, self._loads.least_loaded(partition[0]))

    def assign_near(self, partitions: Iterable[Partition]) -> list[Partition]:
        """Assign each to the least loaded subscriber in a matching rack; return those for which there is none."""
        left = []
        for partition in partitions:
            subscribers = self._loads.subscribers_ascending(partition[0])
            member_id = next(
                (subscriber for subscriber in subscribers if self._racks.matches(subscriber, partition)), None
            )
            if member_id is None:
                left.append(partition)
            else:
                self.give(partition, member_id)
        return left

    def even_out(self, partitions: Sequence[Partition]) -> None:
        """Move these partitions, or others of the same owner instead, until no move improves the balance.

        The loop ends because each move lowers the sum of the squared loads.
        """
        moved = True
        while moved:
            moved = False
            for partition in partitions:
                while (member_id := self._better_place(partition)) is not None:
                    self._move(self._cheapest_instead_of(partition, member_id), member_id)
                    moved = True

    def bring_home(self, partitions: Iterable[Partition]) -> None:
        """Swap partitions so that more are at home: the balance stays, and fewer partitions have moved."""
        for partition in partitions:
            home = self._claims.owner.get(partition)
            if home is None or self.is_at_home(partition) or not self._may_have(home, partition):
                continue
            owner = self._owner[partition]
            for other in self.assigned[home]:
                if not self.is_at_home(other) and self._may_have(owner, other):
                    self._move(partition, home)
                    self._move(other, owner)
                    break

    def _may_have(self, member_id: str, partition: Partition) -> bool:
        return partition[0] in self._loads.subscriptions[member_id] and self._racks.matches(member_id, partition)

    def _better_place(self, partition: Partition) -> str | None:
        """A subscriber that may get the partition, or None: preferably a former owner, otherwise the least loaded."""
        loads = self._loads
        enough = loads.of(self._owner[partition]) - FEWER_THAN_OWNER
        if enough < loads.lowest():
            return None
        for former in (self._claims.owner.get(partition), self._claims.former.get(partition)):
            if former is not None and partition[0] in loads.subscriptions[former] and loads.of(former) <= enough:
                return former
        member_id = loads.least_loaded(partition[0])
        return member_id if loads.of(member_id) <= enough else None

    def _cheapest_instead_of(self, partition: Partition, member_id: str) -> Partition:
        """The partition to move: one that comes home with it, otherwise one not at home, otherwise `partition`."""
        home = self._claims.owner
        subscription = self._loads.subscriptions[member_id]
        candidates = [tp for tp in self.assigned[self._owner[partition]] if tp[0] in subscription]
        for candidate in candidates:
            if home.get(candidate) == member_id:
                return candidate
        if not self.is_at_home(partition):
            return partition
        return next((candidate for candidate in candidates if not self.is_at_home(candidate)), partition)

    def _move(self, partition: Partition, member_id: str) -> None:
        former = self._owner[partition]
        del self.assigned[former][partition]
        self._loads.add(former, -1)
        self.give(partition, member_id)
