"""OffsetFetch: the committed offsets of groups. Decided one group at a time.

Counterpart in Kafka: `KafkaApis.handleOffsetFetchRequest` and `OffsetMetadataManager.fetchOffsets`.
"""

from collections.abc import Generator, Iterable
from typing import Any, Final

from _wire.errors import NONE, ErrorCode
from _wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from coordinator.core.decision import Decision, OperationContext, Topics, replying
from coordinator.core.error_responses import TOPICS_AT_ONCE
from coordinator.core.groups.group import Group
from coordinator.core.offsets.committed_offsets import CommittedOffsets
from coordinator.core.offsets.pending_offsets import PendingOffsets
from coordinator.core.offsets.records import find_offsets, only_group
from coordinator.core.operation import Answer

NO_OFFSET: Final = -1
ZOOKEEPER_VERSION: Final = 0
"""Version 0 stored offsets in ZooKeeper. Kafka 3.9 without ZooKeeper lists it and answers UNSUPPORTED_VERSION."""
GROUP_ERROR_VERSION: Final = 2
"""Before this version there is an error per partition only."""
GROUPS_VERSION: Final = 8
"""From this version on one request asks for several groups (KIP-709)."""
TOPIC_ID_VERSION: Final = 10
"""From this version on topics are named by id alone (KIP-848)."""
NO_TOPIC_ID: Final = bytes(16)
RequestedTopic = OffsetFetchRequestTopic | OffsetFetchRequestTopics
"""The former before GROUPS_VERSION."""
NO_OFFSETS: Final = CommittedOffsets()


def prepare(
    request: OffsetFetchRequest, context: OperationContext
) -> OffsetFetchRequest | Answer | Generator[None, None, OffsetFetchRequest]:
    """Convert a request of any version to the newest form: groups, and topics with their names."""
    if context.api_version < GROUPS_VERSION:
        request.groups = [only_group(request)]
    if context.api_version == ZOOKEEPER_VERSION:
        return Answer(error_response(request, ErrorCode.UNSUPPORTED_VERSION, ZOOKEEPER_VERSION))
    if context.api_version >= TOPIC_ID_VERSION:
        if sum(len(group.topics or ()) for group in request.groups) > TOPICS_AT_ONCE:
            return _named_in_steps(request, context.topics)
        for group in request.groups:
            _give_names(group.topics or (), context.topics)
    return request


def _named_in_steps(request: OffsetFetchRequest, topics: Topics) -> Generator[None, None, OffsetFetchRequest]:
    for group in request.groups:
        requested = group.topics or ()
        for first in range(0, len(requested), TOPICS_AT_ONCE):
            _give_names(requested[first : first + TOPICS_AT_ONCE], topics)
            yield
    return request


def _give_names(requested: Iterable[OffsetFetchRequestTopics], topics: Topics) -> None:
    for topic in requested:
        topic.name = topics.topic_name(topic.topic_id) or ""


def as_groups(request: OffsetFetchRequest, api_version: int) -> None:
    """Have a request of any version name its groups as the newest one does."""
    if api_version < GROUPS_VERSION:
        request.groups = [only_group(request)]


def per_group(request: OffsetFetchRequest) -> Iterable[tuple[str, OffsetFetchRequest]]:
    """Split a prepared request: group id and the request for that group alone."""
    if len(request.groups) == 1:
        return [(request.groups[0].group_id, request)]
    return (
        (group.group_id, OffsetFetchRequest(groups=[group], require_stable=request.require_stable))
        for group in request.groups
    )


def merge(responses: Iterable[OffsetFetchResponse]) -> OffsetFetchResponse:
    return OffsetFetchResponse(groups=[group for response in responses for group in response.groups])


def fetch(group: Group[Any] | None, request: OffsetFetchRequest, context: OperationContext) -> Decision:
    """The committed offsets of the one group that the request asks for; -1 where nothing is committed."""
    (asked,) = request.groups
    if group is not None:
        error = group.kind.offsets.validate_fetch(group.membership, asked.member_id, asked.member_epoch)
        if error is not NONE:
            return replying(context, error_response(request, error, context.api_version))
    offsets = NO_OFFSETS if group is None else group.offsets
    topics = _all_topics(offsets, context.topics) if asked.topics is None else asked.topics
    of_nameless = ErrorCode.UNKNOWN_TOPIC_ID if context.api_version >= TOPIC_ID_VERSION else NONE
    found = find_offsets(offsets.by_topic, topics, of_nameless)
    response = OffsetFetchResponseGroup(group_id=asked.group_id, topics=found)
    if request.require_stable and offsets.pending is not None:
        _reject_unstable(offsets.pending, response.topics)
    return replying(context, OffsetFetchResponse(groups=[response]))


def _all_topics(offsets: CommittedOffsets, topics: Topics) -> list[OffsetFetchRequestTopics]:
    """The partitions with a committed offset."""
    return [
        OffsetFetchRequestTopics(name=name, topic_id=topics.topic_id(name), partition_indexes=list(committed))
        for name, committed in offsets.by_topic.items()
    ]


def _reject_unstable(pending: PendingOffsets, topics: list[OffsetFetchResponseTopics]) -> None:
    """UNSTABLE_OFFSET_COMMIT for each partition for which a transaction has an offset pending (KIP-447)."""
    for topic in topics:
        unstable = pending.of_topic(topic.name)
        if not unstable:
            continue
        for answer in topic.partitions:
            if answer.partition_index in unstable:
                answer.committed_offset = answer.committed_leader_epoch = NO_OFFSET
                answer.metadata, answer.error_code = "", ErrorCode.UNSTABLE_OFFSET_COMMIT


def _failed(partitions: Iterable[int], error: ErrorCode) -> list[OffsetFetchResponsePartitions]:
    return [
        OffsetFetchResponsePartitions(
            partition_index=index, committed_offset=NO_OFFSET, committed_leader_epoch=-1, metadata="", error_code=error
        )
        for index in partitions
    ]


def failed_topics(topics: Iterable[RequestedTopic], error: ErrorCode) -> list[OffsetFetchResponseTopics]:
    """The same error for each partition of topics, of a request of any version."""
    return [
        OffsetFetchResponseTopics(
            name=topic.name,
            topic_id=topic.topic_id if isinstance(topic, OffsetFetchRequestTopics) else NO_TOPIC_ID,
            partitions=_failed(topic.partition_indexes, error),
        )
        for topic in topics
    ]


def error_response(request: OffsetFetchRequest, error: ErrorCode, api_version: int) -> OffsetFetchResponse:
    """Of a prepared request: the error of each group, and before v2 of each partition."""
    groups = []
    for group in request.groups:
        response = OffsetFetchResponseGroup(group_id=group.group_id, error_code=error)
        if api_version < GROUP_ERROR_VERSION:
            response.topics = [
                OffsetFetchResponseTopics(name=topic.name, partitions=_failed(topic.partition_indexes, error))
                for topic in group.topics or ()
            ]
        groups.append(response)
    return OffsetFetchResponse(groups=groups)


def request_error(request: OffsetFetchRequest, error: ErrorCode, api_version: int) -> OffsetFetchResponse:
    """As `error_response`, of a request that was not prepared."""
    if api_version < GROUPS_VERSION and not request.groups:
        request.groups = [only_group(request)]
    return error_response(request, error, api_version)


def downgrade(response: OffsetFetchResponse, api_version: int) -> None:
    """Before v8 the one group of a response has no struct of its own."""
    if api_version >= GROUPS_VERSION or not response.groups:
        return
    (group,) = response.groups
    response.error_code = group.error_code
    response.topics = [
        OffsetFetchResponseTopic(
            name=topic.name,
            partitions=[
                OffsetFetchResponsePartition(
                    partition_index=partition.partition_index,
                    committed_offset=partition.committed_offset,
                    committed_leader_epoch=partition.committed_leader_epoch,
                    metadata=partition.metadata,
                    error_code=partition.error_code,
                )
                for partition in topic.partitions
            ],
        )
        for topic in group.topics
    ]
    response.groups = []
