"""Offsets committed inside a transaction: pending until the transaction completes (KIP-98, KIP-447).

Counterpart in Kafka: `OffsetMetadataManager.commitTransactionalOffset`, `replayEndTransactionMarker`.
"""

from collections.abc import Mapping
from typing import Final

from _wire.errors import NONE, ErrorCode
from _wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from coordinator.config.group_keys import OFFSET_METADATA_MAX_BYTES
from coordinator.core.committed_offsets import Producer, TransactionMarker
from coordinator.core.decision import Decision, OperationContext, Reply, replying
from coordinator.core.error_responses import ErrorForEachPartition
from coordinator.core.events import Event, GroupCreated
from coordinator.core.group import Group
from coordinator.core.members import renewal
from coordinator.core.offset_commit import check_generation, names_member
from coordinator.core.offset_events import TransactionalOffsetsCommitted, TransactionCompleted
from coordinator.core.offset_records import CommittedOffset, is_metadata_too_long
from coordinator.core.states import EMPTY


def commit(group: Group | None, request: TxnOffsetCommitRequest, context: OperationContext) -> Decision:
    """Keep the offsets of a producer's transaction pending."""
    error = _check(group, request)
    if group is None and error is NONE and not context.environment.may_create_group(context.client_host):
        error = ErrorCode.POLICY_VIOLATION
    if error is not NONE:
        return replying(context, error_response(request, error, context.api_version))
    now_ms, longest = context.now_ms, context.config[OFFSET_METADATA_MAX_BYTES]
    accepted: dict[str, dict[int, CommittedOffset]] = {}
    response = TxnOffsetCommitResponse()
    for topic in request.topics:
        answers = []
        for each in topic.partitions:
            verdict = NONE
            if is_metadata_too_long(each.committed_metadata or "", longest):
                verdict = ErrorCode.OFFSET_METADATA_TOO_LARGE
            else:
                accepted.setdefault(topic.name, {})[each.partition_index] = _committed(each, now_ms)
            answers.append(_answered(each.partition_index, verdict))
        response.topics.append(TxnOffsetCommitResponseTopic(name=topic.name, partitions=answers))
    decision = replying(context, response)
    if accepted:
        # As in `offset_commit`, a commit of which nothing is accepted creates no group.
        created: tuple[Event, ...] = ()
        if group is None:
            host = context.client_host
            created = (GroupCreated(group_id=request.group_id, at_ms=now_ms, client_host=host),)
        producer = Producer(request.producer_id, request.producer_epoch)
        decision.events = (
            *created,
            TransactionalOffsetsCommitted(group_id=request.group_id, at_ms=now_ms, producer=producer, offsets=accepted),
        )
    if group is not None:
        decision.sessions = renewal(group.classic, request.member_id)
    return decision


def _committed(partition: TxnOffsetCommitRequestPartition, now_ms: int) -> CommittedOffset:
    return CommittedOffset(
        partition.committed_offset, partition.committed_leader_epoch, partition.committed_metadata or "", now_ms
    )


def _check(group: Group | None, request: TxnOffsetCommitRequest) -> ErrorCode:
    """Whether the commit comes from a member of the generation. Clients before v3 name none: theirs is accepted."""
    if group is None:
        return NONE if request.generation_id < 0 else ErrorCode.ILLEGAL_GENERATION
    if request.generation_id < 0 and group.classic.state is EMPTY:
        return NONE
    if request.generation_id < 0 and not names_member(request.member_id, request.group_instance_id):
        return NONE
    return check_generation(group.classic, request.member_id, request.group_instance_id, request.generation_id)


def _answered(index: int, error: ErrorCode) -> TxnOffsetCommitResponsePartition:
    return TxnOffsetCommitResponsePartition(partition_index=index, error_code=error)


error_response: Final = ErrorForEachPartition(TxnOffsetCommitResponse, TxnOffsetCommitResponseTopic, _answered)


def complete(groups: Mapping[str, Group], marker: TransactionMarker, context: OperationContext) -> Decision:
    """A transaction was committed or aborted: for all groups that have offsets of it pending."""
    producer_id = marker.producer.producer_id
    events = tuple(
        TransactionCompleted(
            group_id=group.group_id, at_ms=context.now_ms, producer=marker.producer, committed=marker.committed
        )
        for group in groups.values()
        if any(each == producer_id for each, _ in group.offsets.pending)
    )
    replies = () if context.request_id is None else (Reply(context.request_id, NONE),)
    return Decision(events, replies, marker=marker)


def completion_error(marker: TransactionMarker, error: ErrorCode, api_version: int) -> ErrorCode:
    return error
