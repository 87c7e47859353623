"""The sticky assignment for members with equal subscriptions: each gets the quota, and some get one more.

Counterpart in Kafka: `AbstractStickyAssignor.ConstrainedAssignmentBuilder`.
"""

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from itertools import chain

from coordinator.core.assignors.member_order import hash_map_order, text_key
from coordinator.core.assignors.model import Partition, Topic
from coordinator.core.assignors.racks import Racks


def assign_equal_shares(
    owned: Mapping[str, Sequence[Partition]], topics: Mapping[str, Topic], racks: Racks
) -> dict[str, list[Partition]]:
    """Return member id → partitions. `owned` has every member with its current partitions, and no partition twice."""
    shares = _EqualShares(owned, topics, racks)
    shares.keep_owned()
    unassigned = shares.unassigned()
    if racks.decide:
        unassigned = shares.assign_within_racks(unassigned)
    shares.assign_in_turns(unassigned)
    return shares.assigned


class _EqualShares:
    """`_hungry` has the members below the quota, `_full` those that have the quota and may get one more."""

    def __init__(self, owned: Mapping[str, Sequence[Partition]], topics: Mapping[str, Topic], racks: Racks) -> None:
        self.assigned: dict[str, list[Partition]] = {}
        self._owned = owned
        self._racks = racks
        self._partitions = [(name, number) for name in sorted(topics) for number in range(topics[name].partition_count)]
        self._quota, self._extras = divmod(len(self._partitions), len(owned))
        self._hungry: list[str] = []
        self._full: list[str] = []

    def keep_owned(self) -> None:
        """Let each member keep up to the quota of its partitions, and the first that have more keep one more.

        A member keeps its lowest partition numbers, of any topic.
        """
        for member_id in hash_map_order(self._owned):
            owned = [tp for tp in self._owned[member_id] if self._racks.matches(member_id, tp)]
            owned.sort(key=_by_number)
            if len(owned) < self._quota:
                self._hungry.append(member_id)
                self.assigned[member_id] = owned
            elif len(owned) > self._quota and self._extras > 0:
                self._extras -= 1
                self.assigned[member_id] = owned[: self._quota + 1]
            else:
                self._full.append(member_id)
                self.assigned[member_id] = owned[: self._quota]
        self._hungry.sort(key=text_key)
        self._full.sort(key=text_key)

    def unassigned(self) -> list[Partition]:
        """The partitions without an owner. If members have racks, those with the fewest members nearby come first."""
        kept = set(chain.from_iterable(self.assigned.values()))
        partitions = [partition for partition in self._partitions if partition not in kept]
        return sorted(partitions, key=self._racks.members_near) if self._racks.are_used else partitions

    def assign_within_racks(self, partitions: Sequence[Partition]) -> list[Partition]:
        """Assign to hungry members in the rack of a replica, otherwise to full ones there; return the rest."""
        left = []
        hungry = _Circle(self._hungry, self._racks)
        full = _Circle(self._full, self._racks)
        for partition in partitions:
            if (member_id := hungry.next_near(partition)) is not None:
                self.assigned[member_id].append(partition)
                if len(self.assigned[member_id]) == self._quota:
                    hungry.remove(member_id)
                    full.append(member_id)
            elif self._extras > 0 and (member_id := full.first_near(partition)) is not None:
                self.assigned[member_id].append(partition)
                self._extras -= 1
                full.remove(member_id)
            else:
                left.append(partition)
        self._hungry, self._full = hungry.members, full.members
        return left

    def assign_in_turns(self, partitions: Sequence[Partition]) -> None:
        """Assign to the hungry members in turns until they have the quota, then one each to the full ones."""
        hungry, full = deque(self._hungry), deque(self._full)
        for partition in partitions:
            if not hungry:
                self.assigned[full.popleft()].append(partition)
                continue
            member_id = hungry.popleft()
            self.assigned[member_id].append(partition)
            if len(self.assigned[member_id]) == self._quota:
                full.append(member_id)
            else:
                hungry.append(member_id)


class _Circle:
    """Members that take turns; finds the next one in the rack of a partition."""

    def __init__(self, members: list[str], racks: Racks) -> None:
        self.members = members
        self._racks = racks
        self._in_rack = Counter(racks.of_member(member_id) for member_id in members)
        self._turn = 0

    def next_near(self, partition: Partition) -> str | None:
        """The next member in the rack of the partition, after the last one that this method returned."""
        found = self._find(partition, self._turn)
        if found is None:
            return None
        self._turn = found + 1
        return self.members[found]

    def first_near(self, partition: Partition) -> str | None:
        """The first member in the rack of the partition."""
        found = self._find(partition, 0)
        return None if found is None else self.members[found]

    def append(self, member_id: str) -> None:
        self.members.append(member_id)
        self._in_rack[self._racks.of_member(member_id)] += 1

    def remove(self, member_id: str) -> None:
        """Remove a member without changing whose turn is next."""
        place = self.members.index(member_id)
        del self.members[place]
        self._in_rack[self._racks.of_member(member_id)] -= 1
        if place < self._turn:
            self._turn -= 1

    def _find(self, partition: Partition, start: int) -> int | None:
        replica_racks = self._racks.of_partition(partition)
        if not any(self._in_rack[rack] for rack in replica_racks):
            return None
        count = len(self.members)
        places = (place % count for place in range(start, start + count))
        return next(place for place in places if self._racks.of_member(self.members[place]) in replica_racks)


def _by_number(partition: Partition) -> tuple[int, str]:
    return partition[1], partition[0]
