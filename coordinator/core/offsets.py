"""Committed offsets: taken, fetched, deleted."""

from collections.abc import Iterable

from _wire.errors import ErrorCode
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from coordinator.config import OFFSET_METADATA_MAX_BYTES, Config
from coordinator.core.decision import Decision, Reply, RequestContext
from coordinator.core.events import Event, GroupCreated, OffsetsCommitted, OffsetsDeleted
from coordinator.core.group import NO_MEMBER_ID, CommittedOffset, Group, TopicPartition
from coordinator.core.members import check_member
from coordinator.core.states import GroupState

GROUP_ID_NOT_FOUND_VERSION = 9
"""From this version on a commit of a generation to an unknown group says so (KIP-848)."""


def commit(
    group: Group, request: OffsetCommitRequest, context: RequestContext, now_ms: int, config: Config
) -> Decision:
    """Take the positions of a member, or of a consumer that manages its partitions itself (generation -1).

    Topics are taken as known: whether they exist was asked before, where metadata is at hand. A partition whose
    metadata text is too long is refused by itself.
    """
    error = check_commit(group, request, context.api_version)
    if error is not ErrorCode.NONE:
        return Decision(replies=(Reply(context.request_id, refuse(request, error)),))
    longest = config[OFFSET_METADATA_MAX_BYTES]
    expire_ms = None if request.retention_time_ms < 0 else now_ms + request.retention_time_ms
    taken: dict[TopicPartition, CommittedOffset] = {}
    response = OffsetCommitResponse()
    for topic in request.topics:
        answers = []
        for partition in topic.partitions:
            verdict = ErrorCode.NONE
            if _is_too_long(partition.committed_metadata, longest):
                verdict = ErrorCode.OFFSET_METADATA_TOO_LARGE
            else:
                where = TopicPartition(topic.name, partition.partition_index)
                taken[where] = _committed(partition, now_ms, expire_ms)
            answers.append(OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=verdict))
        response.topics.append(OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=answers))
    events: list[Event] = [] if group.exists else [GroupCreated(group.group_id, now_ms)]
    if taken:
        events.append(OffsetsCommitted(group.group_id, now_ms, taken))
    renewed = (request.member_id,) if request.member_id in group.members else ()
    return Decision(tuple(events), (Reply(context.request_id, response),), renewed)


def _is_too_long(metadata: str | None, longest_bytes: int) -> bool:
    return metadata is not None and len(metadata.encode()) > longest_bytes


def _committed(partition: OffsetCommitRequestPartition, now_ms: int, expire_ms: int | None) -> CommittedOffset:
    return CommittedOffset(
        partition.committed_offset,
        partition.committed_leader_epoch,
        partition.committed_metadata or "",
        now_ms if partition.commit_timestamp < 0 else partition.commit_timestamp,
        expire_ms,
    )


def check_commit(group: Group, request: OffsetCommitRequest, api_version: int) -> ErrorCode:
    """Whether the commit is from where it says; the order of the checks is Kafka's."""
    if group.state is GroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if not group.exists:
        if request.generation_id_or_member_epoch < 0:
            return ErrorCode.NONE
        too_old = api_version < GROUP_ID_NOT_FOUND_VERSION
        return ErrorCode.ILLEGAL_GENERATION if too_old else ErrorCode.GROUP_ID_NOT_FOUND
    if request.generation_id_or_member_epoch < 0 and group.state is GroupState.EMPTY:
        return ErrorCode.NONE
    names_member = request.member_id != NO_MEMBER_ID or request.group_instance_id is not None
    if request.generation_id_or_member_epoch < 0 and not names_member:
        return ErrorCode.UNKNOWN_MEMBER_ID
    error = check_member(group, request.member_id, request.group_instance_id)
    if error is not ErrorCode.NONE:
        return error
    if request.generation_id_or_member_epoch != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    if group.state is GroupState.COMPLETING_REBALANCE:
        # The member knows the generation, so it does work; it may come again when it has its assignment.
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


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


def delete(group: Group, partitions: Iterable[TopicPartition], now_ms: int) -> tuple[Event, ...]:
    """The event that forgets those of `partitions` that have a committed offset."""
    known = tuple(partition for partition in partitions if partition in group.offsets)
    return (OffsetsDeleted(group.group_id, now_ms, known),) if known else ()


def fetch(
    group: Group, partitions: Iterable[TopicPartition] | None
) -> list[tuple[TopicPartition, CommittedOffset | None]]:
    """The committed offset of each partition, None where there is none; of all that have one when None is asked."""
    wanted = tuple(group.offsets) if partitions is None else partitions
    return [(partition, group.offsets.get(partition)) for partition in wanted]
