"""Subscriptions and assignments as consumers encode them in JoinGroup and SyncGroup (Kafka's `ConsumerProtocol`)."""

from collections.abc import Mapping, Sequence
from typing import Final

from _wire.embedded import encode_versioned
from _wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from _wire.messages.consumer_protocol_assignment import TopicPartition as AssignedPartition
from _wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from _wire.messages.consumer_protocol_subscription import TopicPartition as OwnedPartition
from coordinator.core.assignment import by_topic
from coordinator.core.assignors import user_data
from coordinator.core.assignors.model import NO_GENERATION, MemberSubscription, RebalanceProtocol
from coordinator.core.assignors.registry import COOPERATIVE_STICKY, STICKY, Assignor
from coordinator.core.consumer_protocol import (
    decode_subscription_message,
)

LATEST: Final = 3
"""The version that Kafka's clients use since 3.5 (KIP-881 added the rack)."""


def encode_subscription(assignor: Assignor, member: MemberSubscription, version: int = LATEST) -> bytes:
    """Encode the metadata of a member for this assignor; with an eager one it owns no partitions (KIP-429)."""
    cooperative = assignor.rebalance_protocol is RebalanceProtocol.COOPERATIVE
    owned = member.owned_partitions if cooperative else {}
    return encode_versioned(
        ConsumerProtocolSubscription(
            topics=sorted(member.topics),
            user_data=_user_data(assignor, member),
            owned_partitions=[OwnedPartition(topic=name, partitions=sorted(owned[name])) for name in sorted(owned)],
            generation_id=member.generation_id,
            rack_id=member.rack_id,
        ),
        version,
    )


def decode_subscription(
    assignor: Assignor, member_id: str, group_instance_id: str | None, data: bytes
) -> MemberSubscription:
    """Decode the metadata of a member for this assignor.

    User data that cannot be decoded is ignored, as in Kafka: the member then owns nothing.

    Raises:
        MalformedMessage: the bytes are not a subscription.
    """
    read = decode_subscription_message(data)
    owned, generation_id = by_topic(read.owned_partitions), read.generation_id
    try:
        if assignor is STICKY:
            owned, generation_id = user_data.decode_sticky(read.user_data) if read.user_data else ({}, NO_GENERATION)
        elif assignor is COOPERATIVE_STICKY and generation_id < 0 and read.user_data is not None:
            generation_id = user_data.decode_cooperative_sticky(read.user_data)
    except user_data.UnreadableUserData:
        owned, generation_id = (owned if assignor is COOPERATIVE_STICKY else {}), NO_GENERATION
    return MemberSubscription(
        member_id, frozenset(read.topics), group_instance_id, owned, max(generation_id, NO_GENERATION), read.rack_id
    )


def encode_assignment(assigned: Mapping[str, Sequence[int]], version: int = LATEST) -> bytes:
    """Encode the assignment of a member for the leader's SyncGroup."""
    partitions = [AssignedPartition(topic=name, partitions=assigned[name]) for name in sorted(assigned)]
    return encode_versioned(ConsumerProtocolAssignment(assigned_partitions=partitions), version)


def _user_data(assignor: Assignor, member: MemberSubscription) -> bytes | None:
    if assignor is STICKY and member.generation_id != NO_GENERATION:
        return user_data.encode_sticky(member.owned_partitions, member.generation_id)
    if assignor is COOPERATIVE_STICKY:
        return user_data.encode_cooperative_sticky(member.generation_id)
    return None
