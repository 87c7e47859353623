"""What classic consumers write into JoinGroup and SyncGroup, and how a leader assigns: with the product's assignors."""

from collections.abc import Iterable, Mapping
from typing import Final

from coordinator.core.assignment import decode_assignment
from coordinator.core.assignors.consumer_protocol import decode_subscription, encode_assignment, encode_subscription
from coordinator.core.assignors.model import MemberSubscription, Topic
from coordinator.core.assignors.registry import ASSIGNORS, COOPERATIVE_STICKY, Assignor
from tests.world.clients import COMPANY_ASSIGNOR
from tests.world.topics import Partition, Topics

BY_NAME: Final[Mapping[str, Assignor]] = {**ASSIGNORS, COMPANY_ASSIGNOR: COOPERATIVE_STICKY}
"""The company's assignor assigns as cooperative-sticky does, under a name that nobody knows."""


def metadata_of(
    name: str, member_id: str, topics: tuple[str, ...], owned: Iterable[Partition], generation_id: int
) -> bytes:
    by_topic: dict[str, list[int]] = {}
    for topic, _, index in sorted(owned):
        by_topic.setdefault(topic, []).append(index)
    member = MemberSubscription(member_id, frozenset(topics), None, by_topic, generation_id)
    return encode_subscription(BY_NAME[name], member)


def assign(name: str, members: Iterable[tuple[str, str | None, bytes]], topics: Topics) -> dict[str, bytes]:
    """Member id → assignment, of member id, instance id and metadata of each member."""
    assignor = BY_NAME[name]
    asked = [decode_subscription(assignor, *member) for member in members]
    wanted = sorted({topic for each in asked for topic in each.topics})
    known = {topic: Topic(topics.partition_count(topic)) for topic in wanted if topics.partition_count(topic)}
    return {member_id: encode_assignment(given) for member_id, given in assignor.assign(asked, known).items()}


def partitions_of(assignment: bytes, topics: Topics) -> frozenset[Partition]:
    """Partitions of topics that are gone are left out."""
    return frozenset(
        topics.partition(name, index)
        for name, indexes in decode_assignment(assignment).items()
        for index in indexes
        if index < topics.partition_count(name)
    )
