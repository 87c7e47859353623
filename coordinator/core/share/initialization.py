"""The states of the partitions of a share group are initialized beside its requests, before members may have them.

The heartbeat that finds partitions without states is answered; the operation `states initialized` brings what the share
coordinator says.

Counterpart in Kafka: `initializeShareGroupState` and `uninitializeShareGroupState` of `GroupMetadataManager`.
"""

from collections.abc import Generator
from typing import Any

import msgspec

from _wire.errors import NONE, ErrorCode
from coordinator.core.decision import NOTHING, Decision, Environment, OperationContext
from coordinator.core.groups.group import Group
from coordinator.core.share.events import ShareInitializationFailed, SharePartitionsInitialized
from coordinator.core.share.group import ShareGroup
from coordinator.core.share.state_topics import StateTopics, common_partitions
from coordinator.core.share_states import BY_STRATEGY, InitialState
from coordinator.logger import logger


class InitializationRequest(msgspec.Struct, frozen=True):
    """Partitions of a group whose states are to be initialized."""

    group_id: str
    topics: StateTopics
    state_epoch: int


class InitializationResult(msgspec.Struct, frozen=True):
    """What came of it: the request of `states initialized`."""

    topics: StateTopics
    error: ErrorCode = NONE
    """The first error of a partition; NONE with a `reason`: the work itself failed."""
    reason: str = ""

    @property
    def has_failed(self) -> bool:
        return self.error is not NONE or bool(self.reason)


def initialization_steps(
    request: InitializationRequest, environment: Environment
) -> Generator[Any, Any, InitializationResult]:
    """Have the share coordinator initialize all partitions together."""
    states = environment.share_states
    assert states is not None, "work that nobody can do is not started"
    partitions = [
        InitialState(topic_id, partition, request.state_epoch, BY_STRATEGY)
        for topic_id, topic in request.topics.items()
        for partition in topic.partitions
    ]
    errors = yield from states.initialize(request.group_id, partitions)
    failed = next((error for error in errors if error is not NONE), NONE)
    return InitializationResult(request.topics, failed)


def not_initialized(request: InitializationRequest, problem: Exception) -> InitializationResult:
    """The work raised: nothing is known of the states."""
    return InitializationResult(request.topics, reason=str(problem) or type(problem).__name__)


def end_initialization(
    group: Group[ShareGroup] | None, request: InitializationResult, context: OperationContext
) -> Decision:
    """All partitions were initialized, or none of them counts: the next heartbeat tries those again.

    Those whose topic was deleted meanwhile, or that an answer came for already, are not waited for any more.
    """
    if group is None:
        return NOTHING
    states = group.membership.states
    topics = common_partitions(request.topics, states.initializing)
    if not topics:
        return NOTHING
    if request.has_failed:
        failed = ShareInitializationFailed(
            group_id=group.group_id,
            at_ms=context.wall_ms,
            states=states.fail(topics),
            topics=topics,
            error=request.error,
            reason=request.reason,
        )
        return Decision((failed,))
    initialized = SharePartitionsInitialized(
        group_id=group.group_id,
        at_ms=context.wall_ms,
        states=states.succeed(topics),
        topics=topics,
    )
    return Decision((initialized,))


def result_not_stored(
    group: Group[ShareGroup] | None, request: InitializationResult, context: OperationContext, problem: object
) -> Decision:
    """The partitions stay as being initialized; after `group.share.initialize.retry.interval.ms` it is tried again."""
    return NOTHING


def log_failure(event: ShareInitializationFailed) -> None:
    logger.warning(
        "states of a share group were not initialized",
        group=event.group_id,
        topics=len(event.topics),
        error=event.error.name,
        reason=event.reason,
    )
