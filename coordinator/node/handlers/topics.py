"""CreateTopics, CreatePartitions and DeleteTopics."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from _wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from _wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from coordinator.broker.configs.topic_config_keys import ALL_KEYS
from coordinator.broker.configs.topic_configs import origins
from coordinator.broker.topics import DEFAULT_COUNT, Plan, TopicError, Topics
from coordinator.config.server_keys import NODE_ID
from coordinator.config.settings import Config
from coordinator.front.dispatch import DispatchTable
from coordinator.front.protocol_types import TOPIC_STATES_VERSION
from coordinator.front.request_context import RequestContext
from coordinator.metadata.store import MetadataStore, NewTopic
from coordinator.node.handlers.deferred import answer_when_committed
from coordinator.node.handlers.request_timeouts import within_timeout
from coordinator.node.mutation_quota import mutation_counter
from coordinator.runtime.slices import Steps

NO_ID: Final = bytes(16)
TOPICS_AT_ONCE: Final = 100
"""Topics of one request that are created or deleted with one append, before other requests have their turn."""

CONFIGS_VERSION: Final = 5
"""From this version on the response of CreateTopics has the configs of the topics (KIP-525)."""
CONFIGS_REPORTED_OF_TOPICS: Final = 1_000
"""The first topics of a request, whose configs its response has; a response cannot be encoded in slices."""

CREATE_STRICT_SINCE: Final = 6
CREATE_PARTITIONS_STRICT_SINCE: Final = 3
DELETE_STRICT_SINCE: Final = 5
"""From these versions on clients know THROTTLING_QUOTA_EXCEEDED (KIP-599)."""


class TopicHandlers:
    """Creates, enlarges and deletes topics. A request is answered when all that it has changed is durable."""

    def __init__(
        self,
        *,
        config: Config,
        metadata: MetadataStore,
        topics: Topics,
        topics_deleted: Callable[[Iterable[str]], None],
        now_ms: Callable[[], int],
    ) -> None:
        self._config = config
        self._metadata = metadata
        self._topics = topics
        self._topics_deleted = topics_deleted
        self._now_ms = now_ms
        self._node_id = config[NODE_ID]

    def add_to(self, table: DispatchTable) -> None:
        table.add("CreateTopics", within_timeout(self.create, _create_error), _create_error)
        add_partitions = within_timeout(self.add_partitions, _add_partitions_error)
        table.add("CreatePartitions", add_partitions, _add_partitions_error)
        table.add("DeleteTopics", within_timeout(self.delete, _delete_error), _delete_error)

    def create(self, request: CreateTopicsRequest, call: RequestContext) -> Steps[Any]:
        times = Counter(topic.name for topic in request.topics)
        once = list({topic.name: topic for topic in request.topics}.values())
        response = CreateTopicsResponse()
        count = mutation_counter(call, CREATE_STRICT_SINCE)
        for first in range(0, len(once), TOPICS_AT_ONCE):
            plan = Plan()
            are_configs_reported = call.api_version >= CONFIGS_VERSION and first < CONFIGS_REPORTED_OF_TOPICS
            results = [
                self._plan_one(topic, times, plan, count, are_configs_reported)
                for topic in once[first : first + TOPICS_AT_ONCE]
            ]
            if not request.validate_only:
                self._topics.create_planned(plan, self._now_ms())
                for result in results:
                    if result.error_code == ErrorCode.NONE:
                        result.topic_id = self._metadata.latest_image.topic_id(result.name)
            response.topics += results
            yield
        return (yield from answer_when_committed(self._metadata, response))

    def _plan_one(
        self,
        requested: CreatableTopic,
        times: Mapping[str, int],
        plan: Plan,
        count_mutations: Callable[[int], None],
        are_configs_reported: bool,
    ) -> CreatableTopicResult:
        if times[requested.name] > 1:
            return _not_created(requested, ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
        configs = {config.name: config.value for config in requested.configs}
        try:
            partitions, replication_factor = _counts(requested, self._node_id)
            count = self._topics.plan(plan, requested.name, partitions, replication_factor, configs, count_mutations)
        except TopicError as problem:
            return _not_created(requested, problem.error, str(problem) or None)
        return CreatableTopicResult(
            name=requested.name,
            topic_id=NO_ID,
            error_message=None,
            num_partitions=count,
            replication_factor=1,
            configs=self._configs_of(plan.topics[-1]) if are_configs_reported else None,
        )

    def _configs_of(self, topic: NewTopic) -> list[CreatableTopicConfigs]:
        reported = []
        for key in ALL_KEYS:
            origin = origins(key, topic.name, topic.configs, self._config)[0]
            reported.append(CreatableTopicConfigs(name=key.name, value=origin.text, config_source=origin.source))
        return reported

    def add_partitions(self, request: CreatePartitionsRequest, call: RequestContext) -> Steps[Any]:
        times = Counter(topic.name for topic in request.topics)
        topics = {topic.name: topic for topic in request.topics}
        count = mutation_counter(call, CREATE_PARTITIONS_STRICT_SINCE)
        results = []
        for name, topic in topics.items():
            if times[name] > 1:
                results.append(_not_grown(name, ErrorCode.INVALID_REQUEST, "Duplicate topic name."))
            else:
                results.append(self._add_partitions(topic, request.validate_only, count))
            yield
        return (yield from answer_when_committed(self._metadata, CreatePartitionsResponse(results=results)))

    def _add_partitions(
        self, requested: CreatePartitionsTopic, validate_only: bool, count_mutations: Callable[[int], None]
    ) -> CreatePartitionsTopicResult:
        topics = self._topics
        try:
            topics.validate_more_partitions(requested.name, requested.count)
            more = requested.count - self._metadata.latest_image.partition_count(requested.name)
            if requested.assignments is not None:
                _check_assignments(more, [assignment.broker_ids for assignment in requested.assignments], self._node_id)
            count_mutations(more)
            if not validate_only:
                topics.add_partitions(requested.name, requested.count, self._now_ms())
        except TopicError as problem:
            return _not_grown(requested.name, problem.error, str(problem) or None)
        return CreatePartitionsTopicResult(name=requested.name)

    def delete(self, request: DeleteTopicsRequest, call: RequestContext) -> Steps[Any]:
        requested = request.topics
        if call.api_version < TOPIC_STATES_VERSION:
            requested = [DeleteTopicState(name=name) for name in request.topic_names]
        valid, responses = yield from _split_valid(requested)
        responses += yield from self._delete_distinct(valid, mutation_counter(call, DELETE_STRICT_SINCE))
        return (yield from answer_when_committed(self._metadata, DeleteTopicsResponse(responses=responses)))

    def _delete_distinct(
        self, requested: list[DeleteTopicState], count_mutations: Callable[[int], None]
    ) -> Steps[list[DeletableTopicResult]]:
        """Delete topics that are named by name or by id, each at most once; one that is named by both stays."""
        image = self._metadata.latest_image
        named = []
        names: Counter[str | None] = Counter()
        for entry in requested:
            topic = image.topics_by_id.get(entry.topic_id) if entry.name is None else None
            named.append((entry, topic))
            names[entry.name if topic is None else topic.name] += 1
            yield
        responses: list[DeletableTopicResult] = []
        for first in range(0, len(named), TOPICS_AT_ONCE):
            yield
            allowed: list[str] = []
            for entry, topic in named[first : first + TOPICS_AT_ONCE]:
                name = entry.name if topic is None else topic.name
                if name is None:
                    message = "This server does not host this topic ID."
                    responses.append(_not_deleted(None, entry.topic_id, ErrorCode.UNKNOWN_TOPIC_ID, message))
                elif names[name] == 1:
                    responses.append(self._check_deletion(name, allowed, count_mutations))
                elif topic is not None:
                    message = "The provided topic name maps to an ID that was already supplied."
                    responses.append(_not_deleted(name, topic.topic_id, ErrorCode.INVALID_REQUEST, message))
            if allowed:
                deleted = partial(self._topics_deleted, allowed)
                self._topics.delete(allowed, self._now_ms(), deleted)
        return responses

    def _check_deletion(
        self, name: str, allowed: list[str], count_mutations: Callable[[int], None]
    ) -> DeletableTopicResult:
        """The answer for a topic, which joins the `allowed` ones if it can be deleted."""
        image = self._metadata.latest_image
        topic_id = image.topic_id(name)
        try:
            self._topics.check_deletion(name)
            count_mutations(image.partition_count(name))
        except TopicError as problem:
            return _not_deleted(name, topic_id, problem.error, str(problem) or None)
        allowed.append(name)
        return DeletableTopicResult(name=name, topic_id=topic_id)


def _counts(requested: CreatableTopic, node_id: int) -> tuple[int, int]:
    """Partitions and replication factor. With a replica assignment both are -1 and its length counts.

    Raises TopicError for an assignment that one broker cannot have.
    """
    if not requested.assignments:
        return requested.num_partitions, requested.replication_factor
    if (requested.num_partitions, requested.replication_factor) != (DEFAULT_COUNT, DEFAULT_COUNT):
        message = "With a replica assignment, partition count and replication factor must be -1."
        raise TopicError(ErrorCode.INVALID_REQUEST, message)
    indexes = sorted(assignment.partition_index for assignment in requested.assignments)
    if indexes != list(range(len(indexes))) or any(
        assignment.broker_ids != [node_id] for assignment in requested.assignments
    ):
        message = f"Partitions must be 0, 1, 2, … with broker {node_id} each: there is no other."
        raise TopicError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
    return len(indexes), 1


def _check_assignments(partitions: int, broker_ids: list[list[int]], node_id: int) -> None:
    """Raises TopicError for assignments of new partitions that one broker cannot have."""
    if len(broker_ids) != partitions:
        message = (
            f"Attempted to add {partitions} additional partition(s), but only {len(broker_ids)} assignment(s) were "
            "specified."
        )
        raise TopicError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
    if any(broker_id != [node_id] for broker_id in broker_ids):
        message = f"Each new partition must be on broker {node_id}: there is no other."
        raise TopicError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)


def _not_grown(name: str, error: ErrorCode, message: str | None) -> CreatePartitionsTopicResult:
    return CreatePartitionsTopicResult(name=name, error_code=error, error_message=message)


def _not_created(requested: CreatableTopic, error: ErrorCode, message: str | None) -> CreatableTopicResult:
    return CreatableTopicResult(name=requested.name, error_code=error, error_message=message)


def _split_valid(requested: list[DeleteTopicState]) -> Steps[tuple[list[DeleteTopicState], list[DeletableTopicResult]]]:
    """The topics that are named once, by a name or an id, and the answers for the others."""
    times: Counter[tuple[str | None, bytes]] = Counter()
    for topic in requested:
        times[topic.name, topic.topic_id] += 1
        yield
    valid, rejected = [], []
    for (name, topic_id), count in times.items():
        yield
        if name is not None and topic_id != NO_ID:
            problem = "You may not specify both topic name and topic id."
        elif name is None and topic_id == NO_ID:
            problem = "Neither topic name nor id were specified."
        elif count > 1:
            problem = "Duplicate topic id." if name is None else "Duplicate topic name."
        else:
            valid.append(DeleteTopicState(name=name, topic_id=topic_id))
            continue
        rejected.append(_not_deleted(name, topic_id, ErrorCode.INVALID_REQUEST, problem))
    return valid, rejected


def _not_deleted(name: str | None, topic_id: bytes, error: ErrorCode, message: str | None) -> DeletableTopicResult:
    return DeletableTopicResult(name=name, topic_id=topic_id, error_code=error, error_message=message)


def _create_error(request: CreateTopicsRequest, error: ErrorCode, api_version: int) -> CreateTopicsResponse:
    return CreateTopicsResponse(topics=[_not_created(topic, error, None) for topic in request.topics])


def _add_partitions_error(
    request: CreatePartitionsRequest, error: ErrorCode, api_version: int
) -> CreatePartitionsResponse:
    results = [_not_grown(topic.name, error, None) for topic in request.topics]
    return CreatePartitionsResponse(results=results)


def _delete_error(request: DeleteTopicsRequest, error: ErrorCode, api_version: int) -> DeleteTopicsResponse:
    named = request.topics or [DeleteTopicState(name=name) for name in request.topic_names]
    return DeleteTopicsResponse(
        responses=[_not_deleted(member_id.name, member_id.topic_id, error, None) for member_id in named]
    )
