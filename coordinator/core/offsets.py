"""Committed offsets: taken, fetched, deleted."""

from collections.abc import Callable, Iterable

from _wire.errors import NONE, ErrorCode
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from _wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from _wire.messages.offset_fetch import OffsetFetchResponsePartitions
from coordinator.config import INT64_MAX, OFFSET_METADATA_MAX_BYTES, Config
from coordinator.core.decision import Decision, OperationContext, Reply
from coordinator.core.events import Event, GroupCreated, OffsetsCommitted, OffsetsDeleted
from coordinator.core.group import CONSUMER_PROTOCOL_TYPE, NO_MEMBER_ID, Group, TopicPartition
from coordinator.core.members import check_member
from coordinator.core.offset_records import accept_offsets, find_offsets
from coordinator.core.states import COMPLETING_REBALANCE, DEAD, EMPTY
from coordinator.core.subscriptions import is_subscribed, subscribed_topics

NO_OFFSET = -1
NO_RETENTION_TIME = -1
GROUP_ID_NOT_FOUND_VERSION = 9
"""From this version on a commit of a generation to an unknown group says so (KIP-848)."""


def commit(
    group: Group, request: OffsetCommitRequest, context: OperationContext, now_ms: int, config: Config
) -> Decision:
    """Take the positions of a member, or of a consumer that manages its partitions itself (generation -1).

    Topics are taken as known: whether they exist was asked before, where metadata is at hand. A partition whose
    metadata text is too long is refused by itself.
    """
    error = check_commit(group, request, context.api_version)
    if error is not NONE:
        return Decision(replies=(Reply(context.request_id, refuse(request, error)),))
    expire_ms = _expire_timestamp_ms(request.retention_time_ms, now_ms)
    taken, answered = accept_offsets(request.topics, now_ms, expire_ms, config[OFFSET_METADATA_MAX_BYTES])
    reply = Reply(context.request_id, OffsetCommitResponse(topics=answered))
    renewed = (request.member_id,) if request.member_id in group.members else ()
    if not taken:
        # A commit of which nothing is taken makes no group.
        return Decision((), (reply,), renewed)
    committed = OffsetsCommitted(group.group_id, now_ms, taken)
    events = (committed,) if group.exists else (GroupCreated(group.group_id, now_ms), committed)
    return Decision(events, (reply,), renewed)


def _expire_timestamp_ms(retention_time_ms: int, now_ms: int) -> int | None:
    """When the offsets of a commit expire by its own retention time (v2 to v4); None when it has none (-1)."""
    if retention_time_ms == NO_RETENTION_TIME:
        return None
    return min(max(now_ms + retention_time_ms, 0), INT64_MAX)


def check_commit(group: Group, request: OffsetCommitRequest, api_version: int) -> ErrorCode:
    """Whether the commit is from where it says; the order of the checks is Kafka's."""
    if group.state is DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if not group.exists:
        if request.generation_id_or_member_epoch < 0:
            return NONE
        too_old = api_version < GROUP_ID_NOT_FOUND_VERSION
        return ErrorCode.ILLEGAL_GENERATION if too_old else ErrorCode.GROUP_ID_NOT_FOUND
    if request.generation_id_or_member_epoch < 0 and group.state is EMPTY:
        return NONE
    names_member = request.member_id != NO_MEMBER_ID or request.group_instance_id is not None
    if request.generation_id_or_member_epoch < 0 and not names_member:
        return ErrorCode.UNKNOWN_MEMBER_ID
    error = check_member(group, request.member_id, request.group_instance_id)
    if error is not NONE:
        return error
    if request.generation_id_or_member_epoch != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    if group.state is COMPLETING_REBALANCE:
        # The member knows the generation, so it does work; it may come again when it has its assignment.
        return ErrorCode.REBALANCE_IN_PROGRESS
    return NONE


def refuse(request: OffsetCommitRequest, error: ErrorCode) -> OffsetCommitResponse:
    """The same error for every partition of a commit."""
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=error)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def delete(group: Group, request: OffsetDeleteRequest, context: OperationContext, now_ms: int) -> Decision:
    """Forget positions of topics that the group does not read (KIP-496); which topics exist was asked before."""
    error = _check_delete(group)
    if error is not NONE:
        return Decision(replies=(Reply(context.request_id, OffsetDeleteResponse(error_code=error)),))
    topics = subscribed_topics(group)
    deleted: list[TopicPartition] = []
    response = OffsetDeleteResponse()
    for topic in request.topics:
        verdict = NONE
        if is_subscribed(group, topics, topic.name):
            verdict = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        else:
            deleted += (TopicPartition(topic.name, each.partition_index) for each in topic.partitions)
        answers = [
            OffsetDeleteResponsePartition(partition_index=each.partition_index, error_code=verdict)
            for each in topic.partitions
        ]
        response.topics.append(OffsetDeleteResponseTopic(name=topic.name, partitions=answers))
    return Decision(forget(group, deleted, now_ms), (Reply(context.request_id, response),))


def _check_delete(group: Group) -> ErrorCode:
    if not group.group_id:
        return ErrorCode.INVALID_GROUP_ID
    if not group.exists or group.state is DEAD:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if group.state is not EMPTY and group.protocol_type != CONSUMER_PROTOCOL_TYPE:
        return ErrorCode.NON_EMPTY_GROUP
    return NONE


def forget(group: Group, partitions: Iterable[TopicPartition], now_ms: int) -> tuple[Event, ...]:
    """The event that forgets those of `partitions` that have a position, committed or held back."""
    known = tuple(
        where
        for where in dict.fromkeys(partitions)
        if group.committed_offset(where) is not None or group.has_pending_offset(where)
    )
    return (OffsetsDeleted(group.group_id, now_ms, known),) if known else ()


def forget_all(group: Group, now_ms: int) -> tuple[Event, ...]:
    """The event that forgets all of the group's positions, before the group goes."""
    return forget(group, _all_positions(group), now_ms)


def forget_topics(group: Group, is_gone: Callable[[str], bool], now_ms: int) -> tuple[Event, ...]:
    """The event that forgets the committed offsets, pending ones too, in topics that are gone."""
    gone = [
        TopicPartition(topic, index)
        for topic, partitions in group.offsets.items()
        if is_gone(topic)
        for index in partitions
    ]
    gone += [where for _, where in group.pending_offsets if is_gone(where.topic)]
    return forget(group, gone, now_ms)


def _all_positions(group: Group) -> list[TopicPartition]:
    committed = [TopicPartition(topic, index) for topic, partitions in group.offsets.items() for index in partitions]
    return committed + [where for _, where in group.pending_offsets]


def fetch(
    group: Group, topic: str, partitions: list[int] | None, require_stable: bool
) -> list[OffsetFetchResponsePartitions]:
    """The committed position of each partition of a topic, -1 where there is none; of all that have one when None.

    `require_stable` (KIP-447): UNSTABLE_OFFSET_COMMIT for a partition that an open transaction has a position for.
    """
    known = group.offsets.get(topic, {})
    found = find_offsets(known, known if partitions is None else partitions)
    if require_stable and group.pending_offsets:
        for answer in found:
            if group.has_pending_offset(TopicPartition(topic, answer.partition_index)):
                answer.committed_offset = answer.committed_leader_epoch = NO_OFFSET
                answer.metadata, answer.error_code = "", ErrorCode.UNSTABLE_OFFSET_COMMIT
    return found
