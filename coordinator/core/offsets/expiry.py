"""Expiry of committed offsets, and removal of empty groups without any (KIP-211)."""

from typing import Any, Final

from coordinator.config.group_keys import OFFSETS_RETENTION_MINUTES
from coordinator.core.causes import Cause
from coordinator.core.decision import NOTHING, Decision, OperationContext
from coordinator.core.event import Event
from coordinator.core.groups.events import GroupRemoved
from coordinator.core.groups.group import Group
from coordinator.core.groups.states import EMPTY
from coordinator.core.offsets.events import DeletionCause, OffsetsDeleted
from coordinator.core.offsets.records import CommittedOffset
from coordinator.core.sessions import SessionEnded
from coordinator.core.topic_partition import TopicPartition

MS_PER_MINUTE: Final = 60_000


def expire(group: Group[Any] | None, request: None, context: OperationContext) -> Decision:
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
    if group.membership.state is not EMPTY or left or group.offsets.pending:
        return Decision(tuple(events))
    cause = Cause.OFFSETS_EXPIRED if expired else Cause.NO_OFFSETS
    removed = GroupRemoved(group_id=group.group_id, at_ms=wall_ms, cause=cause)
    return Decision((*events, removed), effects=ended_sessions(group))


def ended_sessions(group: Group[Any]) -> tuple[SessionEnded, ...]:
    """The sessions of an Empty group that is removed: those of pending member ids."""
    return tuple(SessionEnded(member_id) for member_id in group.kind.session_ids(group.membership))


def _expired(group: Group[Any], wall_ms: int, retention_ms: int) -> tuple[TopicPartition, ...]:
    rules, membership = group.kind.offsets, group.membership
    if not group.offsets.by_topic or not rules.may_expire(membership):
        return ()
    topics = rules.topics_read(membership)
    base_ms = rules.expiration_base_ms(membership)
    return tuple(
        tp
        for topic, offsets in group.offsets.by_topic.items()
        if topic not in topics
        for tp, offset in ((TopicPartition(topic, index), offset) for index, offset in offsets.items())
        if _is_over(offset, base_ms, wall_ms, retention_ms) and not group.offsets.has_pending(tp)
    )


def _is_over(offset: CommittedOffset, base_ms: int | None, wall_ms: int, retention_ms: int) -> bool:
    """Its own expiry time takes precedence. Else age counts from `base_ms`, or from the commit."""
    if offset.expire_timestamp_ms is not None:
        return wall_ms >= offset.expire_timestamp_ms
    return wall_ms - (offset.commit_timestamp_ms if base_ms is None else base_ms) >= retention_ms
