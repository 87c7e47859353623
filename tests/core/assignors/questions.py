"""Questions to assignors, written down shortly, and what must hold of every answer."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from coordinator.core.assignors.model import (
    NO_GENERATION,
    Assignment,
    MemberSubscription,
    Partition,
    PartitionsByTopic,
    Topic,
)


def member(
    member_id: str,
    topics: Iterable[str],
    owned: Mapping[str, Sequence[int]] | None = None,
    generation_id: int = NO_GENERATION,
    *,
    instance_id: str | None = None,
    rack: str | None = None,
) -> MemberSubscription:
    return MemberSubscription(member_id, frozenset(topics), instance_id, owned or {}, generation_id, rack)


def counts(**partition_counts: int) -> dict[str, Topic]:
    """Topics without racks."""
    return {name: Topic(count) for name, count in partition_counts.items()}


def from_vector(vector: Mapping[str, Any]) -> tuple[list[MemberSubscription], dict[str, Topic]]:
    """The question of a recorded vector."""
    racks = vector.get("replica_racks", {})
    topics = {
        name: Topic(count, tuple(frozenset(rack) for rack in racks.get(name, ())))
        for name, count in vector["partitions"].items()
    }
    members = [
        member(
            each["id"],
            each["topics"],
            each.get("owned"),
            each.get("generation", NO_GENERATION),
            instance_id=each.get("instance_id"),
            rack=each.get("rack"),
        )
        for each in vector["members"]
    ]
    return members, topics


def partitions_of(by_topic: PartitionsByTopic) -> set[Partition]:
    return {(name, number) for name, numbers in by_topic.items() for number in numbers}


def owners_of(assignment: Assignment) -> dict[Partition, str]:
    """Partition → its owner; AssertionError when it has two."""
    owners: dict[Partition, str] = {}
    for member_id, by_topic in assignment.items():
        for partition in partitions_of(by_topic):
            assert partition not in owners, (partition, owners[partition], member_id)
            owners[partition] = member_id
    return owners


def sizes(assignment: Assignment) -> list[int]:
    return [len(partitions_of(by_topic)) for by_topic in assignment.values()]


def kept(members: Iterable[MemberSubscription], assignment: Assignment) -> int:
    """How many partitions stay where a member said it had them."""
    return sum(
        len(
            partitions_of(assignment[member.member_id])
            & partitions_of({name: list(numbers) for name, numbers in member.owned_partitions.items()})
        )
        for member in members
    )


def rejoined(
    members: Iterable[MemberSubscription], assignment: Assignment, generation_id: int
) -> list[MemberSubscription]:
    """The members as they join again, with what they were assigned."""
    return [
        MemberSubscription(
            member.member_id,
            member.topics,
            member.group_instance_id,
            assignment.get(member.member_id, {}),
            generation_id if member.member_id in assignment else NO_GENERATION,
            member.rack_id,
        )
        for member in members
    ]


def assert_valid(
    members: Sequence[MemberSubscription], topics: Mapping[str, Topic], assignment: Assignment, *, whole: bool = True
) -> None:
    """Each partition of a subscribed topic has exactly one owner (at most one where not `whole`), a subscriber."""
    assert assignment.keys() == {member.member_id for member in members}
    owners = owners_of(assignment)
    for member in members:
        assert assignment[member.member_id].keys() <= member.topics
    wanted = {
        (name, number)
        for name in frozenset().union(*(member.topics for member in members)) & topics.keys()
        for number in range(topics[name].partition_count)
    }
    assert owners.keys() == wanted if whole else owners.keys() <= wanted
