"""OffsetDelete, and the deletion of committed offsets with their group or topic.

Counterpart in Kafka: `deleteOffsets`, `deleteAllOffsets` and `onPartitionsDeleted` of `OffsetMetadataManager`.
"""

from collections.abc import Container, Iterable, Mapping
from typing import Any

import msgspec

from _wire.errors import NONE, ErrorCode
from _wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponseTopic,
)
from coordinator.core.causes import Requester
from coordinator.core.decision import Decision, OperationContext, replying
from coordinator.core.event import Event
from coordinator.core.groups.group import Group
from coordinator.core.offsets.events import DeletionCause, OffsetsDeleted
from coordinator.core.offsets.records import deletion_answers, deletion_indexes
from coordinator.core.topic_partition import TopicPartition


def error_response(request: OffsetDeleteRequest, error: ErrorCode, api_version: int) -> OffsetDeleteResponse:
    return OffsetDeleteResponse(error_code=error)


def delete(group: Group[Any] | None, request: OffsetDeleteRequest, context: OperationContext) -> Decision:
    """Delete committed offsets in topics that the group does not read (KIP-496)."""
    error = _check(group, request)
    if error is not NONE or group is None:
        return replying(context, OffsetDeleteResponse(error_code=error))
    topics_read = group.kind.offsets.topics_read(group.membership)
    deleted: list[TopicPartition] = []
    unknown: dict[str, OffsetDeleteResponseTopic] = {}
    answered: list[OffsetDeleteResponseTopic] = []
    for topic in request.topics:
        count = context.topics.partition_count(topic.name)
        existing, missing = deletion_indexes(topic.partitions, count)
        if missing or not count:
            rejected = unknown.setdefault(topic.name, OffsetDeleteResponseTopic(name=topic.name))
            rejected.partitions += deletion_answers(missing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if not existing:
            continue
        verdict = NONE
        if topic.name in topics_read:
            verdict = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        else:
            deleted += (TopicPartition(topic.name, index) for index in existing)
        answered.append(OffsetDeleteResponseTopic(name=topic.name, partitions=deletion_answers(existing, verdict)))
    response = OffsetDeleteResponse(topics=_merge(unknown, answered))
    forgotten = forget(group, deleted, context.wall_ms, DeletionCause.REQUESTED, context.requester)
    return replying(context, response, *forgotten)


def _merge(
    unknown: dict[str, OffsetDeleteResponseTopic], answered: list[OffsetDeleteResponseTopic]
) -> list[OffsetDeleteResponseTopic]:
    """Only where something is unknown is a topic in the response once, as on Kafka."""
    if not unknown:
        return answered
    for topic in answered:
        existing = unknown.setdefault(topic.name, topic)
        if existing is not topic:
            existing.partitions.extend(topic.partitions)
    return list(unknown.values())


def _check(group: Group[Any] | None, request: OffsetDeleteRequest) -> ErrorCode:
    if not request.group_id:
        return ErrorCode.INVALID_GROUP_ID
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND
    return group.kind.offsets.validate_delete(group.membership)


def forget(
    group: Group[Any],
    partitions: Iterable[TopicPartition],
    at_ms: int,
    cause: DeletionCause,
    requested_by: Requester | None = None,
) -> tuple[Event, ...]:
    """The event that deletes those of `partitions` that have an offset, committed or pending."""
    forgotten = tuple(tp for tp in dict.fromkeys(partitions) if group.offsets.has_any(tp))
    if not forgotten:
        return ()
    committed = map(group.offsets.get, forgotten)
    deleted = OffsetsDeleted(
        group_id=group.group_id,
        at_ms=at_ms,
        cause=cause,
        partitions=forgotten,
        offsets=tuple(-1 if committed_offset is None else committed_offset.offset for committed_offset in committed),
        requested_by=requested_by,
    )
    return (deleted,)


def forget_all(group: Group[Any], context: OperationContext) -> tuple[Event, ...]:
    """The event that deletes all offsets of the group, before an administrator's request removes the group."""
    partitions = group.offsets.partitions_with_any()
    return forget(group, partitions, context.wall_ms, DeletionCause.GROUP_REMOVED, context.requester)


class GoneTopics(msgspec.Struct, frozen=True):
    """Topics whose committed offsets are no longer valid, even if topics of the same names were created since."""

    deleted: frozenset[str]
    existing: Container[str] | None = None
    """All topics that were there; None when only the deleted ones are gone."""

    def has(self, topic: str) -> bool:
        return topic in self.deleted or (self.existing is not None and topic not in self.existing)


def forget_topics(groups: Mapping[str, Group[Any]], gone: GoneTopics, context: OperationContext) -> Decision:
    """Delete the committed offsets, pending ones too, in topics that are gone, and what else groups keep of them.

    Groups whose members read such a topic report its deletion in the audit, even if they committed nothing in it.
    """
    events: list[Event] = []
    cause, at_ms = DeletionCause.TOPIC_DELETED, context.wall_ms
    for group in groups.values():
        forgotten = [tp for tp in group.offsets.partitions_with_any() if gone.has(tp.topic)]
        events += forget(group, forgotten, at_ms, cause)
        read = _read_without_offsets(group, gone.deleted - {tp.topic for tp in forgotten})
        if read:
            events.append(OffsetsDeleted(group_id=group.group_id, at_ms=at_ms, cause=cause, partitions=(), topics=read))
        events += group.kind.forget_topics(group.membership, gone, context)
    return Decision(tuple(events))


def _read_without_offsets(group: Group[Any], topics: frozenset[str]) -> tuple[str, ...]:
    if not topics or not group.membership.members:
        return ()
    topics_read = group.kind.offsets.topics_read(group.membership)
    return tuple(sorted(topic for topic in topics if topic in topics_read))
