"""Takes denied topics, configs and coordinators out of requests, and makes their answers.

The answers are those of `KafkaApis` and `ControllerApis` of Kafka 4.3.1.
"""

from collections.abc import Iterable
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from _wire.messages.create_topics import CreatableTopicResult
from _wire.messages.delete_records import DeleteRecordsPartitionResult, DeleteRecordsTopicResult
from _wire.messages.delete_topics import DeletableTopicResult, DeleteTopicsResponse
from _wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponseTopic,
)
from _wire.messages.fetch import FetchableTopicResponse
from _wire.messages.metadata import MetadataResponseTopic
from _wire.messages.produce import TopicProduceResponse
from coordinator.broker.data.fetch import failed_partition
from coordinator.broker.data.produce import rejected_partition as rejected_produce
from coordinator.front.denied_elements import (
    ELEMENTS_AT_ONCE,
    TAF,
    Access,
    Denied,
    Elements,
    Part,
    Resource,
    in_one_step,
    topic_key,
)
from coordinator.front.hidden_resources import DECISIONS_AT_ONCE
from coordinator.front.protocol_types import (
    COORDINATOR_KEYS_VERSION,
    TOPIC_STATES_VERSION,
    ConfigResourceType,
    CoordinatorType,
)
from coordinator.front.request_context import RequestContext
from coordinator.front.requirements import NO_TOPIC_ID
from coordinator.internal_topics import INTERNAL_TOPICS
from coordinator.metadata.image import MetadataImage
from coordinator.node.requirements import CONFIGS_OF_CLUSTER
from coordinator.runtime.slices import Steps, one_by_one
from coordinator.security.acls.model import CLUSTER_NAME, AclOperation, ResourceType


def config_key(request: Any, element: Any) -> Resource | None:
    if element.resource_type == ConfigResourceType.TOPIC:
        return ResourceType.TOPIC, element.resource_name
    if element.resource_type == ConfigResourceType.GROUP:
        return ResourceType.GROUP, element.resource_name
    return (ResourceType.CLUSTER, CLUSTER_NAME) if element.resource_type in CONFIGS_OF_CLUSTER else None


Topic = tuple[str, bytes]


def _by_topic(indexes: Iterable[tuple[Topic, int]]) -> Steps[dict[Topic, dict[int, None]]]:
    """Topics with their partitions, each once, where Kafka has a map of partitions."""
    topics: dict[Topic, dict[int, None]] = {}
    for position, (topic, index) in enumerate(indexes, 1):
        topics.setdefault(topic, {})[index] = None
        if position % ELEMENTS_AT_ONCE == 0:
            yield
    return topics


def produced(call: RequestContext, elements: list[Any], error: ErrorCode) -> Steps[list[Any]]:
    requested = (
        ((element.name, element.topic_id), data.index) for element in elements for data in element.partition_data
    )
    answers = []
    for (name, topic_id), indexes in (yield from _by_topic(requested)).items():
        partitions = yield from one_by_one(indexes, lambda index: rejected_produce(index, error))
        answers.append(TopicProduceResponse(name=name, topic_id=topic_id, partition_responses=partitions))
    return answers


def fetched(call: RequestContext, elements: list[Any], error: ErrorCode) -> Steps[list[Any]]:
    requested = (
        ((element.topic, element.topic_id), partition.partition)
        for element in elements
        for partition in element.partitions
    )
    answers = []
    for (name, topic_id), indexes in (yield from _by_topic(requested)).items():
        partitions = yield from one_by_one(indexes, lambda index: failed_partition(index, error))
        answers.append(FetchableTopicResponse(topic=name, topic_id=topic_id, partitions=partitions))
    return answers


def records_deleted(call: RequestContext, elements: list[Any], error: ErrorCode) -> Steps[list[Any]]:
    def failed(index: int) -> DeleteRecordsPartitionResult:
        return DeleteRecordsPartitionResult(partition_index=index, low_watermark=-1, error_code=error)

    requested = (
        ((topic.name, NO_TOPIC_ID), partition.partition_index) for topic in elements for partition in topic.partitions
    )
    answers = []
    for (name, _), indexes in (yield from _by_topic(requested)).items():
        partitions = yield from one_by_one(indexes, failed)
        answers.append(DeleteRecordsTopicResult(name=name, partitions=partitions))
    return answers


@in_one_step
def created_denied(call: RequestContext, elements: list[Any], error: ErrorCode) -> list[Any]:
    return [
        CreatableTopicResult(name=element.name, error_code=error, error_message="Authorization failed.")
        for element in elements
    ]


def remove_from_metadata(denied: Denied, request: Any, call: RequestContext, access: Access) -> Steps[Part]:
    """Whether a topic exists is not told. By id its name is null, because clients may know ids."""
    left = []
    answers: dict[Resource, MetadataResponseTopic] = {}
    for position, element in enumerate(request.topics):
        is_by_id = element.topic_id != NO_TOPIC_ID  # then its name does not count
        key = (ResourceType.TOPIC, element.topic_id) if is_by_id else topic_key(request, element)
        if key is None or key not in denied:
            left.append(element)
        else:
            may_be_described = AclOperation.DESCRIBE not in denied[key]
            answers[key] = MetadataResponseTopic(
                name=None if is_by_id else element.name,
                topic_id=element.topic_id,
                error_code=TAF,
                is_internal=may_be_described and element.name in INTERNAL_TOPICS,
            )
        if position % ELEMENTS_AT_ONCE == ELEMENTS_AT_ONCE - 1:
            yield
    request.topics = left

    def add_to(response: Any) -> None:
        if not left:
            response.topics = []  # before v1 the handler takes a request without topics for one about all
        if not response.error_code:
            response.topics.extend(answers.values())

    return Part(add_to=add_to)


def remove_from_pages(denied: Denied, request: Any, call: RequestContext, access: Access) -> Steps[Part]:
    """Topics before that of the cursor are not looked at. A cursor at a denied topic begins at the next one."""
    cursor = request.cursor
    first_name = "" if cursor is None else cursor.topic_name
    left: list[Any] = []
    denied_names: dict[str, None] = {}
    for position, topic in enumerate(request.topics):
        if topic.name >= first_name:
            if (ResourceType.TOPIC, topic.name) in denied:
                denied_names[topic.name] = None
            else:
                left.append(topic)
        if position % ELEMENTS_AT_ONCE == ELEMENTS_AT_ONCE - 1:
            yield
    answers = [DescribeTopicPartitionsResponseTopic(name=name, error_code=TAF) for name in denied_names]
    if not left:
        return Part(response=DescribeTopicPartitionsResponse(topics=answers))
    request.topics = left
    if first_name in denied_names:
        request.cursor = None
    return Part(add_to=lambda response: response.topics.extend(answers))


def remove_from_deletion(
    image: MetadataImage, denied: Denied, request: Any, call: RequestContext, access: Access
) -> Steps[Part]:
    """By name, a topic that may be described is unknown before it is denied. By id, its name is told if it may be."""
    has_states = call.api_version >= TOPIC_STATES_VERSION
    left: list[Any] = []
    answers = []
    for position, element in enumerate(request.topics if has_states else request.topic_names):
        name, topic_id = (element.name, element.topic_id) if has_states else (element, NO_TOPIC_ID)
        is_by_id = name is None
        operations = denied.get((ResourceType.TOPIC, topic_id if is_by_id else name), frozenset())
        if not operations or (not is_by_id and AclOperation.DESCRIBE not in operations and name not in image.topics):
            left.append(element)
        else:
            if is_by_id:
                found = image.topic_name(topic_id)
                shown = found is not None and access.may(AclOperation.DESCRIBE, ResourceType.TOPIC, found)
                name = found if shown else None
            answers.append(
                DeletableTopicResult(name=name, topic_id=topic_id, error_code=TAF, error_message=TAF.description)
            )
        if position % DECISIONS_AT_ONCE == DECISIONS_AT_ONCE - 1:
            yield
    setattr(request, "topics" if has_states else "topic_names", left)
    if not left:
        return Part(response=DeleteTopicsResponse(responses=answers))
    return Part(add_to=lambda response: response.responses.extend(answers))


def remove_coordinator_keys(denied: Denied, request: Any, call: RequestContext, access: Access) -> Steps[Part]:
    if call.api_version >= COORDINATOR_KEYS_VERSION:
        return (yield from _COORDINATOR_KEYS(denied, request, call, access))
    (resource_type, _) = next(iter(denied))
    response = call.route.error_response(request, resource_type.denied, call.api_version)
    response.error_message = resource_type.denied.description
    return Part(response=response)


def _coordinator_key(request: Any, element: Any) -> Resource | None:
    if request.key_type == CoordinatorType.GROUP:
        return ResourceType.GROUP, element
    if request.key_type == CoordinatorType.TRANSACTION:
        return ResourceType.TRANSACTIONAL_ID, element
    return ResourceType.CLUSTER, CLUSTER_NAME


@in_one_step
def _coordinators(call: RequestContext, elements: list[Any], error: ErrorCode) -> list[Any]:
    request = call.request
    alone = type(request)(key_type=request.key_type, coordinator_keys=elements)
    found: list[Any] = call.route.error_response(alone, error, call.api_version).coordinators
    for coordinator in found:
        coordinator.error_message = error.description if error is ErrorCode.CLUSTER_AUTHORIZATION_FAILED else ""
    return found


_COORDINATOR_KEYS: Final = Elements("coordinator_keys", "coordinators", _coordinator_key, _coordinators)


def reject_all_partitions(
    image: MetadataImage, denied: Denied, request: Any, call: RequestContext, access: Access
) -> Steps[Part]:
    """Nothing is added to a transaction when one of the topics is denied."""
    topics: dict[str, dict[int, AddPartitionsToTxnPartitionResult]] = {}
    for topic in request.v3_and_below_topics:
        count = image.partition_count(topic.name)
        is_denied = (ResourceType.TOPIC, topic.name) in denied
        partitions = topics.setdefault(topic.name, {})
        for index in topic.partitions:
            exists = 0 <= index < count
            error = ErrorCode.OPERATION_NOT_ATTEMPTED if exists else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            partitions[index] = AddPartitionsToTxnPartitionResult(
                partition_index=index, partition_error_code=TAF if is_denied else error
            )
            yield
    results = [
        AddPartitionsToTxnTopicResult(name=name, results_by_partition=list(answers.values()))
        for name, answers in topics.items()
    ]
    return Part(response=AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results))
