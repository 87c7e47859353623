"""The events of groups that go on with the other protocol: without members, or with them.

Counterpart in Kafka: `ConsumerGroup.fromClassicGroup`, `ClassicGroup.fromConsumerGroup`.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from coordinator.core.classic.group import ClassicGroup, Member, Protocol, RebalanceReason
from coordinator.core.consumer.events import ConsumerMemberRemoved
from coordinator.core.consumer.group import NEVER, ConsumerGroup
from coordinator.core.consumer.member import ConsumerMember, MemberMetadata
from coordinator.core.consumer.topic_partitions import TopicPartitions
from coordinator.core.consumer_protocol import CONSUMER_PROTOCOL_TYPE
from coordinator.core.groups.event import GroupEvent
from coordinator.core.groups.group import Group
from coordinator.core.groups.kind import GroupKind
from coordinator.core.groups.membership import Membership
from coordinator.core.groups.states import STABLE


class GroupConverted(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A group without members goes on as one of another kind, with its committed offsets.

    `kind` is the row of that kind; `member_id` is the member that joins, empty if its id is not known yet.
    """

    group_id: str
    at_ms: int
    kind: GroupKind
    member_id: str

    def membership(self) -> Membership:
        membership = self.kind.new_membership(self.group_id)
        membership.mark_created(self.at_ms)
        return membership

    def apply(self, group: Group[Any]) -> None:
        group.kind, group.membership = self.kind, self.membership()


class GroupUpgraded(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A classic group becomes a consumer group with its members, because `member_id` joins with the new protocol.

    `members` are (member id, metadata, assignment); `epoch` is the generation.
    """

    group_id: str
    at_ms: int
    kind: GroupKind
    member_id: str
    epoch: int
    metadata_hash: int
    members: tuple[tuple[str, MemberMetadata, TopicPartitions], ...]

    def membership(self) -> ConsumerGroup:
        group = ConsumerGroup(self.group_id, epoch=self.epoch, metadata_hash=self.metadata_hash)
        group.set_target_epoch(self.epoch, NEVER)
        for member_id, metadata, target in self.members:
            group.add_classic_member(member_id, metadata, target)
        group.update_state(self.at_ms)
        return group

    def apply(self, group: Group[Any]) -> None:
        membership = self.membership()
        _keep_what_is_not_stored(group.membership.members, membership.members)
        group.kind, group.membership = self.kind, membership


class DowngradedMember(NamedTuple):
    """A member of the classic protocol whose group becomes a classic one."""

    member_id: str
    metadata: MemberMetadata
    assignment: bytes


class GroupDowngraded(msgspec.Struct, GroupEvent, frozen=True, kw_only=True):
    """A consumer group becomes a classic group: all of its members are left that use the classic protocol.

    `rebalance_reason` says why the group has to rebalance; None: it goes on as it is.
    """

    group_id: str
    at_ms: int
    kind: GroupKind
    generation_id: int
    protocol_name: str
    members: tuple[DowngradedMember, ...]
    rebalance_reason: RebalanceReason | None
    departed: tuple[ConsumerMemberRemoved, ...] = ()
    """How the members are removed that go with it. These events are told with this one and not applied."""

    def membership(self) -> ClassicGroup:
        group = ClassicGroup(
            self.group_id,
            state=STABLE,
            state_since_ms=self.at_ms,
            generation_id=self.generation_id,
            protocol_type=CONSUMER_PROTOCOL_TYPE,
            protocol_name=self.protocol_name,
        )
        for member_id, metadata, assignment in self.members:
            group.add_member(_classic_member(member_id, metadata, assignment))
        group.keep_subscriptions(member.metadata_for(self.protocol_name) for member in group.members.values())
        return group

    def apply(self, group: Group[Any]) -> None:
        membership = self.membership()
        membership.rebalance_reason = self.rebalance_reason
        _keep_what_is_not_stored(group.membership.members, membership.members)
        group.kind, group.membership = self.kind, membership


def _classic_member(member_id: str, metadata: MemberMetadata, assignment: bytes) -> Member:
    assert metadata.classic is not None, member_id
    return Member(
        member_id=member_id,
        group_instance_id=metadata.group_instance_id,
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        session_timeout_ms=metadata.classic.session_timeout_ms,
        rebalance_timeout_ms=metadata.rebalance_timeout_ms,
        protocols=tuple(Protocol(protocol.name, protocol.metadata) for protocol in metadata.classic.protocols),
        assignment=assignment,
        is_new=False,
    )


def _keep_what_is_not_stored(
    before: Mapping[str, Member | ConsumerMember], after: Mapping[str, Member] | Mapping[str, ConsumerMember]
) -> None:
    """The members are the same clients: what explains them to others goes on with them."""
    for member_id, member in after.items():
        had = before.get(member_id)
        if had is not None:
            member.client_details = had.client_details
            member.joined_ms, member.committed_ms = had.joined_ms, had.committed_ms
            member.client_connection = had.client_connection
