"""Takes what is denied out of requests that have it in more than one list, or whose answers depend on more than it."""

from collections.abc import Mapping
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from _wire.messages.delete_topics import DeletableTopicResult, DeleteTopicsResponse
from _wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponseTopic,
)
from _wire.messages.metadata import MetadataResponseTopic
from _wire.messages.offset_fetch import OffsetFetchResponse
from coordinator.core.offsets.fetch import GROUPS_VERSION, failed_topics
from coordinator.internal_topics import INTERNAL_TOPICS
from coordinator.metadata.image import MetadataImage
from coordinator.runtime.slices import Steps
from coordinator.security.acls.model import CLUSTER_NAME, AclOperation, ResourceType
from coordinator.server.denied_elements import (
    ELEMENTS_AT_ONCE,
    TAF,
    Access,
    Denied,
    Elements,
    Part,
    Resource,
    topic_key,
)
from coordinator.server.hidden_resources import DECISIONS_AT_ONCE
from coordinator.server.protocol_types import (
    COORDINATOR_KEYS_VERSION,
    TOPIC_STATES_VERSION,
    CoordinatorType,
)
from coordinator.server.request_context import RequestContext
from coordinator.server.requirements import NO_TOPIC_ID


def take_out_of_metadata(
    denied: Denied, request: Any, call: RequestContext, image: MetadataImage, access: Access
) -> Steps[Part]:
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


def take_out_of_pages(
    denied: Denied, request: Any, call: RequestContext, image: MetadataImage, access: Access
) -> Steps[Part]:
    """Topics before that of the cursor are not looked at. A cursor at a denied topic begins at the next one."""
    cursor = request.cursor
    first_name = "" if cursor is None else cursor.topic_name
    left: list[Any] = []
    taken: dict[str, None] = {}
    for position, topic in enumerate(request.topics):
        if topic.name >= first_name:
            if (ResourceType.TOPIC, topic.name) in denied:
                taken[topic.name] = None
            else:
                left.append(topic)
        if position % ELEMENTS_AT_ONCE == ELEMENTS_AT_ONCE - 1:
            yield
    answers = [DescribeTopicPartitionsResponseTopic(name=name, error_code=TAF) for name in taken]
    if not left:
        return Part(response=DescribeTopicPartitionsResponse(topics=answers))
    request.topics = left
    if first_name in taken:
        request.cursor = None
    return Part(add_to=lambda response: response.topics.extend(answers))


def take_out_of_deletion(
    denied: Denied, request: Any, call: RequestContext, image: MetadataImage, access: Access
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


def take_out_coordinator_keys(
    denied: Denied, request: Any, call: RequestContext, image: MetadataImage, access: Access
) -> Steps[Part]:
    if call.api_version >= COORDINATOR_KEYS_VERSION:
        return (yield from _COORDINATOR_KEYS(denied, request, call, image, access))
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


def _coordinators(call: RequestContext, elements: list[Any], error: ErrorCode) -> list[Any]:
    request = call.request
    alone = type(request)(key_type=request.key_type, coordinator_keys=elements)
    found: list[Any] = call.route.error_response(alone, error, call.api_version).coordinators
    for each in found:
        each.error_message = error.description if error is ErrorCode.CLUSTER_AUTHORIZATION_FAILED else ""
    return found


_COORDINATOR_KEYS: Final = Elements("coordinator_keys", "coordinators", _coordinator_key, _coordinators)


def take_out_of_offset_fetch(
    denied: Denied, request: Any, call: RequestContext, image: MetadataImage, access: Access
) -> Steps[Part]:
    """Groups, and of the others topics."""
    version = call.api_version
    if version < GROUPS_VERSION:
        if (ResourceType.GROUP, request.group_id) in denied:
            error = ErrorCode.GROUP_AUTHORIZATION_FAILED
            return Part(response=call.route.error_response(request, error, version))
        taken = {request.group_id: (yield from _take_topics(denied, request))}
        return Part(add_to=lambda response: _add_topics(response, taken))
    left = []
    refused: list[Any] = []
    taken = {}
    for group in request.groups:
        if (ResourceType.GROUP, group.group_id) in denied:
            refused.append(group)
        else:
            left.append(group)
            if group.topics is not None:
                taken[group.group_id] = yield from _take_topics(denied, group)
        yield
    request.groups = left
    alone = type(request)(groups=refused)
    answers = call.route.error_response(alone, ErrorCode.GROUP_AUTHORIZATION_FAILED, version).groups
    if not left:
        return Part(response=OffsetFetchResponse(groups=answers))

    def add_to(response: Any) -> None:
        _add_topics(response, taken)
        response.groups.extend(answers)

    return Part(add_to=add_to)


def _take_topics(denied: Denied, owner: Any) -> Steps[list[Any]]:
    """Take the denied topics out of the request for a group."""
    left: list[Any] = []
    taken: list[Any] = []
    for position, topic in enumerate(owner.topics or ()):
        (taken if topic_key(owner, topic) in denied else left).append(topic)
        if position % ELEMENTS_AT_ONCE == ELEMENTS_AT_ONCE - 1:
            yield
    if taken:
        owner.topics = left
    return failed_topics(taken, TAF)


def _add_topics(response: Any, taken: Mapping[str, list[Any]]) -> None:
    """Add the answers of denied topics to those of their groups, unless the group as a whole has an error."""
    for group in response.groups:
        if not group.error_code:
            group.topics.extend(taken.get(group.group_id, ()))


def reject_all_partitions(
    denied: Denied, request: Any, call: RequestContext, image: MetadataImage, access: Access
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
