"""The target assignments of large groups, which are computed beside the requests.

The heartbeat that finds the target due is answered as within `group.consumer.assignment.interval.ms`, with what the
target was so far; the operation `install target` brings the new one. Kafka 4.3 computes every target in the request.
"""

from collections.abc import Generator, Mapping
from typing import Final

import msgspec

from coordinator.core.consumer.events import TargetAssignmentComputed
from coordinator.core.consumer.failed_work import failed_again
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.consumer.target import NAMES_PER_MEMBER, TargetInput, target_steps
from coordinator.core.consumer.target_events import (
    TargetComputationEnded,
    TargetComputationFailed,
    TargetComputationStarted,
)
from coordinator.core.consumer.topic_partitions import TopicPartitions
from coordinator.core.decision import NOTHING, Decision, Environment, OperationContext, Topics
from coordinator.core.groups.group import Group
from coordinator.logger import logger

WORK_AT_ONCE: Final = 1_500
"""Members, and what takes as long as they, of the largest group whose target is computed in the request: up to 5 ms."""
PARTITIONS_PER_MEMBER: Final = 16
"""So many partitions take as long as a member."""
MEMBERS_PER_OPERATION: Final = 8
"""The target of so many members takes as long as an operation."""
TARGETS_PER_OPERATION: Final = 20
"""To install so many targets takes as long as an operation."""


class ComputedTarget(msgspec.Struct, frozen=True):
    """The result of a computation: the request of `install target`."""

    started: TargetComputationStarted
    targets: Mapping[str, TopicPartitions] | None
    """The targets that differ from those before, by member id; None: the computation failed."""


def target_work(member_count: int, group: ConsumerGroup, topics: Topics) -> int:
    """How long a target of the group takes: as long as that of so many members without partitions."""
    if member_count > WORK_AT_ONCE:
        return member_count
    names = topics.existing(group.named_topics.counts.keys()) | topics.existing(group.pattern_topics.keys())
    partitions = sum(map(topics.partition_count, names))
    return member_count + group.named_topics.names_of_members // NAMES_PER_MEMBER + partitions // PARTITIONS_PER_MEMBER


def is_large(work: int) -> bool:
    """Whether a target takes too long for a request."""
    return work > WORK_AT_ONCE


def computation_steps(
    started: TargetComputationStarted, environment: Environment
) -> Generator[None, None, ComputedTarget]:
    """Compute the target; topics that change meanwhile raise the group epoch at the next heartbeat."""
    targets = yield from target_steps(started.asked, environment.topics)
    return ComputedTarget(started, targets)


def not_computed(started: TargetComputationStarted, problem: Exception) -> ComputedTarget:
    """What `install target` gets after a step that raised."""
    logger.error("a target assignment was not computed", group=started.group_id, exc_info=problem)
    return ComputedTarget(started, None)


def install(group: Group[ConsumerGroup] | None, request: ComputedTarget, context: OperationContext) -> Decision:
    """Take in a target that was computed, also when the group epoch has risen meanwhile: the next one follows it."""
    started = request.started
    if group is None or group.membership.computing is not started:
        return NOTHING
    consumer = group.membership
    if request.targets is None:
        return installation_failed(group, request, context, "it could not be computed")
    if not consumer.members:
        return Decision((TargetComputationEnded(group_id=group.group_id, at_ms=context.wall_ms),))
    computed = TargetAssignmentComputed(
        group_id=group.group_id,
        at_ms=context.wall_ms,
        epoch=started.epoch,
        assignor=started.asked.assignor,
        targets=dict(_of_present(consumer, request.targets, started.asked)),
        member_id=started.member_id,
    )
    return Decision((computed,), weight=len(request.targets) // TARGETS_PER_OPERATION)


def installation_failed(
    group: Group[ConsumerGroup] | None, request: ComputedTarget, context: OperationContext, problem: object
) -> Decision:
    """The target could not be computed, or not be taken in: the group can ask again."""
    if group is None or group.membership.computing is not request.started:
        return NOTHING
    what = f"The target assignment of {len(group.membership.members)} members"
    failed = failed_again(group.membership.failed_target, what, problem, (), context)
    return Decision((TargetComputationFailed(group_id=group.group_id, at_ms=context.wall_ms, failed=failed),))


def _of_present(
    group: ConsumerGroup, targets: Mapping[str, TopicPartitions], asked: TargetInput
) -> list[tuple[str, TopicPartitions]]:
    """The targets of members that are still there. Who took the place of a static member has its target."""
    present = []
    for member_id, target in targets.items():
        if member_id in group.members:
            present.append((member_id, target))
            continue
        instance_id = asked.members[member_id].group_instance_id
        holder_id = None if instance_id is None else group.static_members.get(instance_id)
        if holder_id is not None and holder_id not in asked.members:
            present.append((holder_id, target))
    return present
