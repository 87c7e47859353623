"""What a consumer group wanted done beside its requests, and was not: it is told, and tried again later.

Kafka 4.3 computes targets in the heartbeats, which are answered UNKNOWN_SERVER_ERROR while their records do not fit
into the log, and change nothing. Here such a heartbeat is answered the same, but what it says counts.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from coordinator.core.consumer.events import PatternResolutionFailed
from coordinator.core.consumer.group import ConsumerGroup, FailedWork
from coordinator.core.consumer.member import MemberMetadata
from coordinator.core.consumer.target_events import TargetComputationFailed
from coordinator.core.decision import OperationContext
from coordinator.deadlines import deadline_after
from coordinator.logger import logger
from coordinator.printable import printable

RETRY_MS_AT_FIRST: Final = 250
RETRY_MS_AT_MOST: Final = 4_000
"""Heartbeats come every 5 s: one that says that it failed is mostly followed by one that says that it succeeded."""
PATTERN_SHOWN_MAX: Final = 100
"""Characters of a regular expression that are told."""


def failed_again(
    before: FailedWork | None, what: str, problem: object, patterns: Iterable[str], context: OperationContext
) -> FailedWork:
    """What is known after a failure that follows `before`; `what` could not be stored or found because of `problem`."""
    delay_ms = RETRY_MS_AT_FIRST if before is None else min(before.delay_ms * 2, RETRY_MS_AT_MOST)
    reason = f"{what}: {problem}"
    return FailedWork(reason, frozenset(patterns), delay_ms, deadline_after(context.now_ms, delay_ms))


def is_paused(failed: FailedWork | None, context: OperationContext) -> bool:
    """Whether it failed such a short while ago that it is not tried again yet."""
    return failed is not None and context.now_ms < failed.retry_at_ms


def reason_to_report(group: ConsumerGroup, metadata: MemberMetadata, group_epoch: int) -> str | None:
    """Why a member cannot be told that all is well; None if nothing that it waits for has failed.

    `metadata` and `group_epoch` are those after its request.
    """
    failed = group.failed_target
    if failed is not None and group.target_epoch < group_epoch:
        return failed.reason
    failed = group.failed_resolution
    if failed is not None and metadata.pattern in failed.patterns:
        return failed.reason
    return None


def largest_pattern(topics: Mapping[str, tuple[str, ...]]) -> str:
    """The regular expression with most topics, in words."""
    if not topics:
        return "The topics of the regular expressions"
    pattern = max(topics, key=lambda pattern: len(topics[pattern]))
    return f"The {len(topics[pattern])} topics of the regular expression {printable(pattern[:PATTERN_SHOWN_MAX])}"


def log_failed_work(event: PatternResolutionFailed | TargetComputationFailed) -> None:
    """Log why the group keeps what it has."""
    failed = event.failed
    logger.warning(
        "a group gets no new assignment", group=event.group_id, reason=failed.reason, retry_ms=failed.delay_ms
    )
