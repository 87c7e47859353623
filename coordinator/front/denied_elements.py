"""Takes denied elements out of a list of a request, and makes their answers.

The answers are those of `KafkaApis` and `ControllerApis` of Kafka 4.3.1.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import msgspec

from _wire.errors import ErrorCode
from _wire.messages.delete_groups import DeletableGroupResult
from _wire.messages.offset_delete import OffsetDeleteResponsePartition, OffsetDeleteResponseTopic
from coordinator.front.request_context import RequestContext
from coordinator.front.requirements import NO_TOPIC_ID
from coordinator.runtime.slices import Steps, one_by_one
from coordinator.security.acls.model import AclOperation, ResourceType

ELEMENTS_AT_ONCE: Final = 500
"""Elements that are looked at in one step."""


TAF: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED


Resource = tuple[ResourceType, str | bytes]
"""16 bytes stand for the id of a topic."""


Denied = Mapping[Resource, frozenset[AclOperation]]
"""Resource → the operations of the requirements that are denied on it."""


class Access(Protocol):
    """What the client of a request may do."""

    def may(self, operation: AclOperation, resource_type: ResourceType, name: str) -> bool:
        """Whether an operation is allowed, without a word about it if it is not."""


class Part(msgspec.Struct, frozen=True):
    """What is left of a request, which was changed in place."""

    response: Any = None
    """The answer, if nothing is left to be handled."""
    add_to: Callable[[Any], None] | None = None
    """Adds the answers of what was taken out to the response of the rest."""


RemoveDenied = Callable[[Denied, Any, RequestContext, Access], Steps[Part]]


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
        self._answer = answer or by_error_response(requested, answered)

    def __call__(self, denied: Denied, request: Any, call: RequestContext, access: Access) -> Steps[Part]:
        left: list[Any] = []
        removed: dict[ResourceType, list[Any]] = {}
        for position, element in enumerate(getattr(request, self._requested)):
            key = self._key(request, element)
            if key is not None and key in denied:
                removed.setdefault(key[0], []).append(element)
            else:
                left.append(element)
            if position % ELEMENTS_AT_ONCE == ELEMENTS_AT_ONCE - 1:
                yield
        answers: list[Any] = []
        for resource_type, elements in removed.items():
            for first in range(0, len(elements), ELEMENTS_AT_ONCE):
                portion = elements[first : first + ELEMENTS_AT_ONCE]
                answers += yield from self._answer(call, portion, resource_type.denied)
                yield
        setattr(request, self._requested, left)
        if not left:
            return Part(response=call.route.api.response(**{self._answered: answers}))

        def add_to(response: Any) -> None:
            if not getattr(response, "error_code", ErrorCode.NONE):
                getattr(response, self._answered).extend(answers)

        return Part(add_to=add_to)


Answer = Callable[[RequestContext, list[Any], ErrorCode], Steps[list[Any]]]
"""(request under way, elements, error) → steps that end with the elements of the response that report the error."""


def in_one_step(answer: Callable[[RequestContext, list[Any], ErrorCode], list[Any]]) -> Answer:
    """Of elements that have no lists of their own."""

    def steps(call: RequestContext, elements: list[Any], error: ErrorCode) -> Steps[list[Any]]:
        yield from ()
        return answer(call, elements, error)

    return steps


def by_error_response(requested: str, answered: str) -> Answer:
    """Answers of the route's own, for a request that has these elements alone."""

    @in_one_step
    def answer(call: RequestContext, elements: list[Any], error: ErrorCode) -> list[Any]:
        return _alone(call, requested, answered, elements, error)

    return answer


def topics_by_error_response(partitions: str) -> Answer:
    """The same for topics, of which a step answers a part. `partitions` is the name of their list in the request."""

    def steps(call: RequestContext, topics: list[Any], error: ErrorCode) -> Steps[list[Any]]:
        answers: list[Any] = []
        count = 0
        for topic in topics:
            whole = getattr(topic, partitions)
            for first in range(0, max(len(whole), 1), ELEMENTS_AT_ONCE):
                setattr(topic, partitions, whole[first : first + ELEMENTS_AT_ONCE])
                (part,) = _alone(call, "topics", "topics", [topic], error)
                if first:
                    answers[-1].partitions.extend(part.partitions)
                else:
                    answers.append(part)
                count += len(part.partitions) + 1
                if count >= ELEMENTS_AT_ONCE:
                    count = 0
                    yield
            setattr(topic, partitions, whole)
        return answers

    return steps


def _alone(call: RequestContext, requested: str, answered: str, elements: list[Any], error: ErrorCode) -> list[Any]:
    request = call.request
    alone = type(request)(**{name: getattr(request, name) for name in request.FIELDS})
    setattr(alone, requested, elements)
    answers: list[Any] = getattr(call.route.error_response(alone, error, call.api_version), answered)
    return answers


def merged(answer: Answer) -> Answer:
    """A topic that is named twice is answered once, with the partitions of both (`OffsetCommitResponse.Builder`)."""

    def merge(call: RequestContext, elements: list[Any], error: ErrorCode) -> Steps[list[Any]]:
        topics: dict[Any, Any] = {}
        for topic in (yield from answer(call, elements, error)):
            existing: Any = topics.setdefault(topic_key(None, topic), topic)
            if existing is not topic:
                existing.partitions.extend(topic.partitions)
        return list(topics.values())

    return merge


def topic_key(request: Any, element: Any) -> Resource | None:
    """A topic by its name, which is in `name` or `topic`, else by its id. As in `requirements.py`."""
    name = element.name if hasattr(element, "name") else element.topic
    topic_id = getattr(element, "topic_id", NO_TOPIC_ID)
    if not name and topic_id != NO_TOPIC_ID:
        return ResourceType.TOPIC, topic_id
    return None if name is None else (ResourceType.TOPIC, name)


def name_key(resource_type: ResourceType) -> Callable[[Any, Any], Resource | None]:
    """Elements that are names themselves."""
    return lambda request, element: (resource_type, element)


def offsets_deleted(call: RequestContext, elements: list[Any], error: ErrorCode) -> Steps[list[Any]]:
    def failed(partition: Any) -> OffsetDeleteResponsePartition:
        return OffsetDeleteResponsePartition(partition_index=partition.partition_index, error_code=error)

    answers = []
    for element in elements:
        partitions = yield from one_by_one(element.partitions, failed)
        answers.append(OffsetDeleteResponseTopic(name=element.name, partitions=partitions))
    return answers


@in_one_step
def groups_deleted(call: RequestContext, elements: list[Any], error: ErrorCode) -> list[Any]:
    return [DeletableGroupResult(group_id=group_id, error_code=error) for group_id in dict.fromkeys(elements)]
