"""Positions committed inside a transaction: held back until its end is known (KIP-98, KIP-447)."""

from _wire.errors import NONE, ErrorCode
from _wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from coordinator.config import OFFSET_METADATA_MAX_BYTES, Config
from coordinator.core.decision import Decision, OperationContext, Reply
from coordinator.core.events import Event, GroupCreated, TransactionalOffsetsCommitted, TransactionCompleted
from coordinator.core.group import NO_MEMBER_ID, Group, Producer
from coordinator.core.members import check_member
from coordinator.core.offset_records import CommittedOffset, is_too_long
from coordinator.core.states import DEAD, EMPTY


def commit(
    group: Group, request: TxnOffsetCommitRequest, context: OperationContext, now_ms: int, config: Config
) -> Decision:
    """Hold the positions of a producer's transaction back. Topics are taken as known, as in `offsets.commit`."""
    error = check_commit(group, request)
    if error is not NONE:
        return Decision(replies=(Reply(context.request_id, refuse(request, error)),))
    longest = config[OFFSET_METADATA_MAX_BYTES]
    taken: dict[str, dict[int, CommittedOffset]] = {}
    response = TxnOffsetCommitResponse()
    for topic in request.topics:
        answers = []
        for each in topic.partitions:
            verdict = NONE
            if is_too_long(each.committed_metadata or "", longest):
                verdict = ErrorCode.OFFSET_METADATA_TOO_LARGE
            else:
                taken.setdefault(topic.name, {})[each.partition_index] = _held_back(each, now_ms)
            answers.append(TxnOffsetCommitResponsePartition(partition_index=each.partition_index, error_code=verdict))
        response.topics.append(TxnOffsetCommitResponseTopic(name=topic.name, partitions=answers))
    events: list[Event] = []
    if taken:
        # As in `offsets.commit`, a commit of which nothing is taken makes no group.
        events += () if group.exists else (GroupCreated(group.group_id, now_ms),)
        producer = Producer(request.producer_id, request.producer_epoch)
        events.append(TransactionalOffsetsCommitted(group.group_id, now_ms, producer, taken))
    renewed = (request.member_id,) if request.member_id in group.members else ()
    return Decision(tuple(events), (Reply(context.request_id, response),), renewed)


def _held_back(partition: TxnOffsetCommitRequestPartition, now_ms: int) -> CommittedOffset:
    return CommittedOffset(
        partition.committed_offset, partition.committed_leader_epoch, partition.committed_metadata or "", now_ms
    )


def check_commit(group: Group, request: TxnOffsetCommitRequest) -> ErrorCode:
    """Whether the commit is from where it says. Older clients name no member (before v3): theirs is always taken."""
    if group.state is DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if not group.exists:
        return NONE if request.generation_id < 0 else ErrorCode.ILLEGAL_GENERATION
    if request.generation_id < 0 and group.state is EMPTY:
        return NONE
    names_member = request.member_id != NO_MEMBER_ID or request.group_instance_id is not None
    if request.generation_id < 0 and not names_member:
        return NONE
    error = check_member(group, request.member_id, request.group_instance_id)
    if error is NONE and request.generation_id != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    return error


def refuse(request: TxnOffsetCommitRequest, error: ErrorCode) -> TxnOffsetCommitResponse:
    """The same error for every partition of a commit."""
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(partition_index=each.partition_index, error_code=error)
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def end(group: Group, producer: Producer, committed: bool, now_ms: int) -> tuple[Event, ...]:
    """The event that ends the producer's transaction in the group, if it has a part in it."""
    if all(producer_id != producer.producer_id for producer_id, _ in group.pending_offsets):
        return ()
    return (TransactionCompleted(group.group_id, now_ms, producer, committed),)
