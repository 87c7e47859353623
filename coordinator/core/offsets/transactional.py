"""Offsets committed inside a transaction: pending until the transaction completes (KIP-98, KIP-447).

Counterpart in Kafka: `OffsetMetadataManager.commitTransactionalOffset`, `replayEndTransactionMarker`.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from _wire.errors import NONE, ErrorCode
from _wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from coordinator.config.group_keys import GROUP_MAX_PENDING_OFFSETS, OFFSET_METADATA_MAX_BYTES
from coordinator.core.decision import Decision, OperationContext, Reply, replying
from coordinator.core.error_responses import ErrorForEachPartition
from coordinator.core.event import Event
from coordinator.core.groups.events import GroupCreated
from coordinator.core.groups.group import Group
from coordinator.core.groups.rejections import rejecting
from coordinator.core.offsets.events import OffsetsReset, TransactionalOffsetsCommitted, TransactionCompleted
from coordinator.core.offsets.records import CommittedOffset, accept_transactional_offsets
from coordinator.core.stored import Producer, TransactionMarker

KNOWS_ABORTABLE_VERSION: Final = 4
"""The first version of TxnOffsetCommit whose clients know TRANSACTION_ABORTABLE (KIP-890)."""
OFFSETS_AT_ONCE: Final = 4_000
"""Pending offsets of a transaction that are completed before other work of the event loop has its turn: 5 ms."""
OFFSETS_PER_GROUP: Final = 20
"""To complete a transaction in a group takes as long as so many of its offsets."""
OFFSETS_PER_OPERATION: Final = 20
"""So many pending offsets take as long as a usual operation."""


def commit(group: Group[Any] | None, request: TxnOffsetCommitRequest, context: OperationContext) -> Decision:
    """Keep the offsets of a producer's transaction pending."""
    error = check(group, request, context)
    if group is None and error is NONE and not context.environment.may_create_group(context.client_host):
        error = ErrorCode.POLICY_VIOLATION
    if error is not NONE:
        decision = replying(context, error_response(request, error, context.api_version))
        return rejecting(group, "TxnOffsetCommit", request, error, decision, context)
    at_ms = context.wall_ms
    accepted, answers = accept_transactional_offsets(request.topics, at_ms, context.config[OFFSET_METADATA_MAX_BYTES])
    if accepted and _is_too_much(group, request.producer_id, accepted, context.config[GROUP_MAX_PENDING_OFFSETS]):
        return replying(context, error_response(request, _too_much_error(context.api_version), context.api_version))
    response = TxnOffsetCommitResponse(topics=answers)
    renewed = () if group is None else group.kind.offsets.sessions_renewed(group.membership, request.member_id)
    if not accepted:
        # As in `commit.py`, a commit of which nothing is accepted creates no group.
        return replying(context, response, effects=renewed)
    events: list[Event] = []
    if group is None:
        events.append(GroupCreated(group_id=request.group_id, at_ms=at_ms, client_host=context.client_host))
    producer = Producer(request.producer_id, request.producer_epoch)
    events.append(
        TransactionalOffsetsCommitted(
            group_id=request.group_id,
            at_ms=at_ms,
            producer=producer,
            offsets=accepted,
            member_id=request.member_id,
            requested_by=context.requester,
        )
    )
    weight = sum(map(len, accepted.values())) // OFFSETS_PER_OPERATION
    return replying(context, response, *events, effects=renewed, weight=weight)


def _is_too_much(
    group: Group[Any] | None, producer_id: int, accepted: Mapping[str, Mapping[int, CommittedOffset]], offsets_max: int
) -> bool:
    """Whether the group would have more pending offsets than `group.max.pending.offsets`."""
    pending = None if group is None else group.offsets.pending
    added = sum(map(len, accepted.values()))
    if pending is None or pending.count + added <= offsets_max:
        return added > offsets_max
    return pending.count_with(producer_id, accepted) > offsets_max


def _too_much_error(api_version: int) -> ErrorCode:
    """Once its transaction, or another one, has ended, the producer may commit again."""
    return ErrorCode.TRANSACTION_ABORTABLE if api_version >= KNOWS_ABORTABLE_VERSION else ErrorCode.POLICY_VIOLATION


def check(group: Group[Any] | None, request: TxnOffsetCommitRequest, context: OperationContext) -> ErrorCode:
    """Whether the commit comes from a member of the generation."""
    if group is None:
        return NONE if request.generation_id < 0 else ErrorCode.ILLEGAL_GENERATION
    return group.kind.offsets.validate_transactional_commit(
        group.membership,
        request.member_id,
        request.group_instance_id,
        request.generation_id,
        request.topics,
        context.topics,
    )


def _answered(index: int, error: ErrorCode) -> TxnOffsetCommitResponsePartition:
    return TxnOffsetCommitResponsePartition(partition_index=index, error_code=error)


error_response: Final = ErrorForEachPartition(TxnOffsetCommitResponse, TxnOffsetCommitResponseTopic, _answered)


def complete(groups: Mapping[str, Group[Any]], marker: TransactionMarker, context: OperationContext) -> Decision:
    """A transaction was committed or aborted; `groups` are those that have offsets of it pending.

    Very many offsets take several decisions; the last one stores the marker.
    """
    producer_id, left = marker.producer.producer_id, OFFSETS_AT_ONCE
    events: list[Event] = []
    for group in groups.values():
        if left <= 0:
            return Decision(tuple(events), is_partial=True)
        count = group.offsets.pending_of(producer_id)
        completed = TransactionCompleted(
            group_id=group.group_id,
            at_ms=context.wall_ms,
            producer=marker.producer,
            committed=marker.committed,
            offsets_max=left if count > left else None,
        )
        events.extend((*_moved_back(group, completed), completed))
        if count > left:
            return Decision(tuple(events), is_partial=True)
        left -= count + OFFSETS_PER_GROUP
    replies = () if context.request_id is None else (Reply(context.request_id, NONE),)
    weight = (OFFSETS_AT_ONCE - left) // OFFSETS_PER_OPERATION
    return Decision(tuple(events), replies, marker=marker, weight=weight)


def _moved_back(group: Group[Any], completed: TransactionCompleted) -> Iterator[OffsetsReset]:
    """What a transaction that is committed sets back, and who committed that in it."""
    pending, producer_id = group.offsets.pending, completed.producer.producer_id
    if not completed.committed or pending is None:
        return
    partitions = pending.moved_back(producer_id, group.offsets.by_topic, completed.offsets_max)
    if partitions:
        committer, member_id = pending.committer_of(producer_id)
        yield OffsetsReset(
            group_id=group.group_id,
            at_ms=completed.at_ms,
            requested_by=committer,
            partitions=partitions,
            is_back_alone=True,
            member_id=member_id if member_id in group.membership.members else "",
        )


def completion_error(marker: TransactionMarker, error: ErrorCode, api_version: int) -> ErrorCode:
    return error
