"""Committed offsets get too old, and an empty group that has none left goes (KIP-211)."""

from typing import Final

from coordinator.config import OFFSETS_RETENTION_MINUTES, Config
from coordinator.core.causes import Cause
from coordinator.core.decision import NOTHING, Decision
from coordinator.core.events import Event, GroupRemoved, OffsetsExpired
from coordinator.core.group import CONSUMER_PROTOCOL_TYPE, Group, TopicPartition
from coordinator.core.offset_records import CommittedOffset
from coordinator.core.states import DEAD, EMPTY, STABLE
from coordinator.core.subscriptions import is_subscribed, subscribed_topics

MS_PER_MINUTE: Final = 60_000


def expire(group: Group, now_ms: int, config: Config) -> Decision:
    """What has become too old by now; asked every `offsets.retention.check.interval.ms`."""
    if not group.exists or group.state is DEAD:
        return NOTHING
    expired = _expired(group, now_ms, config[OFFSETS_RETENTION_MINUTES] * MS_PER_MINUTE)
    events: list[Event] = [OffsetsExpired(group.group_id, now_ms, expired)] if expired else []
    left = sum(len(partitions) for partitions in group.offsets.values()) - len(expired)
    if group.state is EMPTY and not left and not group.pending_offsets:
        events.append(GroupRemoved(group.group_id, now_ms, Cause.OFFSETS_EXPIRED))
    return Decision(tuple(events))


def _expired(group: Group, now_ms: int, retention_ms: int) -> tuple[TopicPartition, ...]:
    if not group.offsets or not _ages(group):
        return ()
    topics = subscribed_topics(group)
    return tuple(
        where
        for topic, committed in group.offsets.items()
        if not is_subscribed(group, topics, topic)
        for where, position in ((TopicPartition(topic, index), position) for index, position in committed.items())
        if _is_over(group, position, now_ms, retention_ms) and not group.has_pending_offset(where)
    )


def _ages(group: Group) -> bool:
    """In a group with members only a consumer group's offsets age, those of topics that nobody reads any more."""
    if group.protocol_type is None or group.state is EMPTY:
        return True
    return group.state is STABLE and group.protocol_type == CONSUMER_PROTOCOL_TYPE


def _is_over(group: Group, position: CommittedOffset, now_ms: int, retention_ms: int) -> bool:
    """An expiry time of its own wins. Else age counts from the day the group became Empty, or from the commit."""
    if position.expire_timestamp_ms is not None:
        return now_ms >= position.expire_timestamp_ms
    since_ms = position.commit_timestamp_ms
    emptied = group.protocol_type is not None and group.state is EMPTY
    if emptied and group.state_since_ms is not None:
        since_ms = group.state_since_ms
    return now_ms - since_ms >= retention_ms
