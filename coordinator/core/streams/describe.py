"""StreamsGroupDescribe: a streams group as an administrator sees it.

Counterpart in Kafka: `GroupMetadataManager.streamsGroupDescribe`, `StreamsGroup.asDescribedGroup`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from _wire.messages.streams_group_describe import (
    Assignment,
    DescribedGroup,
    Endpoint,
    KeyValue,
    Member,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)
from coordinator.core.decision import OperationContext
from coordinator.core.groups.descriptions import Descriptions
from coordinator.core.streams import topology as stored
from coordinator.core.streams.configured import ConfiguredSubtopology
from coordinator.core.streams.group import StreamsGroup
from coordinator.core.streams.member import StreamsMember
from coordinator.core.streams.settings import streams_settings_of
from coordinator.core.streams.tasks import utf16

MEMBER_BYTES: Final = 800
"""About what a described member takes, without its tasks."""
TASK_BYTES: Final = 40


def described_bytes(group: StreamsGroup) -> int:
    """About what the description of the members takes in memory, or when it is encoded."""
    tasks = sum(
        sum(map(len, member.current.assigned.active.values())) + sum(map(len, member.current.assigned.standby.values()))
        for member in group.members.values()
    )
    return len(group.members) * MEMBER_BYTES + 2 * tasks * TASK_BYTES


def _described(group: StreamsGroup, context: OperationContext) -> DescribedGroup:
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        topology=_topology(group),
        members=[_member(member, group) for member in group.members.values()],
    )


def _topology(group: StreamsGroup) -> Topology | None:
    """With the numbers of partitions when it is ready, else as it was sent."""
    if group.topology is None:
        return None
    configured = group.configured
    if configured is not None and configured.is_ready and configured.subtopologies is not None:
        parts = [_configured(part) for part in configured.subtopologies.values()]
    else:
        parts = [_sent(part) for part in group.topology.subtopologies]
    return Topology(epoch=group.topology.epoch, subtopologies=parts)


def _configured(part: ConfiguredSubtopology) -> Subtopology:
    return Subtopology(
        subtopology_id=part.subtopology_id,
        source_topics=sorted(part.source_topics, key=utf16),
        repartition_sink_topics=sorted(part.repartition_sink_topics, key=utf16),
        state_changelog_topics=_topic_infos(_by_name(part.changelog_topics)),
        repartition_source_topics=_topic_infos(_by_name(part.repartition_source_topics)),
    )


def _by_name(topics: Mapping[str, stored.TopicInfo]) -> list[stored.TopicInfo]:
    return [topics[name] for name in sorted(topics, key=utf16)]


def _sent(part: stored.Subtopology) -> Subtopology:
    return Subtopology(
        subtopology_id=part.subtopology_id,
        source_topics=part.source_topics,
        repartition_sink_topics=part.repartition_sink_topics,
        state_changelog_topics=_topic_infos(part.changelog_topics),
        repartition_source_topics=_topic_infos(part.repartition_source_topics),
    )


def _topic_infos(topics: Iterable[stored.TopicInfo]) -> list[TopicInfo]:
    return [
        TopicInfo(
            name=topic.name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            topic_configs=[KeyValue(key=key, value=value) for key, value in topic.configs],
        )
        for topic in topics
    ]


def _member(member: StreamsMember, group: StreamsGroup) -> Member:
    metadata, current, target = member.metadata, member.current, group.target(member.member_id)
    endpoint = metadata.user_endpoint
    return Member(
        member_id=member.member_id,
        member_epoch=current.epoch,
        rack_id=metadata.rack_id,
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        topology_epoch=metadata.topology_epoch,
        process_id=metadata.process_id,
        user_endpoint=None if endpoint is None else Endpoint(host=endpoint[0], port=endpoint[1]),
        client_tags=[KeyValue(key=key, value=value) for key, value in metadata.client_tags],
        assignment=_assignment(current.assigned),
        target_assignment=_assignment(target),
    )


def _assignment(tasks: Any) -> Assignment:
    """Of a target, or of what a member has: then without what it has to give up."""
    return Assignment(
        active_tasks=_task_ids(tasks.active),
        standby_tasks=_task_ids(tasks.standby),
        warmup_tasks=_task_ids(tasks.warmup),
    )


def _task_ids(tasks: Mapping[str, Iterable[int]]) -> list[TaskIds]:
    return [
        TaskIds(subtopology_id=subtopology_id, partitions=sorted(numbers)) for subtopology_id, numbers in tasks.items()
    ]


DESCRIPTIONS: Final = Descriptions(
    "a streams group",
    (StreamsGroupDescribeRequest, StreamsGroupDescribeResponse, DescribedGroup),
    _described,
    lambda environment: streams_settings_of(environment).is_enabled(),
)
