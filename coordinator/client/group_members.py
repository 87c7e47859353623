"""Groups and their members as a coordinator describes them, each by the API of its type."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from _wire.errors import ErrorCode, MalformedMessage
from _wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from _wire.messages.describe_groups import DescribeGroupsRequest
from _wire.messages.share_group_describe import ShareGroupDescribeRequest
from _wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from coordinator.client.groups import DEAD
from coordinator.client.wire import WireConnection
from coordinator.core.assignment import is_cut_short, readable_partitions
from coordinator.core.connect_protocol import (
    CONNECT_PROTOCOL_TYPE,
    WorkerAssignment,
    decode_worker_assignment,
)
from coordinator.core.consumer_protocol import CONSUMER_PROTOCOL_TYPE, read_subscription

NOT_A_CONSUMER_GROUP: Final = (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION)
"""What a server answers to ConsumerGroupDescribe about other groups, and about all of them before group.version 1."""

SHARE: Final = "share"
STREAMS: Final = "streams"
NOT_OF_THE_TYPE: Final = NOT_A_CONSUMER_GROUP
OTHER_TYPES: Final = (SHARE, STREAMS)
"""Groups that have an API of their own to describe them (KIP-932, KIP-1071)."""

TOPICS_READ_MAX: Final = 10_000
"""A member that subscribes to more has only the topics that it owns partitions of."""


@dataclass(frozen=True, slots=True)
class CameBack:
    """The client that came back as a static member, from `since_ms` on (wall clock)."""

    client_id: str
    client_host: str
    since_ms: int

    def is_client(self, member: "DescribedMember") -> bool:
        """Whether the member is described as this client."""
        return (self.client_id, self.client_host) == (member.client_id, member.client_host)


@dataclass(frozen=True, slots=True)
class DescribedMember:
    """A member; `partitions` is None if its assignment cannot be read, or is not of the consumer protocol."""

    member_id: str
    client_id: str
    client_host: str
    group_instance_id: str | None
    partitions: dict[str, list[int]] | None
    member_epoch: int | None = None
    """None in a classic group."""
    target: dict[str, list[int]] | None = None
    """What it is to own; None in a classic group, whose members own what they were assigned."""
    worker: WorkerAssignment | None = None
    """What a worker of Kafka Connect runs."""
    is_cut_short: bool = False
    """Whether its assignment ends before its user data, so that its own client cannot read it."""
    topics: tuple[str, ...] = ()
    """Topics that it subscribes to by name, or owns partitions of. A classic group that is not stable tells none."""
    came_back: CameBack | None = None
    """Where it runs by now, if the audit tells another client than DescribeGroups, see `client/returned_members.py`."""

    @property
    def is_reconciled(self) -> bool:
        """Whether it owns what it is to own."""
        return self.target is None or self.target == self.partitions


@dataclass(frozen=True, slots=True)
class GroupMembers:
    """A group, or the error that it is described with."""

    group_id: str
    error_code: int
    state: str
    protocol_type: str
    protocol_name: str
    members: list[DescribedMember]
    group_epoch: int | None = None
    """None for a classic group: DescribeGroups does not have the generation."""

    @property
    def is_missing(self) -> bool:
        """Whether there is no such group; before version 6 of DescribeGroups it is Dead."""
        return self.error_code == ErrorCode.GROUP_ID_NOT_FOUND or (not self.error_code and self.state == DEAD)


def group_members(
    coordinator: WireConnection, group_ids: Sequence[str], *, are_classic: bool = False
) -> dict[str, GroupMembers]:
    """The groups of these ids, share and streams groups too; `are_classic`: it is known that they are classic groups.

    Raises:
        ClientError: the server does not answer.
    """
    found: dict[str, GroupMembers] = {}
    if not are_classic and coordinator.supports(ConsumerGroupDescribeRequest.API_KEY):
        response = coordinator.send_latest(ConsumerGroupDescribeRequest(group_ids=list(group_ids)))
        found = {
            group.group_id: _consumer_group(group)
            for group in response.groups
            if group.error_code not in NOT_A_CONSUMER_GROUP
        }
    others = [group_id for group_id in group_ids if group_id not in found]
    if others:
        response = coordinator.send_latest(DescribeGroupsRequest(groups=others))
        found |= {group.group_id: _classic_group(group) for group in response.groups}
    missing = [] if are_classic else [group_id for group_id, group in found.items() if group.is_missing]
    for group_type in OTHER_TYPES:
        if missing:
            others_found = other_members(coordinator, group_type, missing)
            found |= {
                group_id: group for group_id, group in others_found.items() if group.error_code not in NOT_OF_THE_TYPE
            }
            missing = [group_id for group_id in missing if found[group_id].is_missing]
    return found


def other_members(coordinator: WireConnection, group_type: str, group_ids: Sequence[str]) -> dict[str, GroupMembers]:
    """As `group_members`, of groups that are all of one of `OTHER_TYPES`; none if the server cannot describe them.

    A member of a streams group has the partitions of the topics that its active tasks read.

    Raises:
        ClientError: the server does not answer.
    """
    request: ShareGroupDescribeRequest | StreamsGroupDescribeRequest
    request = (
        ShareGroupDescribeRequest(group_ids=list(group_ids))
        if group_type == SHARE
        else StreamsGroupDescribeRequest(group_ids=list(group_ids))
    )
    if not coordinator.supports(request.API_KEY):
        return {}
    make = _share_group if group_type == SHARE else _streams_group
    return {group.group_id: make(group) for group in coordinator.send_latest(request).groups}


def _classic_group(group: Any) -> GroupMembers:
    members = [
        DescribedMember(
            member.member_id,
            member.client_id,
            member.client_host,
            member.group_instance_id,
            owned := readable_partitions(group.protocol_type, member.member_assignment),
            worker=_worker(group.protocol_type, member.member_assignment),
            is_cut_short=is_cut_short(group.protocol_type, member.member_assignment),
            topics=_topics(owned, read_subscription(group.protocol_type, member.member_metadata, TOPICS_READ_MAX)[0]),
        )
        for member in group.members
    ]
    return GroupMembers(
        group.group_id, group.error_code, group.group_state, group.protocol_type, group.protocol_data, members
    )


def _consumer_group(group: Any) -> GroupMembers:
    members = [
        DescribedMember(
            member.member_id,
            member.client_id,
            member.client_host,
            member.instance_id,
            _by_topic(member.assignment),
            member.member_epoch,
            target := _by_topic(member.target_assignment),
            topics=_topics(target, member.subscribed_topic_names),
        )
        for member in group.members
    ]
    return GroupMembers(
        group.group_id,
        group.error_code,
        group.group_state,
        CONSUMER_PROTOCOL_TYPE,
        group.assignor_name,
        members,
        group.group_epoch,
    )


def _share_group(group: Any) -> GroupMembers:
    members = [
        DescribedMember(
            member.member_id,
            member.client_id,
            member.client_host,
            None,
            owned := _by_topic(member.assignment),
            member.member_epoch,
            topics=_topics(owned, member.subscribed_topic_names),
        )
        for member in group.members
    ]
    epoch = group.group_epoch
    return GroupMembers(group.group_id, group.error_code, group.group_state, SHARE, group.assignor_name, members, epoch)


def _streams_group(group: Any) -> GroupMembers:
    subtopologies = group.topology.subtopologies if group.topology is not None else None
    sources = {
        subtopology.subtopology_id: [
            *subtopology.source_topics,
            *(topic.name for topic in subtopology.repartition_source_topics),
        ]
        for subtopology in subtopologies or ()
    }
    topics = tuple(dict.fromkeys(topic for subtopology in subtopologies or () for topic in subtopology.source_topics))
    members = [
        DescribedMember(
            member.member_id,
            member.client_id,
            member.client_host,
            member.instance_id,
            _by_source(member.assignment, sources),
            member.member_epoch,
            _by_source(member.target_assignment, sources),
            topics=topics,
        )
        for member in group.members
    ]
    return GroupMembers(
        group.group_id, group.error_code, group.group_state, STREAMS, "", members, group_epoch=group.group_epoch
    )


def _by_source(assignment: Any, sources: Mapping[str, Sequence[str]]) -> dict[str, list[int]]:
    """The partitions that active tasks read: each reads the partition of its own number of each topic."""
    found: dict[str, list[int]] = {}
    for active_task in assignment.active_tasks:
        for topic in sources.get(active_task.subtopology_id, ()):
            found[topic] = sorted({*found.get(topic, ()), *active_task.partitions})
    return found


def _by_topic(assignment: Any) -> dict[str, list[int]]:
    return {
        topic_partition.topic_name: sorted(topic_partition.partitions)
        for topic_partition in assignment.topic_partitions
    }


def _topics(owned: Mapping[str, object] | None, subscribed: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*subscribed, *(owned or ())]))


def _worker(protocol_type: str, assignment: bytes) -> WorkerAssignment | None:
    if protocol_type != CONNECT_PROTOCOL_TYPE:
        return None
    try:
        return decode_worker_assignment(assignment)
    except MalformedMessage:
        return None
