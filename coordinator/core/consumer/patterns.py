"""Regular expressions of subscriptions: when they are resolved, and what happens with the result (KIP-848).

They are resolved beside the requests: a heartbeat asks for it, and the operation `resolve patterns` brings the topics.

Counterpart in Kafka: `maybeUpdateRegularExpressions`, `handleRegularExpressionsResult`.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from coordinator.config.consumer_group_keys import GROUP_CONSUMER_REGEX_REFRESH_INTERVAL_MS
from coordinator.core.causes import Cause
from coordinator.core.consumer.events import GroupEpochBumped, PatternResolutionFailed, PatternsResolved
from coordinator.core.consumer.failed_work import failed_again, is_paused, largest_pattern
from coordinator.core.consumer.group import ConsumerGroup, ResolvedPattern
from coordinator.core.consumer.subscription import Subscriptions, changed_subscriptions
from coordinator.core.decision import NOTHING, Decision, OperationContext
from coordinator.core.event import Event
from coordinator.core.groups.group import Group
from coordinator.patterns import InvalidPattern, Pattern

TOPIC_NAME_BYTES_MAX: Final = 249
"""Kafka's bound of the names of topics (`Topic.MAX_NAME_LENGTH`)."""
RESOLVED_APART_MS: Final = 10_000
"""The least time between two resolutions of the regular expressions of a group."""


class ResolvedTopics(msgspec.Struct, frozen=True):
    """The result of a resolution: the request of `resolve patterns`."""

    topics: Mapping[str, tuple[str, ...]]
    """Regular expression → the topics that match, by name in ascending order."""
    metadata_offset: int
    """The end offset of the metadata log."""
    topics_version: int | None
    """The version of the topics (`Topics.topics_version`) then; None: nobody has looked."""
    problem: str | None = None
    """Why the resolution failed; None: it did not."""


UNRESOLVED: Final = ResolvedTopics({}, 0, None)


def invalid_reason(pattern: str) -> str | None:
    """Why a regular expression cannot be used; None if it can."""
    try:
        Pattern(pattern).check_fits(TOPIC_NAME_BYTES_MAX)
    except InvalidPattern as problem:
        return str(problem)
    return None


def patterns_to_resolve(
    group: ConsumerGroup, after: Subscriptions, is_required: bool, context: OperationContext
) -> tuple[str, ...]:
    """The regular expressions to resolve after a heartbeat that leaves these subscriptions; empty: none now.

    `is_required`: the heartbeat brings one that no member subscribed to.
    """
    if group.is_resolving or not after.by_pattern or not (is_required or group.pattern_subscribers):
        return ()
    if is_paused(group.failed_resolution, context):
        return ()
    last_ms = max((pattern.timestamp_ms for pattern in group.patterns.values()), default=None)
    # A clock that was set back delays no resolution.
    age_ms = None if last_ms is None else context.wall_ms - last_ms
    if age_ms is not None and 0 <= age_ms <= RESOLVED_APART_MS:
        return ()
    is_due = (
        is_required
        or len(after.by_pattern) != len(group.patterns)
        or group.resolved_version < context.topics.created_version
        or age_ms is None
        or not 0 <= age_ms <= context.config[GROUP_CONSUMER_REGEX_REFRESH_INTERVAL_MS]
    )
    return tuple(sorted(after.by_pattern)) if is_due else ()


def resolve(group: Group[ConsumerGroup] | None, request: ResolvedTopics, context: OperationContext) -> Decision:
    """Take in the topics that match; the group epoch rises if they are others than before."""
    if group is None:
        return NOTHING
    if request.problem is not None:
        return resolution_failed(group, request, context, request.problem)
    consumer = group.membership
    resolved = {
        pattern: ResolvedPattern(topics, request.metadata_offset, context.wall_ms)
        for pattern, topics in request.topics.items()
        if pattern in consumer.pattern_subscribers
    }
    has_changed = any(
        resolution.topics != _topics_before(consumer, pattern) for pattern, resolution in resolved.items()
    )
    found_hash = changed_subscriptions(consumer, (), (), resolved).hash_of_topics(context.topics)
    is_other = has_changed or found_hash != consumer.metadata_hash
    raises_epoch = request.topics_version is not None and is_other
    events: list[Event] = [
        PatternsResolved(
            group_id=group.group_id,
            at_ms=context.wall_ms,
            resolved=resolved,
            topics_version=request.topics_version,
            appeared=_appeared(consumer, resolved),
            raises_epoch=raises_epoch,
        )
    ]
    if raises_epoch:
        events.append(
            GroupEpochBumped(
                group_id=group.group_id,
                at_ms=context.wall_ms,
                epoch=consumer.epoch + 1,
                metadata_hash=found_hash,
                cause=Cause.TOPICS_CHANGED,
                member_id="",
                topics_version=context.topics.topics_version,
            )
        )
    return Decision(tuple(events))


def resolution_failed(
    group: Group[ConsumerGroup] | None, request: ResolvedTopics, context: OperationContext, problem: object
) -> Decision:
    """The topics could not be found, or not be taken in: the group can ask again."""
    if group is None:
        return NOTHING
    consumer = group.membership
    patterns = request.topics or consumer.pattern_subscribers
    failed = failed_again(consumer.failed_resolution, largest_pattern(request.topics), problem, patterns, context)
    return Decision((PatternResolutionFailed(group_id=group.group_id, at_ms=context.wall_ms, failed=failed),))


def _appeared(group: ConsumerGroup, resolved: Mapping[str, ResolvedPattern]) -> frozenset[str]:
    found: set[str] = set()
    for pattern, now in resolved.items():
        before = group.patterns.get(pattern)
        if before is not None and before.topics != now.topics:
            found.update(set(now.topics).difference(before.topics))
    return frozenset(found)


def _topics_before(group: ConsumerGroup, pattern: str) -> tuple[str, ...]:
    before = group.patterns.get(pattern)
    return () if before is None else before.topics
