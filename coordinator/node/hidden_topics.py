"""Leaves topics that a client may not see out of responses, and reports what it may do with topics and the cluster."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from _wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from coordinator.front.denied_elements import TAF, Part
from coordinator.front.hidden_resources import DECISIONS_AT_ONCE, Reported
from coordinator.metadata.image import MetadataImage
from coordinator.runtime.slices import Steps
from coordinator.security.acls.model import CLUSTER_NAME, ResourceType

NULL_MEANS_ALL_VERSION: Final = 1
"""Before it, Metadata for no topics asks for all."""


def asks_for_all_topics(request: Any, api_version: int) -> bool:
    return request.topics is None or (api_version < NULL_MEANS_ALL_VERSION and not request.topics)


def operations_in_metadata(request: Any, response: Any) -> Iterator[Reported]:
    yield Reported(response, "cluster_authorized_operations", ResourceType.CLUSTER, CLUSTER_NAME)
    for topic in response.topics:
        if topic.name is not None:
            yield Reported(topic, "topic_authorized_operations", ResourceType.TOPIC, topic.name)


def operations_on_cluster(request: Any, response: Any) -> Iterator[Reported]:
    yield Reported(response, "cluster_authorized_operations", ResourceType.CLUSTER, CLUSTER_NAME)


def operations_on_pages(request: Any, response: Any) -> Iterator[Reported]:
    for topic in response.topics:
        yield Reported(topic, "topic_authorized_operations", ResourceType.TOPIC, topic.name)


def restrict_pages(image: MetadataImage, is_allowed: Callable[[str], bool], request: Any) -> Steps[Part]:
    """The topics that are allowed in place of all, so that pages are full and no cursor names another one."""
    asked: DescribeTopicPartitionsRequest = request
    cursor = asked.cursor
    if cursor is not None and cursor.partition_index < 0:
        return Part()  # the handler rejects it
    first_name = "" if cursor is None else cursor.topic_name
    names: list[str] = []
    for position, name in enumerate(list(image.topics)):
        if name >= first_name and is_allowed(name):
            names.append(name)
        if position % DECISIONS_AT_ONCE == DECISIONS_AT_ONCE - 1:
            yield
    if not names:
        return Part(response=DescribeTopicPartitionsResponse())
    asked.topics = [TopicRequest(name=name) for name in names]
    if cursor is not None and first_name not in names:
        asked.cursor = None
    return Part()


def hide_configs(is_allowed: Callable[[str], bool], request: Any, response: Any) -> Steps[None]:
    """CreateTopics tells neither the configs nor the counts of a topic without DESCRIBE_CONFIGS."""
    for position, topic in enumerate(response.topics):
        if not topic.error_code and not is_allowed(topic.name):
            topic.topic_config_error_code = TAF
            topic.num_partitions = topic.replication_factor = -1
            topic.configs = []
        if position % DECISIONS_AT_ONCE == DECISIONS_AT_ONCE - 1:
            yield


def leave_out_topics_of_transactions(is_allowed: Callable[[str], bool], request: Any, response: Any) -> Steps[None]:
    for transaction in response.transaction_states:
        kept = []
        for topic in transaction.topics:
            if is_allowed(topic.topic):
                kept.append(topic)
            yield
        transaction.topics = kept
