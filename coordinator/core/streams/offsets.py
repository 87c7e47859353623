"""What a streams group says about committed offsets: who may commit and fetch, by member epoch.

Counterpart in Kafka: `validateOffsetCommit`, `validateOffsetFetch`, `isSubscribedToTopic` of `StreamsGroup`.
"""

from collections.abc import Container, Sequence
from typing import Any, Final

from _wire.errors import NONE, ErrorCode
from coordinator.core.decision import Topics
from coordinator.core.groups.kind import OffsetRules
from coordinator.core.streams.group import StreamsGroup
from coordinator.core.streams.member import StreamsMember
from coordinator.core.streams.topology import Topology

MEMBER_EPOCH_VERSION: Final = 9
"""The first version of OffsetCommit that members of streams groups may use."""
NO_MEMBER_ID: Final = ""
NO_GENERATION: Final = -1


def validate_commit(
    group: StreamsGroup,
    member_id: str,
    group_instance_id: str | None,
    epoch: int,
    api_version: int,
    committed: Sequence[Any],
    topics: Topics,
) -> ErrorCode:
    """Whether a member may commit, or nobody else can."""
    if epoch < 0 and not group.members:
        return NONE
    member = group.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if api_version < MEMBER_EPOCH_VERSION:
        return ErrorCode.UNSUPPORTED_VERSION
    return _check_epoch(group, member, epoch, committed)


def validate_transactional_commit(
    group: StreamsGroup,
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
    error = _check_epoch(group, member, epoch, committed)
    return ErrorCode.ILLEGAL_GENERATION if error is ErrorCode.STALE_MEMBER_EPOCH else error


def _check_epoch(group: StreamsGroup, member: StreamsMember, epoch: int, committed: Sequence[Any]) -> ErrorCode:
    """An earlier epoch may commit for the tasks the member has had since then; one other fails the whole commit."""
    if epoch == member.current.epoch:
        return NONE
    if epoch < 0 or epoch > member.current.epoch or group.topology is None:
        return ErrorCode.STALE_MEMBER_EPOCH
    subtopologies = subtopology_by_topic(group.topology)
    if all(_has_had(member, epoch, subtopologies.get(topic.name), topic) for topic in committed):
        return NONE
    return ErrorCode.STALE_MEMBER_EPOCH


def _has_had(member: StreamsMember, epoch: int, subtopology_id: str | None, topic: Any) -> bool:
    """Whether the tasks that read these partitions were assigned to the member at this epoch or before."""
    if subtopology_id is None:
        return False
    assigned = member.current.assigned.active.get(subtopology_id, {})
    pending = member.current.pending.active.get(subtopology_id, {})
    for partition in topic.partitions:
        since = assigned.get(partition.partition_index)
        if since is None:
            since = pending.get(partition.partition_index)
        if since is None or epoch < since:
            return False
    return True


def subtopology_by_topic(topology: Topology) -> dict[str, str]:
    """Topic → the subtopology that reads it; of several, the last one."""
    return {topic: part.subtopology_id for part in topology.subtopologies for topic in part.topics_read()}


def validate_fetch(group: StreamsGroup, member_id: str | None, epoch: int) -> ErrorCode:
    """Whoever names no member may read the offsets; a member needs its epoch."""
    if member_id is None and epoch < 0:
        return NONE
    member = None if member_id is None else group.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return NONE if epoch == member.current.epoch else ErrorCode.STALE_MEMBER_EPOCH


def topics_read(group: StreamsGroup) -> Container[str]:
    """What the members read, as long as there are any."""
    if not group.members or group.topology is None:
        return frozenset()
    return frozenset(group.topology.topics_read())


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
