"""The target assignments of large share groups, which are computed beside the requests.

The heartbeat that finds the target due is answered as within `group.share.assignment.interval.ms`, with what the target
was so far; the operation `install share target` brings the new one. Kafka computes every target in the request.
"""

from collections.abc import Generator, Mapping
from typing import Final

import msgspec

from coordinator.core.consumer.topic_partitions import TopicPartitions
from coordinator.core.decision import NOTHING, Decision, Environment, OperationContext
from coordinator.core.groups.group import Group
from coordinator.core.share.assignors import simple
from coordinator.core.share.events import ShareTargetComputed, ShareTargetEnded, ShareTargetStarted
from coordinator.core.share.group import ShareGroup
from coordinator.core.share.target import share_target_steps
from coordinator.logger import logger

TARGETS_PER_OPERATION: Final = 20
"""To install so many targets takes as long as an operation."""


class ComputedShareTarget(msgspec.Struct, frozen=True):
    """The result of a computation: the request of `install share target`."""

    started: ShareTargetStarted
    targets: Mapping[str, TopicPartitions] | None
    """The targets that differ from those before, by member id; None: the computation failed."""


def computation_steps(
    started: ShareTargetStarted, environment: Environment
) -> Generator[None, None, ComputedShareTarget]:
    """Compute the target; topics that change meanwhile raise the group epoch at the next heartbeat."""
    targets = yield from share_target_steps(started.asked, environment.topics)
    return ComputedShareTarget(started, targets)


def not_computed(started: ShareTargetStarted, problem: Exception) -> ComputedShareTarget:
    """What `install share target` gets after a step that raised."""
    logger.error("a share target assignment was not computed", group=started.group_id, exc_info=problem)
    return ComputedShareTarget(started, None)


def install(group: Group[ShareGroup] | None, request: ComputedShareTarget, context: OperationContext) -> Decision:
    """Take in a target that was computed, also when the group epoch has risen meanwhile: the next one follows it."""
    started = request.started
    if group is None or group.membership.computing is not started:
        return NOTHING
    if request.targets is None:
        return installation_failed(group, request, context, "it could not be computed")
    members = group.membership.members
    if not members:
        return Decision((ShareTargetEnded(group_id=group.group_id, at_ms=context.wall_ms),))
    computed = ShareTargetComputed(
        group_id=group.group_id,
        at_ms=context.wall_ms,
        epoch=started.epoch,
        assignor=simple.NAME,
        targets={member_id: target for member_id, target in request.targets.items() if member_id in members},
        member_id=started.member_id,
    )
    return Decision((computed,), weight=len(request.targets) // TARGETS_PER_OPERATION)


def installation_failed(
    group: Group[ShareGroup] | None, request: ComputedShareTarget, context: OperationContext, problem: object
) -> Decision:
    """The target could not be computed, or not be taken in: the next heartbeat asks again."""
    if group is None or group.membership.computing is not request.started:
        return NOTHING
    return Decision((ShareTargetEnded(group_id=group.group_id, at_ms=context.wall_ms, reason=str(problem)),))


def log_failure(event: ShareTargetEnded) -> None:
    if event.reason:
        logger.warning("a share group gets no new assignment", group=event.group_id, reason=event.reason)
