"""AlterShareGroupOffsets: a share group without members is to read from other offsets (KIP-932).

The states of the partitions are initialized again, with these offsets. Counterpart in Kafka: `alterShareGroupOffsets`
of `GroupMetadataManager`.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from _wire.errors import NONE, ErrorCode
from coordinator.core.decision import Decision, OperationContext, replying
from coordinator.core.event import Event
from coordinator.core.groups.events import GroupCreated
from coordinator.core.groups.group import Group
from coordinator.core.groups.kind import SHARE_NAME
from coordinator.core.groups.states import EMPTY
from coordinator.core.share.events import SharePartitionsInitializing
from coordinator.core.share.group import ShareGroup
from coordinator.core.share.state_topics import StateTopic, StateTopics

PARTITIONS_PER_OPERATION: Final = 100
"""To look at so many partitions takes as long as another operation."""


class Alteration(msgspec.Struct, frozen=True):
    """The partitions, which exist, ascending; their offsets are the business of the share coordinator."""

    group_id: str
    topics: StateTopics


class BegunAlteration(NamedTuple):
    """Which epoch the states are to have, or why nothing is altered."""

    error: ErrorCode = NONE
    state_epoch: int = 0


def alteration_error(request: Alteration, error: ErrorCode, api_version: int) -> BegunAlteration:
    return BegunAlteration(error)


def begin_alteration(group: Group[ShareGroup] | None, request: Alteration, context: OperationContext) -> Decision:
    """Say that the states of the partitions are being initialized. A group that is not there is made for it."""
    share = ShareGroup(request.group_id) if group is None else group.membership
    if share.state is not EMPTY:
        return replying(context, BegunAlteration(ErrorCode.NON_EMPTY_GROUP))
    if not request.topics:
        return replying(context, BegunAlteration(NONE, share.epoch))
    events: list[Event] = []
    if group is None:
        if not context.environment.may_create_group(context.client_host):
            return replying(context, BegunAlteration(ErrorCode.POLICY_VIOLATION))
        events.append(
            GroupCreated(
                group_id=request.group_id, at_ms=context.wall_ms, client_host=context.client_host, kind=SHARE_NAME
            )
        )
    events.append(
        SharePartitionsInitializing(
            group_id=request.group_id,
            at_ms=context.wall_ms,
            states=share.states.begin(request.topics),
            topics=request.topics,
            state_epoch=share.epoch,
            since_ms=context.now_ms,
        )
    )
    weight = sum(len(topic.partitions) for topic in request.topics.values()) // PARTITIONS_PER_OPERATION
    return replying(context, BegunAlteration(NONE, share.epoch), *events, weight=weight)


def no_share_group(group: Group[Any], request: Alteration, context: OperationContext) -> Decision:
    return replying(context, BegunAlteration(ErrorCode.GROUP_ID_NOT_FOUND))


class InitializedPartitions(NamedTuple):
    """The partitions that members of a group may be assigned."""

    error: ErrorCode = NONE
    topics: Mapping[bytes, StateTopic] = {}


def initialized_error(request: None, error: ErrorCode, api_version: int) -> InitializedPartitions:
    return InitializedPartitions(error)


def initialized_partitions(group: Group[ShareGroup] | None, request: None, context: OperationContext) -> Decision:
    """A group that is not there has none."""
    topics = {} if group is None else group.membership.states.initialized
    return replying(context, InitializedPartitions(NONE, topics))
