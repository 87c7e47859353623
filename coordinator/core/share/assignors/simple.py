"""The simple assignor of share groups: each partition has someone, and all members have as many partitions but for one.

If there are more members than partitions, several members share a partition. What members have they keep as far as the
numbers allow. Kafka's answer depends on the order of its hash tables; this one is equal to it.

Counterpart in Kafka: `SimpleAssignor`.
"""

from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from functools import cache
from math import ceil
from struct import unpack
from typing import Final, Generic, TypeVar

import msgspec

from coordinator.core.share.assignors.java_table import JavaTable, capacity_for

NAME: Final = "simple"
PLACES_AT_ONCE: Final = 150
"""So many partitions are handled in one step of about a millisecond, each as often as members have it."""

Target = dict[str, dict[bytes, tuple[int, ...]]]
"""Member id → topic id → partitions, ascending. It has every member, and no topic without partitions."""
TopicIdPartition = tuple[bytes, int]
Place = TypeVar("Place")


class ShareSubscriber(msgspec.Struct, frozen=True):
    """A member, as the assignor sees it."""

    member_id: str
    topics: Sequence[bytes]
    """Ids of the topics that it subscribes to and that exist, in the order of its HashSet."""
    target: Mapping[bytes, Sequence[int]]
    """Its current target: partitions by topic id, in the order in which the assignor goes through them."""


@cache
def _hash_of_topic(topic_id: bytes) -> int:
    most, least = unpack(">QQ", topic_id)
    value: int = most ^ least
    return (value >> 32 ^ value) & 0xFFFFFFFF


def _hash_of_partition(partition: TopicIdPartition) -> int:
    topic_id, index = partition
    return 31 * _hash_of_topic(topic_id) + index


def _hash_of_number(number: int) -> int:
    return number


def quotas(sharing: int, partition_count: int, member_count: int) -> list[int]:
    """How many partitions each member is to have: in all, each partition `sharing` times."""
    share = sharing * partition_count / member_count
    return [ceil(share * (number + 1)) - ceil(share * number) for number in range(member_count)]


class _Pace:
    """Says when a step has done enough."""

    __slots__ = ("_done",)

    def __init__(self) -> None:
        self._done = 0

    def is_over(self, places: int = 1) -> bool:
        """Whether the step ends now that it has handled so many partitions more."""
        self._done += places
        if self._done < PLACES_AT_ONCE:
            return False
        self._done = 0
        return True


class _Round(Generic[Place]):
    """Shares out partitions among members, which are numbers. `Place` says where a partition is: what it has beside
    its number depends on whether the round is about one topic, or about all."""

    def __init__(
        self,
        hash_of: Callable[[Place], int],
        partitions: Collection[Place],
        quota: Mapping[int, int],
        sharing: int,
        pace: _Pace,
    ) -> None:
        self._pace = pace
        self._hash_of = hash_of
        self._partitions = partitions
        self._quota = quota
        self._sharing = sharing
        self._order = JavaTable(hash_of, capacity_for(len(partitions)))
        self._holders: dict[Place, JavaTable[int]] = {}
        self.held: dict[int, JavaTable[Place]] = {}
        """Member → the partitions that it has."""

    def keep(self, member: int, partition: Place) -> None:
        """The member has the partition already."""
        self._held_by(member).add(partition)
        self._members_of(partition).add(member)

    def _held_by(self, member: int) -> JavaTable[Place]:
        held = self.held.get(member)
        if held is None:
            held = self.held[member] = JavaTable(self._hash_of)
        return held

    def _members_of(self, partition: Place) -> JavaTable[int]:
        members = self._holders.get(partition)
        if members is None:
            self._order.compute_if_absent(partition)
            members = self._holders[partition] = JavaTable(_hash_of_number)
        return members

    def revoke_excess(self) -> Generator[None, None, set[int]]:
        """From members with more than their quota, then from partitions with too many members: return these members."""
        for member in sorted(self.held):
            held = self.held[member]
            for partition in list(held)[: max(len(held) - self._quota.get(member, 0), 0)]:
                held.remove(partition)
                self._holders[partition].remove(member)
            if self._pace.is_over(len(held)):
                yield
        lost = set()
        for partition in self._order:
            members = self._holders[partition]
            for member in list(members)[: max(len(members) - self._sharing, 0)]:
                members.remove(member)
                self.held[member].remove(partition)
                lost.add(member)
            if self._pace.is_over():
                yield
        return lost

    def give_out(self, unfilled: set[int]) -> Generator[None, None, None]:
        """Give the partitions that have too few members to those of `unfilled`, in turn."""
        for partition in self._partitions:
            self._members_of(partition)
            if self._pace.is_over():
                yield
        turn = iter(sorted(unfilled))
        was_given = False
        for partition in self._order:
            members = self._members_of(partition)
            while len(members) < self._sharing and unfilled:
                member = next(turn, None)
                if member is None:
                    if not was_given:
                        break
                    turn, was_given = iter(sorted(unfilled)), False
                    continue
                if member in members:
                    continue
                self.keep(member, partition)
                was_given = True
                if len(self.held[member]) >= self._quota[member]:
                    unfilled.remove(member)
            if not unfilled:
                return
            if self._pace.is_over(1 + len(members)):
                yield


def assignment_steps(
    members: Sequence[ShareSubscriber], initialized: Mapping[bytes, Sequence[int]], is_homogeneous: bool
) -> Generator[None, None, Target]:
    """Assign in steps: who is to have which partitions.

    `members` are in the order of a Java HashMap of their ids. `initialized` has, by the id of a topic, the partitions
    whose share state is there, ascending: only they are given out. `is_homogeneous` says that all members subscribe to
    the same topics.
    """
    if not members:
        return {}
    share_out = _of_all_topics if is_homogeneous else _topic_by_topic
    pace = _Pace()
    found = yield from share_out(members, initialized, pace)
    target: Target = {}
    for member, of_member in zip(members, found, strict=True):
        target[member.member_id] = {
            topic_id: tuple(sorted(partitions)) for topic_id, partitions in of_member.items() if partitions
        }
        if pace.is_over(len(of_member)):
            yield
    return target


def _of_all_topics(
    members: Sequence[ShareSubscriber], initialized: Mapping[bytes, Sequence[int]], pace: _Pace
) -> Generator[None, None, list[dict[bytes, list[int]]]]:
    topics = members[0].topics
    partitions = [(topic_id, index) for topic_id in topics for index in initialized.get(topic_id, ())]
    sharing = -(-len(members) // len(partitions)) if partitions else 0
    quota = dict(enumerate(quotas(sharing, len(partitions), len(members))))
    part: _Round[TopicIdPartition] = _Round(_hash_of_partition, partitions, quota, sharing, pace)
    unfilled = set()
    subscribed = set(topics)
    for number, member in enumerate(members):
        owned = [
            (topic_id, index) for topic_id, own in member.target.items() if topic_id in subscribed for index in own
        ]
        for partition in owned:
            part.keep(number, partition)
            if pace.is_over():
                yield
        if len(owned) < quota[number]:
            unfilled.add(number)
    unfilled |= yield from part.revoke_excess()
    yield from part.give_out(unfilled)
    found = []
    for number in range(len(members)):
        held = part.held.get(number, ())
        found.append(_by_topic(held))
        if pace.is_over(len(held)):
            yield
    return found


def _by_topic(partitions: Iterable[TopicIdPartition]) -> dict[bytes, list[int]]:
    found: dict[bytes, list[int]] = {}
    for topic_id, index in partitions:
        found.setdefault(topic_id, []).append(index)
    return found


def _topic_by_topic(
    members: Sequence[ShareSubscriber], initialized: Mapping[bytes, Sequence[int]], pace: _Pace
) -> Generator[None, None, list[dict[bytes, list[int]]]]:
    found = [{topic_id: list(own) for topic_id, own in member.target.items()} for member in members]
    topics: JavaTable[bytes] = JavaTable(_hash_of_topic)
    subscribers: dict[bytes, list[int]] = {}
    for number, member in enumerate(members):
        for topic_id in member.topics:
            topics.add(topic_id)
            subscribers.setdefault(topic_id, []).append(number)
    for topic_id in topics:
        partitions, own = initialized.get(topic_id, ()), subscribers[topic_id]
        sharing = -(-len(own) // len(partitions)) if partitions else 0
        quota = dict(zip(own, quotas(sharing, len(partitions), len(own)), strict=True))
        part: _Round[int] = _Round(_hash_of_number, partitions, quota, sharing, pace)
        for number, member in enumerate(members):
            for index in member.target.get(topic_id, ()):
                part.keep(number, index)
                if pace.is_over():
                    yield
        yield from part.revoke_excess()
        yield from part.give_out({number for number in own if len(part.held.get(number, ())) < quota[number]})
        for number, of_member in enumerate(found):
            of_member[topic_id] = list(part.held.get(number, ()))
            if pace.is_over(len(of_member[topic_id])):
                yield
        yield
    return found
