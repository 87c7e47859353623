from typing import Any

from _wire.embedded import encode_versioned
from _wire.errors import ErrorCode
from _wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from _wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from coordinator.core.groups.states import GroupState
from coordinator.core.offsets import delete as offset_delete
from coordinator.core.offsets.events import DeletionCause, OffsetsDeleted
from coordinator.core.offsets.records import CommittedOffset
from coordinator.core.topic_partition import TopicPartition
from tests.core.deciding import context, group_with

WHERE = TopicPartition("t", 0)
READ = encode_versioned(ConsumerProtocolSubscription(topics=["read"]), 0)


def group_in(state, protocol_type="consumer", subscriptions=()):
    group = group_with("g", state=state, protocol_type=protocol_type, subscriptions=subscriptions)
    for topic in ("t", "read"):
        group.offsets.put(topic, {0: CommittedOffset(1, -1, "", 0)})
    return group


def delete(group, *partitions, group_id="g"):
    """(top-level error, error per partition, what is deleted)"""
    topics: dict[str, list[OffsetDeleteRequestPartition]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(OffsetDeleteRequestPartition(partition_index=partition))
    request = OffsetDeleteRequest(
        group_id=group_id,
        topics=[OffsetDeleteRequestTopic(name=name, partitions=asked) for name, asked in topics.items()],
    )
    decision = offset_delete.delete(group, request, context(5))
    (reply,) = decision.replies
    response: Any = reply.response
    errors = {
        (topic.name, partition.partition_index): ErrorCode(partition.error_code)
        for topic in response.topics
        for partition in topic.partitions
    }
    deleted = [event for event in decision.events if isinstance(event, OffsetsDeleted)]
    assert len(deleted) == len(decision.events)
    assert all(event.cause is DeletionCause.REQUESTED for event in deleted)
    gone = tuple(where for event in deleted for where in event.partitions)
    return ErrorCode(response.error_code), errors, gone


def test_an_empty_group_forgets_what_it_is_told_to():
    assert delete(group_in(GroupState.EMPTY), WHERE) == (ErrorCode.NONE, {WHERE: ErrorCode.NONE}, (WHERE,))


def test_what_was_never_committed_is_no_error():
    where = TopicPartition("t", 7)
    assert delete(group_in(GroupState.EMPTY), where) == (ErrorCode.NONE, {where: ErrorCode.NONE}, ())


def test_one_named_twice_goes_once():
    _, _, gone = delete(group_in(GroupState.EMPTY), WHERE, WHERE)
    assert gone == (WHERE,)


def test_with_members_only_topics_go_that_nobody_reads():
    group = group_in(GroupState.STABLE, subscriptions=(READ,))
    read = TopicPartition("read", 0)
    error, errors, gone = delete(group, WHERE, read)
    assert error is ErrorCode.NONE
    assert errors == {WHERE: ErrorCode.NONE, read: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC}
    assert gone == (WHERE,)


def test_where_a_subscription_cannot_be_read_every_topic_counts_as_read():
    _, errors, gone = delete(group_in(GroupState.STABLE, subscriptions=(b"",)), WHERE)
    assert (errors, gone) == ({WHERE: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC}, ())


def test_members_of_another_protocol_type_keep_all():
    group = group_in(GroupState.STABLE, "connect", subscriptions=(b"",))
    assert delete(group, WHERE) == (ErrorCode.NON_EMPTY_GROUP, {}, ())


def test_a_group_that_is_not_there():
    assert delete(None, WHERE) == (ErrorCode.GROUP_ID_NOT_FOUND, {}, ())
    assert delete(None, WHERE, group_id="") == (ErrorCode.INVALID_GROUP_ID, {}, ())


def test_pending_transactional_offsets_are_deleted_too():
    group = group_in(GroupState.EMPTY)
    pending = TopicPartition("pending", 0)
    group.offsets.put_pending(7, "pending", {0: CommittedOffset(1, -1, "", 0)})
    assert delete(group, pending) == (ErrorCode.NONE, {pending: ErrorCode.NONE}, (pending,))
