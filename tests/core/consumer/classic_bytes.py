"""Subscriptions and assignments as members of the classic protocol send them."""

from collections.abc import Mapping

from _wire.embedded import encode_versioned
from _wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from _wire.messages.consumer_protocol_assignment import TopicPartition as AssignedPartition
from _wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from _wire.messages.consumer_protocol_subscription import TopicPartition as OwnedPartition


def subscription(*topics: str, owned: Mapping[str, list[int]] | None = None, version: int = 1) -> bytes:
    partitions = [OwnedPartition(topic=topic, partitions=indexes) for topic, indexes in (owned or {}).items()]
    return encode_versioned(ConsumerProtocolSubscription(topics=topics, owned_partitions=partitions), version)


def assignment(partitions: Mapping[str, list[int]], user_data: bytes | None = None) -> bytes:
    assigned = [AssignedPartition(topic=topic, partitions=indexes) for topic, indexes in partitions.items()]
    return encode_versioned(ConsumerProtocolAssignment(assigned_partitions=assigned, user_data=user_data), 1)
