"""The states of a share group without members are deleted: with the group, or those of some topics (KIP-932).

First the group says which states are being deleted, then the share coordinator deletes them, then the group forgets
them. What is interrupted can be asked for again. Counterpart in Kafka: `shareGroupBuildPartitionDeleteRequest`,
`sharePartitionsEligibleForOffsetDeletion` and `completeDeleteShareGroupOffsets` of `GroupMetadataManager`.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from _wire.errors import NONE, ErrorCode
from coordinator.core.consumer.assignors.orders import topics_in_order
from coordinator.core.decision import Decision, OperationContext, replying
from coordinator.core.groups.group import Group
from coordinator.core.groups.states import EMPTY
from coordinator.core.share.events import ShareStatesDeleted, ShareStatesDeleting
from coordinator.core.share.group import ShareGroup
from coordinator.core.share.state_topics import StatePartitions, StateTopic, StateTopics, with_topics

PARTITIONS_PER_OPERATION: Final = 100
"""To look at so many partitions takes as long as another operation."""


class BeginDeletion(msgspec.Struct, frozen=True):
    """Which states: those of these topics (topic id → name), or all of the group."""

    topics: Mapping[bytes, str] | None = None


class BegunDeletion(NamedTuple):
    """What the share coordinator is to delete, or why nothing is to be deleted."""

    error: ErrorCode = NONE
    topics: Mapping[bytes, StateTopic] = {}


class EndDeletion(msgspec.Struct, frozen=True):
    """The topics whose states are deleted."""

    topic_ids: tuple[bytes, ...]


def begin_error(request: BeginDeletion, error: ErrorCode, api_version: int) -> BegunDeletion:
    return BegunDeletion(error)


def end_error(request: EndDeletion, error: ErrorCode, api_version: int) -> ErrorCode:
    return error


def begin_deletion(group: Group[ShareGroup] | None, request: BeginDeletion, context: OperationContext) -> Decision:
    """Say which states are being deleted. Nothing is to be done for a topic that the group has no state of."""
    if group is None:
        return replying(context, BegunDeletion(ErrorCode.GROUP_ID_NOT_FOUND))
    share = group.membership
    if share.state is not EMPTY:
        return replying(context, BegunDeletion(ErrorCode.NON_EMPTY_GROUP))
    if not share.has_stored_states:
        return replying(context, BegunDeletion())
    states = share.states
    if request.topics is None:
        found = with_topics(states.initialized, states.initializing)
        found = with_topics(found, _being_deleted(states, states.deleting, context))
        after = StatePartitions(deleting=_names_in_order(found))
    else:
        existing = states.initialized
        found = {topic_id: existing[topic_id] for topic_id in request.topics if topic_id in existing}
        initialized = {topic_id: topic for topic_id, topic in existing.items() if topic_id not in found}
        after = msgspec.structs.replace(
            states,
            initialized=initialized,
            deleting=_names_in_order({**_named(states.deleting), **found}),
        )
        asked = {topic_id: name for topic_id, name in request.topics.items() if topic_id not in found}
        found |= _being_deleted(states, asked, context)
    event = ShareStatesDeleting(group_id=group.group_id, at_ms=context.wall_ms, states=after, topics=found)
    weight = sum(len(topic.partitions) for topic in found.values()) // PARTITIONS_PER_OPERATION
    return replying(context, BegunDeletion(NONE, found), event, weight=weight)


def end_deletion(group: Group[ShareGroup] | None, request: EndDeletion, context: OperationContext) -> Decision:
    """The share coordinator has deleted the states of these topics."""
    if group is None or not group.membership.has_stored_states:
        return replying(context, NONE)
    states = group.membership.states
    left = {topic_id: name for topic_id, name in states.deleting.items() if topic_id not in request.topic_ids}
    after = msgspec.structs.replace(states, deleting=left)
    event = ShareStatesDeleted(group_id=group.group_id, at_ms=context.wall_ms, states=after)
    return replying(context, NONE, event)


def no_other_kind(group: Group[Any], request: BeginDeletion, context: OperationContext) -> Decision:
    return replying(context, BegunDeletion(ErrorCode.GROUP_ID_NOT_FOUND))


def _being_deleted(
    states: StatePartitions, topics: Mapping[bytes, str], context: OperationContext
) -> dict[bytes, StateTopic]:
    """All partitions of those topics whose states were being deleted before: that may have been interrupted."""
    found = {}
    for topic_id, name in topics.items():
        if topic_id in states.deleting and context.topics.topic_id(name) == topic_id:
            found[topic_id] = StateTopic(name, tuple(range(context.topics.partition_count(name))))
    return found


def _named(deleting: Mapping[bytes, str]) -> StateTopics:
    return {topic_id: StateTopic(name, ()) for topic_id, name in deleting.items()}


def _names_in_order(topics: StateTopics) -> dict[bytes, str]:
    return {topic_id: topics[topic_id].name for topic_id in topics_in_order(topics)}
