"""Expiry of committed offsets, and removal of empty groups without any (KIP-211)."""

from typing import Final

from coordinator.config.group_keys import OFFSETS_RETENTION_MINUTES
from coordinator.core.causes import Cause
from coordinator.core.classic.events import GroupRemoved
from coordinator.core.classic.group import ClassicGroup
from coordinator.core.classic.states import EMPTY, STABLE
from coordinator.core.classic.subscriptions import is_subscribed, subscribed_topics
from coordinator.core.consumer_protocol import CONSUMER_PROTOCOL_TYPE
from coordinator.core.decision import NOTHING, Decision, OperationContext
from coordinator.core.event import Event
from coordinator.core.groups.group import Group
from coordinator.core.offsets.events import DeletionCause, OffsetsDeleted
from coordinator.core.offsets.records import CommittedOffset
from coordinator.core.sessions import SessionEnded
from coordinator.core.topic_partition import TopicPartition

MS_PER_MINUTE: Final = 60_000


def expire(group: Group | None, request: None, context: OperationContext) -> Decision:
    """Expire the offsets that are too old by now; called every `offsets.retention.check.interval.ms`."""
    if group is None:
        return NOTHING
    wall_ms = context.wall_ms
    expired = _expired(group, wall_ms, context.config[OFFSETS_RETENTION_MINUTES] * MS_PER_MINUTE)
    events: list[Event] = []
    if expired:
        events.append(
            OffsetsDeleted(group_id=group.group_id, at_ms=wall_ms, cause=DeletionCause.EXPIRED, partitions=expired)
        )
    left = sum(map(len, group.offsets.by_topic.values())) - len(expired)
    if group.classic.state is not EMPTY or left or group.offsets.pending:
        return Decision(tuple(events))
    cause = Cause.OFFSETS_EXPIRED if expired else Cause.NO_OFFSETS
    removed = GroupRemoved(group_id=group.group_id, at_ms=wall_ms, cause=cause)
    return Decision((*events, removed), effects=sessions_of_pending_members(group.classic))


def sessions_of_pending_members(group: ClassicGroup) -> tuple[SessionEnded, ...]:
    """The sessions of pending member ids end when an Empty group is removed."""
    return tuple(SessionEnded(member_id) for member_id in group.pending_members)


def _expired(group: Group, wall_ms: int, retention_ms: int) -> tuple[TopicPartition, ...]:
    if not group.offsets.by_topic or not _ages(group.classic):
        return ()
    topics = subscribed_topics(group.classic)
    return tuple(
        tp
        for topic, offsets in group.offsets.by_topic.items()
        if not is_subscribed(group.classic, topics, topic)
        for tp, offset in ((TopicPartition(topic, index), offset) for index, offset in offsets.items())
        if _is_over(group.classic, offset, wall_ms, retention_ms) and not group.offsets.has_pending(tp)
    )


def _ages(group: ClassicGroup) -> bool:
    """In a group with members only a consumer group's offsets age: those of topics that no member subscribes to."""
    if group.protocol_type is None or group.state is EMPTY:
        return True
    return group.state is STABLE and group.protocol_type == CONSUMER_PROTOCOL_TYPE


def _is_over(group: ClassicGroup, offset: CommittedOffset, wall_ms: int, retention_ms: int) -> bool:
    """Its own expiry time takes precedence. Else age counts from the commit, or from when the group became Empty."""
    if offset.expire_timestamp_ms is not None:
        return wall_ms >= offset.expire_timestamp_ms
    since_ms = offset.commit_timestamp_ms
    emptied = group.protocol_type is not None and group.state is EMPTY
    if emptied and group.state_since_ms is not None:
        since_ms = group.state_since_ms
    return wall_ms - since_ms >= retention_ms
