"""The target assignments of large streams groups, which are computed beside the requests.

Whoever finds the target due is answered as within `group.streams.assignment.interval.ms`, with what the target was so
far; the operation `install streams target` brings the new one. Kafka computes every target in the request.
"""

from collections.abc import Generator, Mapping
from typing import Final

import msgspec

from coordinator.core.consumer.assignors.registry import result_of
from coordinator.core.decision import NOTHING, Decision, Environment, OperationContext
from coordinator.core.groups.background_work import StartWork
from coordinator.core.groups.group import Group
from coordinator.core.streams.assignors import sticky
from coordinator.core.streams.events import StreamsTargetComputed, StreamsTargetEnded, StreamsTargetStarted
from coordinator.core.streams.group import StreamsGroup
from coordinator.core.streams.target import StreamsTargetInput, is_large, streams_target_steps
from coordinator.core.streams.tasks import TaskAssignment
from coordinator.core.streams.workers import COMPUTE_STREAMS_TARGET
from coordinator.logger import logger

TARGETS_PER_OPERATION: Final = 20
"""To install so many targets takes as long as an operation."""


class ComputedStreamsTarget(msgspec.Struct, frozen=True):
    """The result of a computation: the request of `install streams target`."""

    started: StreamsTargetStarted
    targets: Mapping[str, TaskAssignment] | None
    """The targets that differ from those before, by member id; None: the computation failed."""


def computed_or_started(
    group: StreamsGroup, asked: StreamsTargetInput, epoch: int, member_id: str, context: OperationContext
) -> StreamsTargetComputed | StreamsTargetStarted:
    """The target; that of a large group is only begun. `member_id` asked for it; empty: a delay is over."""
    group_id, at_ms = group.group_id, context.wall_ms
    if is_large(asked):
        copied = msgspec.structs.replace(asked, targets=dict(asked.targets))
        return StreamsTargetStarted(group_id=group_id, at_ms=at_ms, epoch=epoch, member_id=member_id, asked=copied)
    return StreamsTargetComputed(
        group_id=group_id,
        at_ms=at_ms,
        epoch=epoch,
        assignor=sticky.NAME,
        targets=result_of(streams_target_steps(asked)),
        member_id=member_id,
    )


def computation(started: StreamsTargetStarted, context: OperationContext) -> StartWork:
    return StartWork(COMPUTE_STREAMS_TARGET, started, context.client_host)


def computation_steps(
    started: StreamsTargetStarted, environment: Environment
) -> Generator[None, None, ComputedStreamsTarget]:
    """Compute the target; topics that change meanwhile raise the group epoch at the next heartbeat."""
    targets = yield from streams_target_steps(started.asked)
    return ComputedStreamsTarget(started, targets)


def not_computed(started: StreamsTargetStarted, problem: Exception) -> ComputedStreamsTarget:
    """What `install streams target` gets after a step that raised."""
    logger.error("a streams target assignment was not computed", group=started.group_id, exc_info=problem)
    return ComputedStreamsTarget(started, None)


def install(group: Group[StreamsGroup] | None, request: ComputedStreamsTarget, context: OperationContext) -> Decision:
    """Apply a target that was computed, also when the group epoch has risen meanwhile: the next one follows it."""
    started = request.started
    if group is None or group.membership.computing is not started:
        return NOTHING
    if request.targets is None:
        return installation_failed(group, request, context, "it could not be computed")
    members = group.membership.members
    if not members:
        return Decision((StreamsTargetEnded(group_id=group.group_id, at_ms=context.wall_ms),))
    computed = StreamsTargetComputed(
        group_id=group.group_id,
        at_ms=context.wall_ms,
        epoch=started.epoch,
        assignor=sticky.NAME,
        targets={member_id: target for member_id, target in request.targets.items() if member_id in members},
        member_id=started.member_id,
    )
    return Decision((computed,), weight=len(request.targets) // TARGETS_PER_OPERATION)


def installation_failed(
    group: Group[StreamsGroup] | None, request: ComputedStreamsTarget, context: OperationContext, problem: object
) -> Decision:
    """The target could not be computed or stored: the next heartbeat asks again."""
    if group is None or group.membership.computing is not request.started:
        return NOTHING
    return Decision((StreamsTargetEnded(group_id=group.group_id, at_ms=context.wall_ms, reason=str(problem)),))


def log_failure(event: StreamsTargetEnded) -> None:
    if event.reason:
        logger.warning("a streams group gets no new assignment", group=event.group_id, reason=event.reason)
