"""Which member a ConsumerGroupHeartbeat comes from, and whether it may send it.

Counterpart in Kafka: `getOrMaybeSubscribeDynamicConsumerGroupMember`, `…StaticConsumerGroupMember` and the `throwIf…`
methods that they call.
"""

from typing import Final, final

import msgspec

from _wire.errors import ErrorCode
from _wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.consumer.heartbeat_requests import Rejection
from coordinator.core.consumer.member import LEAVE_STATIC_EPOCH, NO_EPOCH, ConsumerMember
from coordinator.core.consumer.topic_partitions import is_subset

REJOIN: Final = "The member must abandon all its partitions and rejoin."


@final
class Existing(msgspec.Struct, frozen=True):
    """The sender is a member of the group."""

    member: ConsumerMember


@final
class Joins(msgspec.Struct, frozen=True):
    """The sender is new in the group."""


class Replaces(msgspec.Struct, frozen=True):
    """The sender takes the place of a static member, whose client left for a moment, or is of the classic protocol."""

    member: ConsumerMember


@final
class Displaces(Replaces, frozen=True):
    """The same, and the sender was another member of the group, which it is no more."""

    displaced: ConsumerMember


JOINS: Final = Joins()
Identified = Existing | Joins | Replaces | Displaces
"""Who sends a request that does not leave."""


def existing_or_new(group: ConsumerGroup, member_id: str) -> Existing | Joins:
    member = group.members.get(member_id)
    return JOINS if member is None else Existing(member)


def replacing(group: ConsumerGroup, member_id: str, holder: ConsumerMember) -> Replaces:
    """The sender with this member id, which may have been that of the `holder` or of another member, replaces it."""
    displaced = group.members.get(member_id)
    return Replaces(holder) if displaced is None or displaced is holder else Displaces(holder, displaced)


def identify(group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, member_id: str) -> Identified | Rejection:
    """The member behind a heartbeat that does not leave."""
    if request.instance_id is not None:
        return _identify_static(group, request, member_id, request.instance_id)
    member = group.members.get(member_id)
    if request.member_epoch == NO_EPOCH:
        return JOINS if member is None else Existing(member)
    if member is None:
        return unknown_member(group.group_id, member_id)
    if request.member_epoch == member.current.epoch:
        return Existing(member)
    return _check_epoch(member, request) or Existing(member)


def _identify_static(
    group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, member_id: str, instance_id: str
) -> Identified | Rejection:
    holder = static_member(group, instance_id)
    if request.member_epoch == NO_EPOCH:
        if holder is None:
            return existing_or_new(group, member_id)
        if holder.current.epoch != LEAVE_STATIC_EPOCH and not holder.is_classic:
            message = f"The instance id is owned by member {holder.member_id}."
            return Rejection(ErrorCode.UNRELEASED_INSTANCE_ID, message)
        return replacing(group, member_id, holder)
    if holder is None:
        return unknown_instance(instance_id)
    if holder.member_id != member_id:
        return fenced_instance(holder.member_id)
    return _check_epoch(holder, request) or Existing(holder)


def static_member(group: ConsumerGroup, instance_id: str) -> ConsumerMember | None:
    holder_id = group.static_members.get(instance_id)
    return None if holder_id is None else group.members[holder_id]


def unknown_member(group_id: str, member_id: str) -> Rejection:
    return Rejection(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group_id}.")


def unknown_instance(instance_id: str) -> Rejection:
    return Rejection(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")


def fenced_instance(holder_id: str) -> Rejection:
    return Rejection(ErrorCode.FENCED_INSTANCE_ID, f"The instance id is that of member {holder_id}.")


def _check_epoch(member: ConsumerMember, request: ConsumerGroupHeartbeatRequest) -> Rejection | None:
    """A member whose last answer was lost may repeat its request: with its previous epoch and no other partitions."""
    epoch, current = request.member_epoch, member.current
    if epoch == current.epoch:
        return None
    if epoch > current.epoch:
        message = f"The member has a greater member epoch ({epoch}) than the coordinator ({current.epoch}). {REJOIN}"
        return Rejection(ErrorCode.FENCED_MEMBER_EPOCH, message)
    owned = request.topic_partitions
    if epoch == current.previous_epoch and owned is not None and is_subset(owned, current.assigned):
        return None
    message = f"The member has a smaller member epoch ({epoch}) than the coordinator ({current.epoch}). {REJOIN}"
    return Rejection(ErrorCode.FENCED_MEMBER_EPOCH, message)
