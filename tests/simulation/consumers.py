"""What consumers write into the bytes that a coordinator passes on unread, and how a leader shares out partitions."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from _wire.embedded import decode_versioned, encode_versioned
from _wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from _wire.messages.consumer_protocol_assignment import TopicPartition as Assigned
from _wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from coordinator.core.topic_partition import TopicPartition

PARTITIONS: Final = {"t": 4, "u": 2}
OUTPUT: Final = "out"
SPARE: Final = "spare"
"""Topics that transactions write to; the second one is deleted and created again."""
WIDE: Final = "wide"
"""Not in the cluster, but groups find it there, with more partitions than any commit names."""
TRANSFERS: Final = "transfers"
"""The group whose members consume, transform and produce, exactly once."""
SUBSCRIPTIONS: Final = (("t",), ("t", "u"), ("u",))
PATTERNS: Final = ("", "", "[tu]", "sp.*", "none")
"""Regular expressions that members of the consumer protocol have beside their topics; the first ones are none."""
PROTOCOLS: Final = (("range", "sticky"), ("sticky", "range"), ("range",), ("sticky",), ())
"""What clients offer; with the third and the fourth in one group, or the last, some are refused."""
STATIC_PREFIX: Final = "static-"


@lru_cache(maxsize=1024)
def subscription(topics: tuple[str, ...]) -> bytes:
    return encode_versioned(ConsumerProtocolSubscription(topics=list(topics)), 1)


@lru_cache(maxsize=1024)
def topics_of(metadata: bytes) -> tuple[str, ...]:
    return tuple(decode_versioned(ConsumerProtocolSubscription, metadata).topics)


@lru_cache(maxsize=4096)
def assignment(partitions: tuple[TopicPartition, ...]) -> bytes:
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    assigned = [Assigned(topic=topic, partitions=indexes) for topic, indexes in topics.items()]
    return encode_versioned(ConsumerProtocolAssignment(assigned_partitions=assigned), 1)


@lru_cache(maxsize=4096)
def partitions_of(assigned: bytes) -> frozenset[TopicPartition]:
    if not assigned:
        return frozenset()
    decoded = decode_versioned(ConsumerProtocolAssignment, assigned)
    return frozenset(
        TopicPartition(assigned_partition.topic, index)
        for assigned_partition in decoded.assigned_partitions
        for index in assigned_partition.partitions
    )


def share_out(members: Iterable[tuple[str, bytes]]) -> dict[str, bytes]:
    """Member id and metadata of each member → member id → assignment; every partition goes round those who want it."""
    wanted = {member_id: topics_of(metadata) for member_id, metadata in sorted(members)}
    given: dict[str, list[TopicPartition]] = {member_id: [] for member_id in wanted}
    for topic, count in PARTITIONS.items():
        takers = [member_id for member_id, topics in wanted.items() if topic in topics]
        for index in range(count if takers else 0):
            given[takers[index % len(takers)]].append(TopicPartition(topic, index))
    return {member_id: assignment(tuple(partitions)) for member_id, partitions in given.items()}


def owners(plan: Mapping[str, bytes]) -> dict[TopicPartition, str]:
    return {partition: who for who, assigned in plan.items() for partition in partitions_of(assigned)}
