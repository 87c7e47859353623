"""OffsetFetch: the committed offsets of groups. Decided one group at a time.

Counterpart in Kafka: `KafkaApis.handleOffsetFetchRequest` and `OffsetMetadataManager.fetchOffsets`.
"""

from collections.abc import Iterable
from typing import Final

from _wire.errors import ErrorCode
from _wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from coordinator.core.committed_offsets import CommittedOffsets, TopicPartition
from coordinator.core.decision import Decision, OperationContext, replying
from coordinator.core.group import Group
from coordinator.core.offset_records import find_offsets
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
NO_OFFSETS: Final = CommittedOffsets()


def prepare(request: OffsetFetchRequest, context: OperationContext) -> OffsetFetchRequest | Answer:
    """Convert a request of any version to the newest form: groups, and topics with their names."""
    if context.api_version < GROUPS_VERSION:
        request.groups = [_only_group(request)]
    if context.api_version == ZOOKEEPER_VERSION:
        return Answer(error_response(request, ErrorCode.UNSUPPORTED_VERSION, ZOOKEEPER_VERSION))
    if context.api_version >= TOPIC_ID_VERSION:
        for group in request.groups:
            for topic in group.topics or ():
                topic.name = context.topics.topic_name(topic.topic_id) or ""
    return request


def _only_group(request: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ]
    return OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)


def per_group(request: OffsetFetchRequest) -> Iterable[tuple[str, OffsetFetchRequest]]:
    """Split a prepared request: group id and the request for that group alone."""
    for group in request.groups:
        yield group.group_id, OffsetFetchRequest(groups=[group], require_stable=request.require_stable)


def merge(responses: Iterable[OffsetFetchResponse]) -> OffsetFetchResponse:
    return OffsetFetchResponse(groups=[group for response in responses for group in response.groups])


def fetch(group: Group | None, request: OffsetFetchRequest, context: OperationContext) -> Decision:
    """The committed offsets of the one group that the request asks for; -1 where nothing is committed."""
    (asked,) = request.groups
    offsets = NO_OFFSETS if group is None else group.offsets
    response = OffsetFetchResponseGroup(group_id=asked.group_id)
    if asked.topics is None:
        for name in offsets.by_topic:
            partitions = fetch_topic(offsets, name, None, request.require_stable)
            topic_id = context.topics.topic_id(name)
            response.topics.append(OffsetFetchResponseTopics(name=name, topic_id=topic_id, partitions=partitions))
    else:
        by_id = context.api_version >= TOPIC_ID_VERSION
        for topic in asked.topics:
            if by_id and not topic.name:
                partitions = _failed(topic.partition_indexes, ErrorCode.UNKNOWN_TOPIC_ID)
            else:
                partitions = fetch_topic(offsets, topic.name, topic.partition_indexes, request.require_stable)
            response.topics.append(
                OffsetFetchResponseTopics(name=topic.name, topic_id=topic.topic_id, partitions=partitions)
            )
    return replying(context, OffsetFetchResponse(groups=[response]))


def fetch_topic(
    offsets: CommittedOffsets, topic: str, partitions: list[int] | None, require_stable: bool
) -> list[OffsetFetchResponsePartitions]:
    """The committed offsets of a topic's partitions, or of all that have one when `partitions` is None.

    `require_stable` (KIP-447): UNSTABLE_OFFSET_COMMIT for a partition for which a transaction has an offset pending.
    """
    known = offsets.by_topic.get(topic, {})
    found = find_offsets(known, known if partitions is None else partitions)
    if require_stable and offsets.pending:
        for answer in found:
            if offsets.has_pending(TopicPartition(topic, answer.partition_index)):
                answer.committed_offset = answer.committed_leader_epoch = NO_OFFSET
                answer.metadata, answer.error_code = "", ErrorCode.UNSTABLE_OFFSET_COMMIT
    return found


def _failed(partitions: Iterable[int], error: ErrorCode) -> list[OffsetFetchResponsePartitions]:
    return [
        OffsetFetchResponsePartitions(
            partition_index=index, committed_offset=NO_OFFSET, committed_leader_epoch=-1, metadata="", error_code=error
        )
        for index in partitions
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
        request.groups = [_only_group(request)]
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
