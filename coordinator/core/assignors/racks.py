"""Rack awareness (KIP-881): whether racks matter, and which partitions have a replica in the rack of a member."""

from collections import Counter
from collections.abc import Iterable, Mapping

from coordinator.core.assignors.model import MemberSubscription, Partition, Topic


def member_racks(members: Iterable[MemberSubscription]) -> dict[str, str]:
    """Member id → rack, for members that have one."""
    return {member.member_id: member.rack_id for member in members if member.rack_id}


def racks_decide(racks_of_members: Iterable[str], racks_of_partitions: Iterable[frozenset[str]]) -> bool:
    """True if members and partitions have racks in common, and not every partition is in all racks."""
    distinct = set(racks_of_partitions)
    together = frozenset[str]().union(*distinct)
    return not together.isdisjoint(racks_of_members) and distinct != {together}


class Racks:
    """Racks for the sticky assignors. If racks do not matter, every member matches every partition."""

    def __init__(self, members: Iterable[MemberSubscription], topics: Mapping[str, Topic]) -> None:
        self._of_member = member_racks(members)
        self._of_partition: dict[Partition, frozenset[str]] = {}
        self._members_in = Counter(self._of_member.values())
        self.are_used = bool(self._of_member)
        self.decide = False
        if self.are_used:
            for name, topic in topics.items():
                for partition in range(topic.partition_count):
                    self._of_partition[name, partition] = topic.racks_of(partition)
            self.decide = racks_decide(self._members_in, self._of_partition.values())

    def of_member(self, member_id: str) -> str | None:
        return self._of_member.get(member_id)

    def of_partition(self, partition: Partition) -> frozenset[str]:
        return self._of_partition[partition]

    def matches(self, member_id: str, partition: Partition) -> bool:
        """True if the member has no rack, or its rack has a replica of the partition."""
        rack = self._of_member.get(member_id) if self.decide else None
        return rack is None or rack in self._of_partition[partition]

    def members_near(self, partition: Partition) -> int:
        """The number of members in a rack with a replica of the partition."""
        return sum(self._members_in[rack] for rack in self._of_partition[partition])
