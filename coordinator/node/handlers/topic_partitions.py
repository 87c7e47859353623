"""DescribeTopicPartitions: topics page by page (KIP-966)."""

from collections.abc import Iterator
from typing import Final

from _wire.errors import ErrorCode
from _wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from coordinator.config.server_keys import MAX_REQUEST_PARTITION_SIZE_LIMIT, NODE_ID
from coordinator.config.settings import Config
from coordinator.front.dispatch import DispatchTable
from coordinator.front.request_context import RequestContext
from coordinator.internal_topics import INTERNAL_TOPICS
from coordinator.log.errors import InvalidTopicName
from coordinator.log.names import check_legal_name
from coordinator.metadata.image import MetadataImage, Topic
from coordinator.metadata.leadership import NO_LEADER, Leadership
from coordinator.node.handlers.cluster import TOPIC_OPERATIONS
from coordinator.runtime.slices import Steps

TOPICS_AT_ONCE: Final = 100
"""Topics that are described before other requests have their turn."""


class TopicPartitionsHandler:
    """Answers in the order of the names; `next_cursor` says where the next page begins."""

    def __init__(
        self,
        *,
        config: Config,
        image: MetadataImage,
        leadership: Leadership,
    ) -> None:
        self._config = config
        self._image = image
        self._leadership = leadership
        self._node_id = config[NODE_ID]

    def add_to(self, table: DispatchTable) -> None:
        table.add("DescribeTopicPartitions", self.describe, _describe_error)

    def describe(
        self, request: DescribeTopicPartitionsRequest, call: RequestContext
    ) -> Steps[DescribeTopicPartitionsResponse]:
        cursor = request.cursor
        first_name, first_index = ("", 0) if cursor is None else (cursor.topic_name, cursor.partition_index)
        all_topics = not request.topics
        asked = self._image.topics if all_topics else [topic.name for topic in request.topics]
        names = sorted({name for name in asked if name >= first_name})
        yield
        if cursor is not None and (first_index < 0 or (not all_topics and first_name not in names)):
            return _describe_error(request, ErrorCode.INVALID_REQUEST, call.api_version)
        limit = min(request.response_partition_limit, self._config[MAX_REQUEST_PARTITION_SIZE_LIMIT])
        page = _Page(max(limit, 1))
        for position, name in enumerate(names, 1):
            if not page.add(name, self._image.topics.get(name), first_index if name == first_name else 0):
                break
            if position % TOPICS_AT_ONCE == 0:
                yield
        for topic in page.response.topics:
            for partition in topic.partitions:
                leader = self._leadership.leader_of(topic.name or "", partition.partition_index)
                partition.leader_id = leader
                partition.leader_epoch = self._image.leader_epoch
                if leader == NO_LEADER:
                    partition.replica_nodes = partition.offline_replicas = [self._node_id]
                else:
                    partition.replica_nodes = partition.isr_nodes = [leader]
        return page.response


class _Page:
    """A response with so many partitions at most."""

    def __init__(self, partitions_max: int) -> None:
        self.response = DescribeTopicPartitionsResponse()
        self._left = partitions_max

    def add(self, name: str, topic: Topic | None, first_index: int) -> bool:
        """Add a topic; return whether more may follow."""
        if self._left == 0:
            self.response.next_cursor = Cursor(topic_name=name)
            return False
        if topic is None:
            self.response.topics.append(_unknown(name))
            return True
        indexes = range(first_index, min(topic.partitions, first_index + self._left))
        described = DescribeTopicPartitionsResponseTopic(
            name=name,
            topic_id=topic.topic_id,
            is_internal=topic.is_internal,
            partitions=list(_described(indexes)),
            topic_authorized_operations=TOPIC_OPERATIONS,
        )
        self.response.topics.append(described)
        self._left -= len(indexes)
        if indexes and indexes.stop < topic.partitions:
            self.response.next_cursor = Cursor(topic_name=name, partition_index=indexes.stop)
            return False
        return True


def _described(indexes: range) -> Iterator[DescribeTopicPartitionsResponsePartition]:
    for index in indexes:
        yield DescribeTopicPartitionsResponsePartition(
            partition_index=index, eligible_leader_replicas=[], last_known_elr=[]
        )


def _unknown(name: str) -> DescribeTopicPartitionsResponseTopic:
    unknown = DescribeTopicPartitionsResponseTopic(
        name=name,
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        is_internal=name in INTERNAL_TOPICS,
        topic_authorized_operations=TOPIC_OPERATIONS,
    )
    try:
        check_legal_name(name)
    except InvalidTopicName:
        unknown.error_code = ErrorCode.INVALID_TOPIC_EXCEPTION
    return unknown


def _describe_error(
    request: DescribeTopicPartitionsRequest, error: ErrorCode, api_version: int
) -> DescribeTopicPartitionsResponse:
    topics = [DescribeTopicPartitionsResponseTopic(name=topic.name, error_code=error) for topic in request.topics]
    return DescribeTopicPartitionsResponse(topics=topics)
