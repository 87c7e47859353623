"""Describes a streams group (KIP-1071) for `what-if`: tasks are in place of partitions, subtopologies of topics."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from _wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from _wire.messages.streams_group_describe import DescribedGroup, StreamsGroupDescribeRequest
from coordinator.client.group_members import NOT_OF_THE_TYPE
from coordinator.client.groups import (
    GENERATION_ID,
    STABLE,
    DescribedConsumers,
    Units,
    existing_topics,
    raise_for_error,
)
from coordinator.client.wire import ClientError, WireConnection
from coordinator.core.assignors.model import Assignment, MemberSubscription, RebalanceProtocol, Topic
from coordinator.core.assignors.registry import Assignor
from coordinator.core.streams.assignors.sticky import NAME, TaskSource
from coordinator.core.streams.target import StreamsTargetInput, streams_target_steps
from coordinator.core.streams.tasks import NO_ASSIGNMENT, TaskAssignment, Tasks, tasks_of, utf16

GROUP_RESOURCE: Final = 32
STANDBY_REPLICAS: Final = "streams.num.standby.replicas"
ACTIVE_TASKS: Final = Units("active task", "subtopology", "subtopologies")
STANDBY_TASKS: Final = Units("standby task", "subtopology", "subtopologies", are_copies=True)


def describe_streams(
    anyone: WireConnection, coordinator: WireConnection, group_id: str
) -> tuple[DescribedConsumers, ...] | None:
    """The group with its active tasks, and with its standby tasks if it has any; None: it is no streams group.

    Raises:
        ClientError: it is not stable, or cannot be described.
    """
    group = _describe(coordinator, group_id)
    if group is None:
        return None
    sources = _sources(anyone, group)
    standbys = _standby_replicas(coordinator, group_id)
    sticky = _Sticky(
        processes={member.member_id: member.process_id for member in group.members},
        targets={member.member_id: _target(member.target_assignment) for member in group.members},
        sources=sources,
        standbys=standbys,
    )
    active = _with_tasks(group, {source.subtopology_id: source.tasks for source in sources}, sticky)
    stateful = [source.subtopology_id for source in sources if source.is_stateful]
    if not standbys or not stateful:
        return (active,)
    # As many as there are: a process has no standby task of its own active tasks, so it may be fewer than asked for.
    there = dict.fromkeys(stateful, 0)
    for member in group.members:
        for tasks in member.assignment.standby_tasks:
            there[tasks.subtopology_id] = there.get(tasks.subtopology_id, 0) + len(tasks.partitions)
    return active, _with_tasks(group, there, sticky, are_standby=True)


class _Sticky:
    """Kafka's assignor for these members. New ones have a process of their own each."""

    def __init__(
        self,
        processes: Mapping[str, str],
        targets: Mapping[str, TaskAssignment],
        sources: tuple[TaskSource, ...],
        standbys: int,
    ) -> None:
        self._processes, self._targets = processes, targets
        self._sources, self._standbys = sources, standbys

    def target(self, member_ids: Sequence[str]) -> dict[str, TaskAssignment]:
        processes = {member_id: self._processes.get(member_id, member_id) for member_id in member_ids}
        before = {member_id: self._targets[member_id] for member_id in member_ids if member_id in self._targets}
        steps = streams_target_steps(StreamsTargetInput(processes, before, self._sources, self._standbys))
        while True:
            try:
                next(steps)
            except StopIteration as finished:
                changed: dict[str, TaskAssignment] = finished.value
                return {**before, **changed}


def _with_tasks(
    group: DescribedGroup, tasks: Mapping[str, int], sticky: _Sticky, *, are_standby: bool = False
) -> DescribedConsumers:
    """`tasks`: subtopology id → how many of its tasks are divided."""

    def of_kind(assignment: TaskAssignment) -> Tasks:
        return assignment.standby if are_standby else assignment.active

    def assign(members: Sequence[MemberSubscription], topics: Mapping[str, Topic]) -> Assignment:
        target = sticky.target([member.member_id for member in members])
        return {
            member.member_id: {
                subtopology_id: list(numbers)
                for subtopology_id, numbers in of_kind(target.get(member.member_id, NO_ASSIGNMENT)).items()
            }
            for member in members
        }

    subtopologies = {subtopology_id: Topic(count) for subtopology_id, count in tasks.items()}
    members = tuple(
        MemberSubscription(
            member.member_id,
            frozenset(subtopologies),
            None,
            {name: list(numbers) for name, numbers in of_kind(_target(member.assignment)).items()},
            GENERATION_ID,
        )
        for member in group.members
    )
    return DescribedConsumers(
        group.group_id,
        NAME,
        members,
        {member.member_id: member.client_id for member in group.members},
        subtopologies,
        # Members give up what they have to without waiting for one another: no second rebalance.
        {NAME: Assignor(NAME, RebalanceProtocol.EAGER, assign)},
        protocol="streams",
        units=STANDBY_TASKS if are_standby else ACTIVE_TASKS,
    )


def _describe(coordinator: WireConnection, group_id: str) -> DescribedGroup | None:
    if not coordinator.supports(StreamsGroupDescribeRequest.API_KEY):
        return None
    (group,) = coordinator.send_latest(StreamsGroupDescribeRequest(group_ids=[group_id])).groups
    described: DescribedGroup = group
    if described.error_code in NOT_OF_THE_TYPE:
        return None
    raise_for_error(described.error_code, f"cannot describe group {group_id}")
    if not described.members:
        raise ClientError(f"group {group_id} has no members; start its application and retry")
    if described.group_state != STABLE:
        raise ClientError(f"group {group_id} is not stable ({described.group_state}); retry when it is")
    return described


def _sources(connection: WireConnection, group: DescribedGroup) -> tuple[TaskSource, ...]:
    """A subtopology has as many tasks as the largest topic that it reads has partitions."""
    parts: list[Any] = [] if group.topology is None else list(group.topology.subtopologies or ())
    reads = {
        part.subtopology_id: [*part.source_topics, *(topic.name for topic in part.repartition_source_topics)]
        for part in parts
    }
    topics, _ = existing_topics(connection, frozenset(name for names in reads.values() for name in names))
    return tuple(
        TaskSource(
            part.subtopology_id,
            max((topics[name].partition_count for name in reads[part.subtopology_id] if name in topics), default=0),
            bool(part.state_changelog_topics),
        )
        for part in sorted(parts, key=lambda part: utf16(part.subtopology_id))
    )


def _target(assignment: Any) -> TaskAssignment:
    return TaskAssignment(tasks_of(assignment.active_tasks), tasks_of(assignment.standby_tasks))


def _standby_replicas(connection: WireConnection, group_id: str) -> int:
    resource = DescribeConfigsResource(
        resource_type=GROUP_RESOURCE, resource_name=group_id, configuration_keys=[STANDBY_REPLICAS]
    )
    (result,) = connection.send_latest(DescribeConfigsRequest(resources=[resource])).results
    raise_for_error(result.error_code, f"cannot read the configs of group {group_id}")
    return next((int(config.value) for config in result.configs if config.value), 0)
