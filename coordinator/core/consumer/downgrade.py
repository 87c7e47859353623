"""A consumer group becomes a classic group, because no member of the consumer protocol is left in it.

Counterpart in Kafka: `validateOnlineDowngradeWith…`, `convertToClassicGroup`, `ClassicGroup.fromConsumerGroup`.
"""

from collections.abc import Collection, Mapping
from typing import Final

import msgspec

from coordinator.config.consumer_group_keys import GROUP_CONSUMER_MIGRATION_POLICY
from coordinator.config.group_keys import GROUP_MAX_SIZE
from coordinator.core.classic.group import RebalanceReason
from coordinator.core.classic.kind import CLASSIC
from coordinator.core.classic.rebalance import select_protocol
from coordinator.core.consumer.classic_protocol import assignment_bytes
from coordinator.core.consumer.conversion_events import DowngradedMember, GroupDowngraded
from coordinator.core.consumer.events import ConsumerMemberRemoved
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.consumer.member import ConsumerMember, MemberMetadata
from coordinator.core.consumer.topic_partitions import TopicPartitions
from coordinator.core.decision import OperationContext
from coordinator.core.sessions import SessionStarted

DOWNGRADE_POLICIES: Final = frozenset({"bidirectional", "downgrade"})


def is_to_downgrade(
    group: ConsumerGroup, gone: Collection[ConsumerMember], size_after: int, context: OperationContext
) -> bool:
    """Whether only members of the classic protocol are left when these have gone."""
    consumers = len(group.members) - group.classic_count
    return (
        consumers == sum(not member.is_classic for member in gone)
        and size_after > 0
        and context.config[GROUP_CONSUMER_MIGRATION_POLICY] in DOWNGRADE_POLICIES
        and size_after <= context.config[GROUP_MAX_SIZE]
    )


def downgraded(
    group_id: str,
    generation_id: int,
    members: Mapping[str, tuple[MemberMetadata, TopicPartitions]],
    rebalance_reason: RebalanceReason | None,
    context: OperationContext,
    departed: tuple[ConsumerMemberRemoved, ...] = (),
) -> GroupDowngraded:
    """The event that makes it a classic group with these members and their targets."""
    probe = GroupDowngraded(
        group_id=group_id,
        at_ms=context.wall_ms,
        kind=CLASSIC,
        generation_id=generation_id,
        protocol_name="",
        members=tuple(DowngradedMember(member_id, metadata, b"") for member_id, (metadata, _) in members.items()),
        rebalance_reason=rebalance_reason,
        departed=departed,
    )
    protocol_name = select_protocol(list(probe.membership().members.values()))
    assigned = tuple(
        DowngradedMember(member_id, metadata, assignment_bytes(target, _subscription(metadata), context.topics))
        for member_id, (metadata, target) in members.items()
    )
    return msgspec.structs.replace(probe, protocol_name=protocol_name, members=assigned)


def _subscription(metadata: MemberMetadata) -> bytes:
    """That for the first assignor of the member, whose version its assignment has."""
    assert metadata.classic is not None
    return metadata.classic.protocols[0].metadata


def sessions_of_classic(members: Mapping[str, tuple[MemberMetadata, TopicPartitions]]) -> tuple[SessionStarted, ...]:
    """The members of the classic group have the session timeouts that they asked for."""
    return tuple(
        SessionStarted(
            member_id,
            metadata.group_instance_id,
            metadata.classic.session_timeout_ms,
            metadata.classic.session_timeout_ms,
        )
        for member_id, (metadata, _) in members.items()
        if metadata.classic is not None
    )
