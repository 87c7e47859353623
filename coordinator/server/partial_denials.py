"""What becomes of a request of which a part is denied, per API: a row for each API that has such requirements.

A row says which elements of the request are taken out before it is handled, how they are answered, and what is left out
of a response. So handlers know nothing of authorization. The rules are those of `KafkaApis` and `ControllerApis` of
Kafka 4.3.1; which operations they are about is in `requirements.py`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from _wire.errors import ErrorCode
from _wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from _wire.messages.consumer_group_describe import DescribedGroup
from _wire.messages.create_topics import CreatableTopicResult
from _wire.messages.delete_groups import DeletableGroupResult
from _wire.messages.delete_records import DeleteRecordsPartitionResult, DeleteRecordsTopicResult
from _wire.messages.delete_topics import DeletableTopicResult, DeleteTopicsResponse
from _wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponseTopic,
    TopicRequest,
)
from _wire.messages.fetch import FetchableTopicResponse
from _wire.messages.metadata import MetadataResponseTopic
from _wire.messages.offset_delete import OffsetDeleteResponsePartition, OffsetDeleteResponseTopic
from _wire.messages.offset_fetch import OffsetFetchResponse
from _wire.messages.produce import TopicProduceResponse
from coordinator.broker.fetch import failed_partition
from coordinator.broker.produce import rejected_partition as rejected_produce
from coordinator.core.groups.admin import NO_AUTHORIZED_OPERATIONS
from coordinator.core.offsets.fetch import GROUPS_VERSION, failed_topics
from coordinator.internal_topics import INTERNAL_TOPICS
from coordinator.metadata.image import MetadataImage
from coordinator.runtime.slices import Steps
from coordinator.security.acls.model import CLUSTER_NAME, AclOperation, ResourceType
from coordinator.server.authorization import WhenDenied
from coordinator.server.protocol_types import (
    COORDINATOR_KEYS_VERSION,
    TOPIC_STATES_VERSION,
    ConfigResourceType,
    CoordinatorType,
)
from coordinator.server.request_context import RequestContext
from coordinator.server.requirements import CONFIGS_OF_CLUSTER, NO_TOPIC_ID, REQUIREMENTS

ELEMENTS_AT_ONCE: Final = 500
"""Elements that are looked at in one step."""
DECISIONS_AT_ONCE: Final = 4
"""Decisions of the authorizer in one step. One that is not kept takes 5 µs, but 2 ms with ACLs for a thousand prefixes
of the name.
"""
NULL_MEANS_ALL_VERSION: Final = 1
"""Before it, Metadata for no topics asks for all."""
TAF: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED

Resource = tuple[ResourceType, str | bytes]
"""16 bytes stand for the id of a topic."""
Denied = Mapping[Resource, frozenset[AclOperation]]
"""Resource → the operations of the requirements that are denied on it."""


class Access(Protocol):
    """What the client of a request may do."""

    def may(self, operation: AclOperation, resource_type: ResourceType, name: str) -> bool:
        """Whether an operation is allowed, without a word about it if it is not."""


class Part(NamedTuple):
    """What is left of a request, which was changed in place."""

    response: Any = None
    """The answer, if nothing is left to be handled."""
    add_to: Callable[[Any], None] | None = None
    """Adds the answers of what was taken out to the response of the rest."""


class Reported(NamedTuple):
    """A field of a response with the authorized operations on a resource (KIP-430), if the handler has set it."""

    struct: Any
    field: str
    resource_type: ResourceType
    name: str


TakeOut = Callable[[Denied, Any, RequestContext, MetadataImage, Access], Steps[Part]]
LeaveOut = Callable[[Callable[[str], bool], Any, Any], Steps[None]]
"""(whether a found resource may be in the response, request, response): changes the response in place."""


def _never(request: Any, api_version: int) -> bool:
    return False


def _always(request: Any, api_version: int) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What is done for one API."""

    take_out: TakeOut | None = None
    """For requirements that are answered one by one (ANSWER_EACH)."""
    restrict: Callable[[Callable[[str], bool], Any, MetadataImage], Steps[Part]] | None = None
    """For found resources (LEAVE_OUT): names those that are allowed in the request, in place of all."""
    leave_out: LeaveOut | None = None
    """For found resources (LEAVE_OUT): leaves those that are not allowed out of the response."""
    has_found: Callable[[Any, int], bool] = _always
    """(request, version): whether the response may have resources that the request does not name."""
    operations: Callable[[Any, Any], Iterator[Reported]] | None = None
    """(request, response) → where authorized operations are reported."""
    has_operations: Callable[[Any], bool] = lambda request: True
    """Whether a request asks for authorized operations."""


# ----------------------------------------------------------------------------------------- elements of one list


class Elements:
    """Takes the denied elements out of a list of the request; their answers join a list of the response.

    `key` finds the resource of an element. `answer` answers elements with an error; by default the route makes the
    response that reports the error, of a request that has these elements alone.
    """

    def __init__(
        self,
        requested: str,
        answered: str,
        key: Callable[[Any, Any], Resource | None],
        answer: "Answer | None" = None,
    ) -> None:
        self._requested = requested
        self._answered = answered
        self._key = key
        self._answer = answer or _by_error_response(requested, answered)

    def __call__(
        self, denied: Denied, request: Any, call: RequestContext, image: MetadataImage, access: Access
    ) -> Steps[Part]:
        left: list[Any] = []
        taken: dict[ResourceType, list[Any]] = {}
        for position, element in enumerate(getattr(request, self._requested)):
            key = self._key(request, element)
            if key is not None and key in denied:
                taken.setdefault(key[0], []).append(element)
            else:
                left.append(element)
            if position % ELEMENTS_AT_ONCE == ELEMENTS_AT_ONCE - 1:
                yield
        answers: list[Any] = []
        for resource_type, elements in taken.items():
            for first in range(0, len(elements), ELEMENTS_AT_ONCE):
                portion = elements[first : first + ELEMENTS_AT_ONCE]
                answers += self._answer(call, portion, resource_type.denied)
                yield
        setattr(request, self._requested, left)
        if not left:
            return Part(response=call.route.api.response(**{self._answered: answers}))

        def add_to(response: Any) -> None:
            if not getattr(response, "error_code", ErrorCode.NONE):
                getattr(response, self._answered).extend(answers)

        return Part(add_to=add_to)


Answer = Callable[[RequestContext, list[Any], ErrorCode], list[Any]]
"""(request under way, elements, error) → the elements of the response that report the error."""


def _by_error_response(requested: str, answered: str) -> Answer:
    """Answers of the route's own, for a request that has these elements alone."""

    def answer(call: RequestContext, elements: list[Any], error: ErrorCode) -> list[Any]:
        request = call.request
        alone = type(request)(**{name: getattr(request, name) for name in request.FIELDS})
        setattr(alone, requested, elements)
        answers: list[Any] = getattr(call.route.error_response(alone, error, call.api_version), answered)
        return answers

    return answer


def _merged(answer: Answer) -> Answer:
    """A topic that is named twice is answered once, with the partitions of both (`OffsetCommitResponse.Builder`)."""

    def merge(call: RequestContext, elements: list[Any], error: ErrorCode) -> list[Any]:
        topics: dict[Any, Any] = {}
        for topic in answer(call, elements, error):
            known: Any = topics.setdefault(_topic(None, topic), topic)
            if known is not topic:
                known.partitions.extend(topic.partitions)
        return list(topics.values())

    return merge


def _topic(request: Any, element: Any) -> Resource | None:
    """A topic by its id if it has one, else by its name, which is in `name` or `topic`."""
    topic_id = getattr(element, "topic_id", NO_TOPIC_ID)
    if topic_id != NO_TOPIC_ID:
        return ResourceType.TOPIC, topic_id
    name = element.name if hasattr(element, "name") else element.topic
    return None if name is None else (ResourceType.TOPIC, name)


def _named(resource_type: ResourceType) -> Callable[[Any, Any], Resource | None]:
    """Elements that are names themselves."""
    return lambda request, element: (resource_type, element)


def _config_resource(request: Any, element: Any) -> Resource | None:
    if element.resource_type == ConfigResourceType.TOPIC:
        return ResourceType.TOPIC, element.resource_name
    if element.resource_type == ConfigResourceType.GROUP:
        return ResourceType.GROUP, element.resource_name
    return (ResourceType.CLUSTER, CLUSTER_NAME) if element.resource_type in CONFIGS_OF_CLUSTER else None


Topic = tuple[str, bytes]


def _once_each(indexes: Iterable[tuple[Topic, int]]) -> Iterator[tuple[Topic, Iterable[int]]]:
    """Topics with their partitions, each once, where Kafka has a map of partitions."""
    topics: dict[Topic, dict[int, None]] = {}
    for topic, index in indexes:
        topics.setdefault(topic, {})[index] = None
    yield from topics.items()


def _produced(call: RequestContext, elements: list[Any], error: ErrorCode) -> list[Any]:
    wanted = (((each.name, each.topic_id), data.index) for each in elements for data in each.partition_data)
    return [
        TopicProduceResponse(
            name=name, topic_id=topic_id, partition_responses=[rejected_produce(index, error) for index in indexes]
        )
        for (name, topic_id), indexes in _once_each(wanted)
    ]


def _fetched(call: RequestContext, elements: list[Any], error: ErrorCode) -> list[Any]:
    wanted = (((each.topic, each.topic_id), partition.partition) for each in elements for partition in each.partitions)
    return [
        FetchableTopicResponse(
            topic=name, topic_id=topic_id, partitions=[failed_partition(index, error) for index in indexes]
        )
        for (name, topic_id), indexes in _once_each(wanted)
    ]


def _records_deleted(call: RequestContext, elements: list[Any], error: ErrorCode) -> list[Any]:
    wanted = (((topic.name, NO_TOPIC_ID), each.partition_index) for topic in elements for each in topic.partitions)
    return [
        DeleteRecordsTopicResult(
            name=name,
            partitions=[
                DeleteRecordsPartitionResult(partition_index=index, low_watermark=-1, error_code=error)
                for index in indexes
            ],
        )
        for (name, _), indexes in _once_each(wanted)
    ]


def _created(call: RequestContext, elements: list[Any], error: ErrorCode) -> list[Any]:
    return [
        CreatableTopicResult(name=each.name, error_code=error, error_message="Authorization failed.")
        for each in elements
    ]


def _offsets_deleted(call: RequestContext, elements: list[Any], error: ErrorCode) -> list[Any]:
    return [
        OffsetDeleteResponseTopic(
            name=each.name,
            partitions=[
                OffsetDeleteResponsePartition(partition_index=partition.partition_index, error_code=error)
                for partition in each.partitions
            ],
        )
        for each in elements
    ]


# ---------------------------------------------------------------------------------------------------- Metadata


def _take_out_of_metadata(
    denied: Denied, request: Any, call: RequestContext, image: MetadataImage, access: Access
) -> Steps[Part]:
    """Whether a topic exists is not told. By id its name is null, because clients may know ids."""
    left = []
    answers: dict[Resource, MetadataResponseTopic] = {}
    for position, element in enumerate(request.topics):
        key = _topic(request, element)
        if key is None or key not in denied:
            left.append(element)
        else:
            may_be_described = AclOperation.DESCRIBE not in denied[key]
            answers[key] = MetadataResponseTopic(
                name=None if key[1] == element.topic_id else element.name,
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


def _asks_for_all_topics(request: Any, api_version: int) -> bool:
    return request.topics is None or (api_version < NULL_MEANS_ALL_VERSION and not request.topics)


def _keep(field: str, name: str) -> LeaveOut:
    """Keeps the elements of a list of the response whose resource is allowed."""

    def leave_out(is_allowed: Callable[[str], bool], request: Any, response: Any) -> Steps[None]:
        kept = []
        for position, element in enumerate(getattr(response, field)):
            if is_allowed(getattr(element, name)):
                kept.append(element)
            if position % DECISIONS_AT_ONCE == DECISIONS_AT_ONCE - 1:
                yield
        setattr(response, field, kept)

    return leave_out


def _operations_in_metadata(request: Any, response: Any) -> Iterator[Reported]:
    yield Reported(response, "cluster_authorized_operations", ResourceType.CLUSTER, CLUSTER_NAME)
    for topic in response.topics:
        if topic.name is not None:
            yield Reported(topic, "topic_authorized_operations", ResourceType.TOPIC, topic.name)


def _operations_on_cluster(request: Any, response: Any) -> Iterator[Reported]:
    yield Reported(response, "cluster_authorized_operations", ResourceType.CLUSTER, CLUSTER_NAME)


def _operations_on_pages(request: Any, response: Any) -> Iterator[Reported]:
    for topic in response.topics:
        yield Reported(topic, "topic_authorized_operations", ResourceType.TOPIC, topic.name)


def _operations_on_groups(request: Any, response: Any) -> Iterator[Reported]:
    for group in response.groups:
        yield Reported(group, "authorized_operations", ResourceType.GROUP, group.group_id)


def _take_out_of_pages(
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


def _restrict_pages(is_allowed: Callable[[str], bool], request: Any, image: MetadataImage) -> Steps[Part]:
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


# ------------------------------------------------------------------------------------------------------ topics


def _take_out_of_deletion(
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


def _hide_configs(is_allowed: Callable[[str], bool], request: Any, response: Any) -> Steps[None]:
    """CreateTopics tells neither the configs nor the counts of a topic without DESCRIBE_CONFIGS."""
    for position, topic in enumerate(response.topics):
        if not topic.error_code and not is_allowed(topic.name):
            topic.topic_config_error_code = TAF
            topic.num_partitions = topic.replication_factor = -1
            topic.configs = []
        if position % DECISIONS_AT_ONCE == DECISIONS_AT_ONCE - 1:
            yield


# ------------------------------------------------------------------------------------------------------ groups


def _take_out_coordinator_keys(
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


def _take_out_of_offset_fetch(
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
        (taken if _topic(owner, topic) in denied else left).append(topic)
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


def _leave_out_fetched_topics(is_allowed: Callable[[str], bool], request: Any, response: Any) -> Steps[None]:
    everything = {group.group_id for group in request.groups if group.topics is None}
    for group in response.groups:
        if group.group_id in everything:
            kept = []
            for position, topic in enumerate(group.topics):
                if is_allowed(topic.name):
                    kept.append(topic)
                if position % DECISIONS_AT_ONCE == DECISIONS_AT_ONCE - 1:
                    yield
            group.topics = kept
        yield


def _fetches_all(request: Any, api_version: int) -> bool:
    if api_version < GROUPS_VERSION:
        return request.topics is None
    return any(group.topics is None for group in request.groups)


def _groups_deleted(call: RequestContext, elements: list[Any], error: ErrorCode) -> list[Any]:
    return [DeletableGroupResult(group_id=group_id, error_code=error) for group_id in dict.fromkeys(elements)]


def _hide_groups(is_allowed: Callable[[str], bool], request: Any, response: Any) -> Steps[None]:
    """Groups whose members have, or are to have, a topic that the client may not see."""
    groups = []
    for group in response.groups:
        topics = {
            each.topic_name
            for member in group.members
            for assignment in (member.assignment, member.target_assignment)
            for each in assignment.topic_partitions
        }
        yield
        is_visible = True
        for position, topic in enumerate(topics):
            is_visible = is_visible and is_allowed(topic)
            if position % DECISIONS_AT_ONCE == DECISIONS_AT_ONCE - 1:
                yield
        groups.append(group if is_visible else _hidden_group(group))
    response.groups = groups


def _hidden_group(group: DescribedGroup) -> DescribedGroup:
    return DescribedGroup(
        group_id=group.group_id,
        error_code=TAF,
        error_message="The group has described topic(s) that the client is not authorized to describe.",
    )


# ------------------------------------------------------------------------------------------------ transactions


def _reject_all_partitions(
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


def _leave_out_topics_of_transactions(is_allowed: Callable[[str], bool], request: Any, response: Any) -> Steps[None]:
    for transaction in response.transaction_states:
        kept = []
        for topic in transaction.topics:
            if is_allowed(topic.topic):
                kept.append(topic)
            yield
        transaction.topics = kept


_OF_OFFSETS: Final = Elements("topics", "topics", _topic, _merged(_by_error_response("topics", "topics")))

ROWS: Final[Mapping[str, Row]] = {
    "Produce": Row(take_out=Elements("topic_data", "responses", _topic, _produced)),
    "Fetch": Row(take_out=Elements("topics", "responses", _topic, _fetched)),
    "ListOffsets": Row(take_out=Elements("topics", "topics", _topic)),
    "OffsetForLeaderEpoch": Row(take_out=Elements("topics", "topics", _topic)),
    "DeleteRecords": Row(take_out=Elements("topics", "topics", _topic, _records_deleted)),
    "DescribeCluster": Row(
        operations=_operations_on_cluster,
        has_operations=lambda request: request.include_cluster_authorized_operations,
    ),
    "Metadata": Row(
        take_out=_take_out_of_metadata,
        leave_out=_keep("topics", "name"),
        has_found=_asks_for_all_topics,
        operations=_operations_in_metadata,
        has_operations=lambda request: (
            request.include_topic_authorized_operations or request.include_cluster_authorized_operations
        ),
    ),
    "DescribeTopicPartitions": Row(
        take_out=_take_out_of_pages,
        restrict=_restrict_pages,
        has_found=lambda request, api_version: not request.topics,
        operations=_operations_on_pages,
    ),
    "CreateTopics": Row(take_out=Elements("topics", "topics", _topic, _created), leave_out=_hide_configs),
    "CreatePartitions": Row(take_out=Elements("topics", "results", _topic)),
    "DeleteTopics": Row(take_out=_take_out_of_deletion),
    "DescribeConfigs": Row(take_out=Elements("resources", "results", _config_resource)),
    "AlterConfigs": Row(take_out=Elements("resources", "responses", _config_resource)),
    "IncrementalAlterConfigs": Row(take_out=Elements("resources", "responses", _config_resource)),
    "FindCoordinator": Row(take_out=_take_out_coordinator_keys),
    "ConsumerGroupDescribe": Row(
        take_out=Elements("group_ids", "groups", _named(ResourceType.GROUP)),
        leave_out=_hide_groups,
        operations=_operations_on_groups,
        has_operations=lambda request: request.include_authorized_operations,
    ),
    "OffsetCommit": Row(take_out=_OF_OFFSETS),
    "OffsetFetch": Row(take_out=_take_out_of_offset_fetch, leave_out=_leave_out_fetched_topics, has_found=_fetches_all),
    "OffsetDelete": Row(take_out=Elements("topics", "topics", _topic, _merged(_offsets_deleted))),
    "DescribeGroups": Row(
        take_out=Elements("groups", "groups", _named(ResourceType.GROUP)),
        operations=_operations_on_groups,
        has_operations=lambda request: request.include_authorized_operations,
    ),
    "DeleteGroups": Row(take_out=Elements("groups_names", "results", _named(ResourceType.GROUP), _groups_deleted)),
    "ListGroups": Row(leave_out=_keep("groups", "group_id")),
    "AddPartitionsToTxn": Row(take_out=_reject_all_partitions),
    "TxnOffsetCommit": Row(take_out=_OF_OFFSETS),
    "DescribeProducers": Row(take_out=Elements("topics", "topics", _topic)),
    "DescribeTransactions": Row(
        take_out=Elements("transactional_ids", "transaction_states", _named(ResourceType.TRANSACTIONAL_ID)),
        leave_out=_leave_out_topics_of_transactions,
    ),
    "ListTransactions": Row(leave_out=_keep("transaction_states", "transactional_id")),
}
"""Name of an API → what becomes of a part that is denied. An API that needs a row is not served without it."""

NO_ROW: Final = Row()


def has_row(name: str) -> bool:
    """Whether all requirements of an API that are not about the whole request have what they need."""
    kinds = {each.when_denied for each in REQUIREMENTS[name]}
    row = ROWS.get(name, NO_ROW)
    return (WhenDenied.ANSWER_EACH not in kinds or row.take_out is not None) and (
        WhenDenied.LEAVE_OUT not in kinds or row.restrict is not None or row.leave_out is not None
    )


def operations_of(reported: Iterable[Reported], access: Access, supported: Mapping[ResourceType, Any]) -> Steps[None]:
    """Let the response report what the client may do, where it reports all that can be done."""
    for struct, field, resource_type, name in reported:
        if getattr(struct, field) != NO_AUTHORIZED_OPERATIONS:
            allowed = 0
            is_hidden = resource_type is ResourceType.CLUSTER and not access.may(
                AclOperation.DESCRIBE, resource_type, name
            )
            if not is_hidden:
                for operation in supported[resource_type]:
                    if access.may(operation, resource_type, name):
                        allowed |= 1 << operation
            setattr(struct, field, allowed)
        yield
