"""Describes a group of consumers as a server reports it: members, subscriptions, assignments and topics.

Here for the classic protocol; `consumer_groups` has both.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from _wire.errors import ErrorCode, MalformedMessage
from _wire.messages.describe_groups import DescribedGroup, DescribedGroupMember, DescribeGroupsRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from coordinator.client.server_assignors import server_assignors
from coordinator.client.wire import ClientError, WireConnection
from coordinator.core.assignment import decode_assignment
from coordinator.core.assignors.consumer_protocol import decode_subscription
from coordinator.core.assignors.model import MemberSubscription, Topic
from coordinator.core.assignors.registry import ASSIGNORS, RANGE, Assignor
from coordinator.core.consumer_protocol import CONSUMER_PROTOCOL_TYPE

CLIENT_ID: Final = "coordinator-groups"
GENERATION_ID: Final = 1
"""A placeholder: DescribeGroups does not return the generation, and all members are in the same one."""

STABLE: Final = "Stable"
DEAD: Final = "Dead"
"""The state of a group that does not exist, before version 6 of DescribeGroups."""


class Units(NamedTuple):
    """What is divided among the members of a group, and what that is part of, in words."""

    what: str
    of: str
    of_plural: str
    are_copies: bool = False
    """Several members may have the same one, as standby tasks; who gets one has to restore its state."""


PARTITIONS: Final = Units("partition", "topic", "topics")


@dataclass(frozen=True, slots=True)
class DescribedConsumers:
    """A stable group of consumers. `members` own their current assignments; `client_ids` maps member id → client id."""

    group_id: str
    protocol_name: str
    members: tuple[MemberSubscription, ...]
    client_ids: dict[str, str]
    topics: dict[str, Topic]
    assignors: Mapping[str, Assignor] = field(default_factory=lambda: ASSIGNORS)
    """Those that can be computed for it, by name."""
    protocol: str = "consumer"
    units: Units = PARTITIONS


def describe_classic_consumers(
    anyone: WireConnection, coordinator: WireConnection, group_id: str
) -> DescribedConsumers:
    """Describe a group by its coordinator, and its topics by any broker.

    Raises:
        ClientError: there is no stable consumer group of the classic protocol with this id.
    """
    group = _describe(coordinator, group_id)
    members = tuple(_member(group_id, member) for member in group.members)
    topics, topic_ids = existing_topics(anyone, frozenset[str]().union(*(member.topics for member in members)))
    client_ids = {member.member_id: member.client_id for member in group.members}
    assignors = {**server_assignors(topic_ids), **ASSIGNORS}
    return DescribedConsumers(group_id, group.protocol_data, members, client_ids, topics, assignors)


def coordinator_of(connection: WireConnection, group_id: str) -> str:
    response = connection.send_latest(FindCoordinatorRequest(key=group_id, coordinator_keys=[group_id]))
    found = response.coordinators[0] if response.coordinators else response
    raise_for_error(found.error_code, f"cannot find the coordinator of group {group_id}")
    return f"{found.host}:{found.port}"


def _describe(connection: WireConnection, group_id: str) -> DescribedGroup:
    """Return the group if it is a stable consumer group.

    Raises:
        ClientError: it is not.
    """
    (group,) = connection.send_latest(DescribeGroupsRequest(groups=[group_id])).groups
    described: DescribedGroup = group
    is_dead = group.error_code == ErrorCode.NONE and group.group_state == DEAD
    if is_dead or group.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        raise ClientError(f"there is no group {group_id} on {connection.bootstrap}")
    raise_for_error(group.error_code, f"cannot describe group {group_id}")
    if not group.members:
        raise ClientError(f"group {group_id} has no members; start its consumers and retry")
    if group.protocol_type != CONSUMER_PROTOCOL_TYPE:
        raise ClientError(f"group {group_id} is not a consumer group: its protocol type is {group.protocol_type!r}")
    if group.group_state != STABLE:
        raise ClientError(f"group {group_id} is rebalancing ({group.group_state}); retry when it is stable")
    return described


def _member(group_id: str, described: DescribedGroupMember) -> MemberSubscription:
    """Return the member with its current assignment as its owned partitions, not those that it sent when it joined."""
    try:
        joined = decode_subscription(RANGE, described.member_id, described.group_instance_id, described.member_metadata)
        owned = decode_assignment(described.member_assignment)
    except MalformedMessage as problem:
        raise ClientError(
            f"group {group_id}: cannot decode the subscription or assignment of member {described.member_id}: {problem}"
        ) from problem
    return MemberSubscription(
        joined.member_id, joined.topics, joined.group_instance_id, owned, GENERATION_ID, joined.rack_id
    )


def topic_names(connection: WireConnection) -> list[str]:
    """The names of all topics."""
    return [topic.name for topic in connection.send_latest(MetadataRequest(topics=None)).topics]


def existing_topics(connection: WireConnection, names: frozenset[str]) -> tuple[dict[str, Topic], dict[str, bytes]]:
    """The topics of these names that exist, and their ids. The request does not create missing ones."""
    response = connection.send_latest(
        MetadataRequest(
            topics=[MetadataRequestTopic(name=name) for name in sorted(names)], allow_auto_topic_creation=False
        )
    )
    rack_of = {broker.node_id: broker.rack for broker in response.brokers}
    topics: dict[str, Topic] = {}
    topic_ids: dict[str, bytes] = {}
    for topic in response.topics:
        if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            continue
        raise_for_error(topic.error_code, f"cannot describe topic {topic.name}")
        topics[topic.name] = Topic(len(topic.partitions), _replica_racks(topic.partitions, rack_of))
        topic_ids[topic.name] = topic.topic_id
    return topics, topic_ids


def _replica_racks(partitions: list[Any], rack_of: dict[int, str | None]) -> tuple[frozenset[str], ...]:
    in_order = sorted(partitions, key=lambda partition: partition.partition_index)
    return tuple(
        frozenset(rack for node in partition.replica_nodes if (rack := rack_of.get(node))) for partition in in_order
    )


class ErrorAnswer(ClientError):
    """The server answered with an error."""

    def __init__(self, what: str, error: ErrorCode) -> None:
        super().__init__(f"{what}: {error.name}, {error.description}")
        self.error = error


def raise_for_error(error_code: int, what: str) -> None:
    """Raise a ClientError unless the error code is NONE: an `ErrorAnswer` if it is one of Kafka's."""
    if error_code != ErrorCode.NONE:
        error = ErrorCode(error_code)
        if error != error_code:  # of a later version
            raise ClientError(f"{what}: error {error_code}")
        raise ErrorAnswer(what, error)
