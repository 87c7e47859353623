"""The internal topics of a topology (changelogs, repartition topics) are created beside the requests.

The heartbeat that finds topics missing is answered with that; the operation `internal topics answered` brings what came
of them. Members get tasks when the topics are there, with the next heartbeat.

Counterpart in Kafka: `AutoTopicCreationManager.createStreamsInternalTopics`.
"""

from collections.abc import Generator, Mapping, Sequence
from typing import Any, Final

import msgspec

from coordinator.core.decision import NOTHING, Decision, Environment, OperationContext
from coordinator.core.groups.group import Group
from coordinator.core.streams.configured import NAMED_MAX, ConfiguredTopology, TopologyStatus
from coordinator.core.streams.events import InternalTopicsAnswered
from coordinator.core.streams.group import StreamsGroup
from coordinator.core.streams.settings import streams_settings
from coordinator.core.streams.topology import TopicInfo

INTERVALS_FAILED: Final = 2
"""For so many heartbeat intervals it is told why a topic was not created, and it is not tried again."""


class InternalTopicsRequest(msgspec.Struct, frozen=True):
    """Topics to create. That the client may was checked before."""

    topics: tuple[TopicInfo, ...]


class InternalTopicsResult(msgspec.Struct, frozen=True):
    """What came of them: the request of `internal topics answered`."""

    topics: tuple[str, ...]
    failed: Mapping[str, str]
    """Topic → why it was not created."""


def creation_steps(
    request: InternalTopicsRequest, environment: Environment
) -> Generator[Any, Any, InternalTopicsResult]:
    creation = environment.topic_creation
    assert creation is not None, "work that nobody can do is not started"
    failed = yield from creation.create(request.topics)
    return InternalTopicsResult(tuple(topic.name for topic in request.topics), failed)


def not_created(request: InternalTopicsRequest, problem: Exception) -> InternalTopicsResult:
    """What the operation gets after a step that raised."""
    names = tuple(topic.name for topic in request.topics)
    return InternalTopicsResult(names, dict.fromkeys(names, str(problem)))


def answer(group: Group[StreamsGroup] | None, request: InternalTopicsResult, context: OperationContext) -> Decision:
    if group is None:
        return NOTHING
    interval_ms = streams_settings(context.environment, group.group_id).heartbeat_interval_ms
    answered = InternalTopicsAnswered(
        group_id=group.group_id,
        at_ms=context.wall_ms,
        topics=request.topics,
        failed=request.failed,
        failed_until_ms=context.now_ms + INTERVALS_FAILED * interval_ms,
    )
    return Decision((answered,), no_step_follows=True)


def answer_failed(
    group: Group[StreamsGroup] | None, request: InternalTopicsResult, context: OperationContext, problem: object
) -> Decision:
    """The event is not stored, so nothing can be too large for it."""
    return NOTHING


def topics_to_create(
    group: StreamsGroup, configured: ConfiguredTopology, context: OperationContext
) -> Sequence[TopicInfo]:
    """Those that are missing, that nobody is creating, and that have not failed a moment ago."""
    has_failed = group.failed_topics if context.now_ms < group.failed_until_ms else {}
    return [
        topic for name, topic in configured.missing.items() if name not in group.creating and name not in has_failed
    ]


def status_with_reasons(
    group: StreamsGroup, status: TopologyStatus, unauthorized: Sequence[str], context: OperationContext
) -> TopologyStatus:
    """The status of missing internal topics, and why they are not created."""
    detail = status.detail
    if unauthorized:
        detail += f"; Unauthorized to CREATE on topics {', '.join(unauthorized)}."
    if group.failed_topics and context.now_ms < group.failed_until_ms:
        reasons = [f"{topic} ({reason})" for topic, reason in group.failed_topics.items()]
        more = len(reasons) - NAMED_MAX
        detail += f"; Creation failed: {', '.join(reasons[:NAMED_MAX])}"
        detail += f", … and {more} more." if more > 0 else "."
    return TopologyStatus(status.code, detail)
