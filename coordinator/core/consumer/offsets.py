"""What a consumer group says about committed offsets: who may commit and fetch, by member epoch (KIP-848, KIP-1251).

Counterpart in Kafka: `validateOffsetCommit`, `validateOffsetFetch`, `isSubscribedToTopic` of `ConsumerGroup`.
"""

from collections.abc import Container, Iterator, Sequence
from typing import Any, Final

from _wire.errors import NONE, ErrorCode
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.consumer.member import ConsumerMember
from coordinator.core.decision import Topics
from coordinator.core.groups.kind import OffsetRules

MEMBER_EPOCH_VERSION: Final = 9
"""The first version of OffsetCommit that members of the consumer protocol may use."""
NO_MEMBER_ID: Final = ""
NO_GENERATION: Final = -1


def validate_commit(
    group: ConsumerGroup,
    member_id: str,
    group_instance_id: str | None,
    epoch: int,
    api_version: int,
    committed: Sequence[Any],
    topics: Topics,
) -> ErrorCode:
    """Whether a member may commit, or nobody else can. The instance id is not looked at."""
    if epoch < 0 and not group.members:
        return NONE
    member = group.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if not member.is_classic and api_version < MEMBER_EPOCH_VERSION:
        return ErrorCode.UNSUPPORTED_VERSION
    return _check_epoch(member, epoch, committed, topics)


def validate_transactional_commit(
    group: ConsumerGroup,
    member_id: str,
    group_instance_id: str | None,
    epoch: int,
    committed: Sequence[Any],
    topics: Topics,
) -> ErrorCode:
    """The same for TxnOffsetCommit, whose clients know no member epochs. Clients before v3 name no member."""
    if epoch < 0 and not group.members:
        return NONE
    if epoch == NO_GENERATION and member_id == NO_MEMBER_ID and group_instance_id is None:
        return NONE
    member = group.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    error = _check_epoch(member, epoch, committed, topics)
    return ErrorCode.ILLEGAL_GENERATION if error is ErrorCode.STALE_MEMBER_EPOCH else error


def _check_epoch(member: ConsumerMember, epoch: int, committed: Sequence[Any], topics: Topics) -> ErrorCode:
    """An earlier epoch may commit what the member has had since then; one other partition fails the whole commit."""
    current = member.current
    if epoch == current.epoch:
        return NONE
    if epoch < current.epoch and all(_has_had(member, epoch, topic, topics) for topic in committed):
        return NONE
    return _stale(member)


def _has_had(member: ConsumerMember, epoch: int, topic: Any, topics: Topics) -> bool:
    topic_id = topics.topic_id(topic.name)
    assigned = member.current.assigned.get(topic_id, {})
    pending = member.current.pending.get(topic_id, {})
    for partition in topic.partitions:
        since = assigned.get(partition.partition_index)
        if since is None:
            since = pending.get(partition.partition_index)
        if since is None or epoch < since:
            return False
    return True


def _stale(member: ConsumerMember) -> ErrorCode:
    return ErrorCode.ILLEGAL_GENERATION if member.is_classic else ErrorCode.STALE_MEMBER_EPOCH


def validate_fetch(group: ConsumerGroup, member_id: str | None, epoch: int) -> ErrorCode:
    """Whoever names no member may read the offsets; a member needs its epoch."""
    if member_id is None and epoch < 0:
        return NONE
    member = None if member_id is None else group.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return NONE if epoch == member.current.epoch else _stale(member)


class _TopicsRead:
    """The topics that a group reads."""

    def __init__(self, group: ConsumerGroup) -> None:
        self._group = group

    def __contains__(self, topic: object) -> bool:
        return isinstance(topic, str) and self._group.is_subscribed_to(topic)

    def __iter__(self) -> Iterator[str]:
        yield from self._group.named_topics.counts
        yield from self._group.pattern_topics


def topics_read(group: ConsumerGroup) -> Container[str]:
    return _TopicsRead(group)


OFFSET_RULES: Final = OffsetRules(
    validate_commit=validate_commit,
    validate_transactional_commit=validate_transactional_commit,
    validate_fetch=validate_fetch,
    validate_delete=lambda group: NONE,
    sessions_renewed=lambda group, member_id: (),
    topics_read=topics_read,
    may_expire=lambda group: True,
    expiration_base_ms=lambda group: None,
)
