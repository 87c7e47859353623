"""StreamsGroupHeartbeat before its group is asked: what Kafka rejects there, and the responses.

Counterpart in Kafka: `throwIfStreamsGroupHeartbeatRequestIsInvalid` of `GroupCoordinatorService`, and the checks of
topic names in `KafkaApis`.
"""

from collections.abc import Sized
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Subtopology,
    Topology,
)
from coordinator.core.consumer.heartbeat_requests import Rejection, is_blank
from coordinator.core.decision import OperationContext
from coordinator.core.operation import Answer
from coordinator.core.streams.member import LEAVE_EPOCH, LEAVE_STATIC_EPOCH, NO_EPOCH
from coordinator.core.streams.settings import streams_settings_of
from coordinator.core.topology_topics import topics_of_topology
from coordinator.internal_topics import INTERNAL_TOPICS
from coordinator.topic_names import illegal_reason

API: Final = "StreamsGroupHeartbeat"
UNCHANGED_TIMEOUT: Final = -1
TOPOLOGY_ENTRIES_MAX: Final = 10_000
"""Subtopologies, topics, configs of topics and places in copartition groups of one topology. Each member that joins
sends its own, which is compared as a whole."""
SUBTOPOLOGIES_MAX: Final = 1_500
"""They are compared with the topics of the cluster in one step, of up to 30 ms."""
CLIENT_TAGS_MAX: Final = 1_000
OWNED_TASKS_MAX: Final = 100_000
"""Tasks that one heartbeat names."""


def streams_rejection_response(rejection: Rejection) -> StreamsGroupHeartbeatResponse:
    return StreamsGroupHeartbeatResponse(error_code=rejection.error, error_message=rejection.message, status=[])


def error_response(
    request: StreamsGroupHeartbeatRequest, error: ErrorCode, api_version: int
) -> StreamsGroupHeartbeatResponse:
    return StreamsGroupHeartbeatResponse(error_code=error, status=[])


def prepare(request: StreamsGroupHeartbeatRequest, context: OperationContext) -> StreamsGroupHeartbeatRequest | Answer:
    """Reject what needs no group to be found wrong."""
    if not streams_settings_of(context.environment).is_enabled():
        disabled = "The group coordinator does not serve streams groups: streams.version is 0."
        return Answer(streams_rejection_response(Rejection(ErrorCode.UNSUPPORTED_VERSION, disabled)))
    rejection = _too_large(request) or _invalid_names(request.topology) or _invalid(request)
    return request if rejection is None else Answer(streams_rejection_response(rejection))


def _too_large(request: StreamsGroupHeartbeatRequest) -> Rejection | None:
    """What would hold up the groups of others: Kafka has no such bounds, and no application comes near them."""
    parts = 0 if request.topology is None else len(request.topology.subtopologies)
    if parts > SUBTOPOLOGIES_MAX:
        reason = f"The topology has {parts:,} subtopologies; {SUBTOPOLOGIES_MAX:,} is the maximum."
        return Rejection(ErrorCode.STREAMS_INVALID_TOPOLOGY, reason)
    entries = 0 if request.topology is None else sum(_entries(part) for part in request.topology.subtopologies)
    if entries > TOPOLOGY_ENTRIES_MAX:
        reason = (
            f"The topology has {entries:,} subtopologies, topics and configs; {TOPOLOGY_ENTRIES_MAX:,} is the maximum."
        )
        return Rejection(ErrorCode.STREAMS_INVALID_TOPOLOGY, reason)
    tags = len(request.client_tags or ())
    if tags > CLIENT_TAGS_MAX:
        return Rejection(
            ErrorCode.INVALID_REQUEST, f"The member has {tags:,} client tags; {CLIENT_TAGS_MAX:,} is the maximum."
        )
    lists = request.active_tasks, request.standby_tasks, request.warmup_tasks
    named = sum(1 + len(task_ids.partitions) for tasks in lists for task_ids in tasks or ())
    if named > OWNED_TASKS_MAX:
        reason = f"The heartbeat names {named:,} subtopologies and tasks; {OWNED_TASKS_MAX:,} is the maximum."
        return Rejection(ErrorCode.INVALID_REQUEST, reason)
    return None


def _entries(part: Subtopology) -> int:
    topics = (*part.state_changelog_topics, *part.repartition_source_topics)
    lists: list[Sized] = [part.source_topics, part.source_topic_regex, part.repartition_sink_topics]
    lists += [topic.topic_configs for topic in topics]
    for group in part.copartition_groups:
        lists += [group.source_topics, group.source_topic_regex, group.repartition_source_topics]
    return 1 + len(topics) + len(part.copartition_groups) + sum(map(len, lists))


def _invalid_names(topology: Topology | None) -> Rejection | None:
    if topology is None:
        return None
    names = set(topics_of_topology(topology))
    internal = sorted(names & INTERNAL_TOPICS)
    if internal:
        reason = f"Use of Kafka internal topics {', '.join(internal)} in a Kafka Streams topology is prohibited."
        return Rejection(ErrorCode.STREAMS_INVALID_TOPOLOGY, reason)
    invalid = sorted(name for name in names if illegal_reason(name))
    if invalid:
        reason = f"Topic names {', '.join(invalid[:3])} are not valid topic names."
        return Rejection(ErrorCode.STREAMS_INVALID_TOPOLOGY, reason)
    return None


def _invalid(request: StreamsGroupHeartbeatRequest) -> Rejection | None:
    reason = _unsupported_reason(request) or _invalid_reason(request)
    if reason is not None:
        return Rejection(ErrorCode.INVALID_REQUEST, reason)
    if request.member_epoch == NO_EPOCH:
        reason = _invalid_changelog_reason(request.topology)
        if reason is not None:
            return Rejection(ErrorCode.STREAMS_INVALID_TOPOLOGY, reason)
    return None


def _unsupported_reason(request: StreamsGroupHeartbeatRequest) -> str | None:
    """What the protocol has and Kafka 4.3 does not support."""
    if request.instance_id is not None:
        return "Static membership is not yet supported."
    if request.task_offsets is not None:
        return "TaskOffsets are not supported yet."
    if request.task_end_offsets is not None:
        return "TaskEndOffsets are not supported yet."
    if request.warmup_tasks:
        return "WarmupTasks are not supported yet."
    if request.topology is not None and any(part.source_topic_regex for part in request.topology.subtopologies):
        return "Regular expressions for source topics are not supported yet."
    return None


def _invalid_reason(request: StreamsGroupHeartbeatRequest) -> str | None:
    if is_blank(request.member_id):
        return "MemberId can't be empty."
    if is_blank(request.group_id):
        return "GroupId can't be empty."
    if request.rack_id is not None and is_blank(request.rack_id):
        return "RackId can't be empty."
    epoch = request.member_epoch
    if epoch == NO_EPOCH:
        reason = _invalid_join_reason(request)
        if reason is not None:
            return reason
    elif epoch == LEAVE_STATIC_EPOCH:
        return "InstanceId can't be null."
    elif epoch < LEAVE_EPOCH:
        return "MemberEpoch is invalid."
    lists = request.active_tasks, request.standby_tasks, request.warmup_tasks
    if any(tasks is None for tasks in lists) and any(tasks is not None for tasks in lists):
        return "If one task-type is non-null, all must be non-null."
    if epoch != NO_EPOCH and request.topology is not None:
        return "Topology can only be provided when (re-)joining."
    return None


def _invalid_join_reason(request: StreamsGroupHeartbeatRequest) -> str | None:
    if request.rebalance_timeout_ms == UNCHANGED_TIMEOUT:
        return "RebalanceTimeoutMs must be provided in first request."
    for name, tasks in (
        ("ActiveTasks", request.active_tasks),
        ("StandbyTasks", request.standby_tasks),
        ("WarmupTasks", request.warmup_tasks),
    ):
        if tasks is None or tasks:
            return f"{name} must be empty when (re-)joining."
    return "Topology must be non-null when (re-)joining." if request.topology is None else None


def _invalid_changelog_reason(topology: Topology | None) -> str | None:
    changelogs: list[Any] = (
        [] if topology is None else [topic for part in topology.subtopologies for topic in part.state_changelog_topics]
    )
    fixed = next((topic.name for topic in changelogs if topic.partitions), None)
    if fixed is None:
        return None
    return f"Changelog topic {fixed} must have an undefined partition count."
