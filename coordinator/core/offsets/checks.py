"""Whether offsets that are kept elsewhere may be committed, fetched or deleted: decided as here, and nothing is stored.

Counterpart in Kafka: the checks of `OffsetMetadataManager.commitOffset` and `commitTransactionalOffset`.
"""

from typing import Any, Final

import msgspec

from _wire.errors import NONE, ErrorCode
from _wire.messages.offset_commit import OffsetCommitRequest
from _wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from _wire.messages.offset_fetch import OffsetFetchRequest
from _wire.messages.txn_offset_commit import TxnOffsetCommitRequest
from coordinator.core.decision import Decision, OperationContext, Reply, replying
from coordinator.core.groups.connection_at_removal import note_refused_commit
from coordinator.core.groups.group import Group
from coordinator.core.groups.rejections import rejecting, rejection
from coordinator.core.offsets import commit as offset_commit
from coordinator.core.offsets import delete as offset_delete
from coordinator.core.offsets import fetch as offset_fetch
from coordinator.core.offsets import transactional as transactional_offsets

MAY_COMMIT: Final = object()
"""What is answered in place of a response when the commit may be done elsewhere."""
MAY_FETCH: Final = object()
"""The same for a fetch."""


def check_commit(group: Group[Any] | None, request: OffsetCommitRequest, context: OperationContext) -> Decision:
    """As `offset_commit.commit`, but for what is stored."""
    assert context.request_id is not None
    error = NONE
    if group is not None:
        error = group.kind.offsets.validate_commit(
            group.membership,
            request.member_id,
            request.group_instance_id,
            request.generation_id_or_member_epoch,
            context.api_version,
            request.topics,
            context.environment.topics,
        )
    elif request.generation_id_or_member_epoch >= 0:
        too_old = context.api_version < offset_commit.GROUP_ID_NOT_FOUND_VERSION
        error = ErrorCode.ILLEGAL_GENERATION if too_old else ErrorCode.GROUP_ID_NOT_FOUND
    if error is not NONE:
        note_refused_commit(group, request.member_id, error, context)
        replies = (Reply(context.request_id, offset_commit.request_error(request, error, context.api_version)),)
        events = () if group is None else (rejection(group, "OffsetCommit", request, error, context),)
        return Decision(events, replies, no_step_follows=True)
    return _may_commit(group, request.member_id, context)


def check_transactional_commit(
    group: Group[Any] | None, request: TxnOffsetCommitRequest, context: OperationContext
) -> Decision:
    """As `transactional_offsets.commit`, but for what is stored."""
    error = transactional_offsets.check(group, request, context)
    if error is not NONE:
        response = transactional_offsets.error_response(request, error, context.api_version)
        return rejecting(group, "TxnOffsetCommit", request, error, replying(context, response), context)
    return _may_commit(group, request.member_id, context)


def _may_commit(group: Group[Any] | None, member_id: str, context: OperationContext) -> Decision:
    assert context.request_id is not None
    renewed = () if group is None else group.kind.offsets.sessions_renewed(group.membership, member_id)
    return Decision((), (Reply(context.request_id, MAY_COMMIT),), renewed, no_step_follows=True)


def check_fetch(group: Group[Any] | None, request: OffsetFetchRequest, context: OperationContext) -> Decision:
    """As `offset_fetch.fetch`, but for what is fetched."""
    (asked,) = request.groups
    error = NONE
    if group is not None:
        error = group.kind.offsets.validate_fetch(group.membership, asked.member_id, asked.member_epoch)
    if error is not NONE:
        return replying(context, offset_fetch.error_response(request, error, context.api_version))
    return replying(context, MAY_FETCH)


class MayDelete(msgspec.Struct, frozen=True):
    """What of an OffsetDelete may be done elsewhere, and the answers for the rest."""

    request: OffsetDeleteRequest
    rejected: list[OffsetDeleteResponseTopic]


def check_delete(group: Group[Any] | None, request: OffsetDeleteRequest, context: OperationContext) -> Decision:
    """As `offset_delete.delete`; a group that has no members here is for others to judge."""
    if group is None:
        return replying(context, MayDelete(request, []))
    error = group.kind.offsets.validate_delete(group.membership)
    if error is not NONE:
        return replying(context, offset_delete.error_response(request, error, context.api_version))
    topics_read = group.kind.offsets.topics_read(group.membership)
    rejected = [
        OffsetDeleteResponseTopic(
            name=topic.name,
            partitions=[
                OffsetDeleteResponsePartition(
                    partition_index=partition.partition_index, error_code=ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
                )
                for partition in topic.partitions
            ],
        )
        for topic in request.topics
        if topic.name in topics_read
    ]
    allowed = [topic for topic in request.topics if topic.name not in topics_read]
    return replying(context, MayDelete(OffsetDeleteRequest(group_id=request.group_id, topics=allowed), rejected))
