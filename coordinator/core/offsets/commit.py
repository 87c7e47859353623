"""OffsetCommit: offsets of a member, or of a consumer that assigns itself its partitions.

Counterpart in Kafka: `OffsetMetadataManager.commitOffset`, and `KafkaApis.handleOffsetCommitRequest` for the topics
that exist.
"""

from collections.abc import Generator, Iterable
from typing import Any, Final

import msgspec

from _wire.errors import NONE, ErrorCode
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from coordinator.config.group_keys import OFFSET_METADATA_MAX_BYTES
from coordinator.config.key import INT64_MAX
from coordinator.core.decision import Decision, OperationContext, Reply
from coordinator.core.error_responses import TOPICS_AT_ONCE, ErrorForEachPartition
from coordinator.core.event import Event
from coordinator.core.groups.connection_at_removal import note_refused_commit
from coordinator.core.groups.events import GroupCreated
from coordinator.core.groups.group import Group
from coordinator.core.groups.rejections import rejection
from coordinator.core.groups.states import EMPTY
from coordinator.core.offsets.events import OffsetsCommitted, OffsetsReset
from coordinator.core.offsets.records import (
    CommittedOffset,
    accept_offsets,
    are_partitions,
    split_partitions,
)
from coordinator.core.operation import Answer

NO_RETENTION_TIME: Final = -1
GROUP_ID_NOT_FOUND_VERSION: Final = 9
"""From this version on a commit of a generation to an unknown group says so (KIP-848)."""
TOPIC_ID_VERSION: Final = 10
"""From this version on topics are named by id alone (KIP-848)."""
ZOOKEEPER_VERSION: Final = 0
"""Version 0 stored offsets in ZooKeeper. Kafka 3.9 without ZooKeeper lists it and answers UNSUPPORTED_VERSION."""


class ExistingTopics(msgspec.Struct):
    """An OffsetCommit, the partitions of it that exist, and the answers for the others."""

    request: OffsetCommitRequest
    topics: list[OffsetCommitRequestTopic]
    rejected: list[OffsetCommitResponseTopic]


def prepare(
    request: OffsetCommitRequest, context: OperationContext
) -> ExistingTopics | Answer | Generator[None, None, ExistingTopics | Answer]:
    """Reject partitions that do not exist; a commit of nothing else is answered without its group."""
    if context.api_version == ZOOKEEPER_VERSION:
        return Answer(request_error(request, ErrorCode.UNSUPPORTED_VERSION, context.api_version))
    if len(request.topics) > TOPICS_AT_ONCE:
        return _prepare_in_steps(request, context)
    checked = ExistingTopics(request, [], [])
    rejected: dict[object, OffsetCommitResponseTopic] = {}
    _split_existing(request.topics, context, checked.topics, rejected)
    if rejected:
        return _prepared(checked, rejected)
    return checked if checked.topics else Answer(OffsetCommitResponse())


def _prepare_in_steps(
    request: OffsetCommitRequest, context: OperationContext
) -> Generator[None, None, ExistingTopics | Answer]:
    checked = ExistingTopics(request, [], [])
    rejected: dict[object, OffsetCommitResponseTopic] = {}
    for first in range(0, len(request.topics), TOPICS_AT_ONCE):
        _split_existing(request.topics[first : first + TOPICS_AT_ONCE], context, checked.topics, rejected)
        yield
    return _prepared(checked, rejected)


def _prepared(checked: ExistingTopics, rejected: dict[object, OffsetCommitResponseTopic]) -> ExistingTopics | Answer:
    checked.rejected = list(rejected.values())
    return checked if checked.topics else Answer(OffsetCommitResponse(topics=checked.rejected))


def error_response(prepared: ExistingTopics, error: ErrorCode, api_version: int) -> OffsetCommitResponse:
    response: OffsetCommitResponse = request_error(prepared, error, api_version)
    return _with_rejected(response, prepared.rejected) if prepared.rejected else response


def _rejected(index: int, error: ErrorCode) -> OffsetCommitResponsePartition:
    return OffsetCommitResponsePartition(partition_index=index, error_code=error)


request_error: Final = ErrorForEachPartition(OffsetCommitResponse, OffsetCommitResponseTopic, _rejected)
"""The response for a commit that was not prepared."""


def commit(group: Group[Any] | None, prepared: ExistingTopics, context: OperationContext) -> Decision:
    """A partition whose metadata text is too long is rejected by itself."""
    request, at_ms = prepared.request, context.wall_ms
    assert context.request_id is not None
    if group is None:
        error = _check_without_group(request, context)
    else:
        error = group.kind.offsets.validate_commit(
            group.membership,
            request.member_id,
            request.group_instance_id,
            request.generation_id_or_member_epoch,
            context.api_version,
            prepared.topics,
            context.environment.topics,
        )
    if error is not NONE:
        rejected = (Reply(context.request_id, error_response(prepared, error, context.api_version)),)
        note_refused_commit(group, request.member_id, error, context)
        # Also when a rebalance rejects it, which is part of the protocol: it is counted as what the rebalance cost.
        reported = () if group is None else (rejection(group, "OffsetCommit", request, error, context),)
        return Decision(reported, rejected, no_step_follows=True)
    retention_ms = request.retention_time_ms
    expire_ms = None if retention_ms == NO_RETENTION_TIME else _expire_timestamp_ms(retention_ms, at_ms)
    by_topic = {} if group is None else group.offsets.by_topic
    accepted, answered, goes_back = accept_offsets(
        prepared.topics,
        at_ms,
        expire_ms,
        context.config[OFFSET_METADATA_MAX_BYTES],
        by_topic,
        context.environment.topics.topic_id,
    )
    response = OffsetCommitResponse(topics=answered)
    if prepared.rejected:
        response = _with_rejected(response, prepared.rejected)
    replies = (Reply(context.request_id, response),)
    if group is not None:
        sessions = group.kind.offsets.sessions_renewed(group.membership, request.member_id)
        events: tuple[Event, ...] = ()
        if accepted:
            events = (
                OffsetsCommitted(group_id=group.group_id, at_ms=at_ms, offsets=accepted, member_id=request.member_id),
            )
            if group.membership.state is EMPTY and group.membership.generation_id:
                events = (_reset(group, accepted, context), *events)
            elif goes_back and (back := _moved_back(group, accepted, request.member_id, context)) is not None:
                events = (back, *events)
        return Decision(events, replies, sessions, no_step_follows=True)
    if not accepted:
        # A commit of which nothing is accepted creates no group.
        return Decision((), replies)
    group_id = request.group_id
    created = GroupCreated(group_id=group_id, at_ms=at_ms, client_host=context.client_host)
    return Decision((created, OffsetsCommitted(group_id=group_id, at_ms=at_ms, offsets=accepted)), replies)


def _reset(
    group: Group[Any], accepted: dict[str, dict[int, CommittedOffset]], context: OperationContext
) -> OffsetsReset:
    """What a commit to a group without members replaces: an administrator resets its offsets."""
    partitions: dict[str, list[list[int]]] = {}
    for topic, offsets in accepted.items():
        existing = group.offsets.by_topic.get(topic, {})
        partitions[topic] = [
            [index, existing[index].offset if index in existing else -1, offset.offset]
            for index, offset in offsets.items()
        ]
    return OffsetsReset(
        group_id=group.group_id, at_ms=context.wall_ms, requested_by=context.requester, partitions=partitions
    )


def _moved_back(
    group: Group[Any], accepted: dict[str, dict[int, CommittedOffset]], member_id: str, context: OperationContext
) -> OffsetsReset | None:
    """What a commit of smaller offsets replaces: of a member, or of a client of a group that never had members.

    None if of several offsets for one partition only those before the last one are smaller.
    """
    partitions: dict[str, list[list[int]]] = {}
    for topic, offsets in accepted.items():
        existing = group.offsets.by_topic.get(topic, {})
        back = [
            [index, existing[index].offset, offset.offset]
            for index, offset in offsets.items()
            if index in existing and offset.offset < existing[index].offset
        ]
        if back:
            partitions[topic] = back
    if not partitions:
        return None
    return OffsetsReset(
        group_id=group.group_id,
        at_ms=context.wall_ms,
        requested_by=context.requester,
        partitions=partitions,
        is_back_alone=True,
        member_id=member_id if member_id in group.membership.members else "",
    )


def _check_without_group(request: OffsetCommitRequest, context: OperationContext) -> ErrorCode:
    """A commit of no generation creates its group."""
    if request.generation_id_or_member_epoch >= 0:
        too_old = context.api_version < GROUP_ID_NOT_FOUND_VERSION
        return ErrorCode.ILLEGAL_GENERATION if too_old else ErrorCode.GROUP_ID_NOT_FOUND
    return NONE if context.environment.may_create_group(context.client_host) else ErrorCode.POLICY_VIOLATION


def _expire_timestamp_ms(retention_time_ms: int, committed_ms: int) -> int:
    """When the offsets of a commit expire by its own retention time (v2 to v4)."""
    return min(max(committed_ms + retention_time_ms, 0), INT64_MAX)


def _split_existing(
    requested: list[OffsetCommitRequestTopic],
    context: OperationContext,
    checked: list[OffsetCommitRequestTopic],
    rejected: dict[object, OffsetCommitResponseTopic],
) -> None:
    """Add the partitions that exist, and the answers for the others: a topic has one entry among these.

    An unknown topic has its entry even without partitions; a known one without partitions is left out.
    """
    topics, by_id = context.topics, context.api_version >= TOPIC_ID_VERSION
    for topic in requested:
        if by_id:
            topic.name = topics.topic_name(topic.topic_id) or ""
        count = topics.partition_count(topic.name) if topic.name else 0
        if count and are_partitions(topic.partitions, count):
            if topic.partitions:
                checked.append(topic)
            continue
        is_unknown_id = by_id and not topic.name
        error = ErrorCode.UNKNOWN_TOPIC_ID if is_unknown_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        existing, missing = split_partitions(topic.partitions, count, error)
        _add_topics(rejected, [OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=missing)])
        if existing:
            checked.append(OffsetCommitRequestTopic(name=topic.name, topic_id=topic.topic_id, partitions=existing))


def _add_topics(
    responses: dict[object, OffsetCommitResponseTopic], topics: Iterable[OffsetCommitResponseTopic]
) -> None:
    """A topic is in a response once, by its name or, if its id is unknown, by the id."""
    for topic in topics:
        existing = responses.setdefault((topic.name, topic.topic_id), topic)
        if existing is not topic:
            existing.partitions.extend(topic.partitions)


def _with_rejected(response: OffsetCommitResponse, rejected: list[OffsetCommitResponseTopic]) -> OffsetCommitResponse:
    """What was rejected before the group was asked comes first; only then are topics merged, as on Kafka."""
    topics: dict[object, OffsetCommitResponseTopic] = {}
    _add_topics(topics, rejected)
    _add_topics(topics, response.topics)
    return OffsetCommitResponse(topics=list(topics.values()))
