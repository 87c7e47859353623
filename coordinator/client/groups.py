"""A group as a server tells it: its members, what they subscribe to and have, the topics they name."""

from dataclasses import dataclass
from typing import Any, Final

from _wire.errors import ErrorCode, MalformedMessage
from _wire.messages.describe_groups import DescribedGroup, DescribedGroupMember, DescribeGroupsRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from coordinator.client.wire import ClientError, WireConnection
from coordinator.core.assignors.consumer_protocol import PROTOCOL_TYPE, decode_assignment, decode_subscription
from coordinator.core.assignors.model import MemberSubscription, Topic
from coordinator.core.assignors.registry import RANGE

CLIENT_ID: Final = "coordinator-groups"
GENERATION_ID: Final = 1
"""DescribeGroups does not tell the generation; all members have what they have in the same one."""

STABLE: Final = "Stable"
DEAD: Final = "Dead"
"""What a group that does not exist is said to be, before version 6."""


@dataclass(frozen=True, slots=True)
class DescribedConsumers:
    """A stable group of consumers. `members` own what they are assigned; `client_ids` has the same member ids."""

    group_id: str
    protocol_name: str
    members: tuple[MemberSubscription, ...]
    client_ids: dict[str, str]
    topics: dict[str, Topic]


def describe_consumers(bootstrap: str, group_id: str) -> DescribedConsumers:
    """Ask the coordinator of the group; raises ClientError, with one line that says what to do."""
    with WireConnection(bootstrap, CLIENT_ID) as anyone:
        coordinator = _coordinator_of(anyone, group_id)
        with WireConnection(coordinator, CLIENT_ID) as connection:
            group = _describe(connection, group_id)
        members = tuple(_member(group_id, each) for each in group.members)
        topics = _topics(anyone, frozenset[str]().union(*(each.topics for each in members)))
    client_ids = {each.member_id: each.client_id for each in group.members}
    return DescribedConsumers(group_id, group.protocol_data, members, client_ids, topics)


def _coordinator_of(connection: WireConnection, group_id: str) -> str:
    answer = connection.ask_latest(FindCoordinatorRequest(key=group_id, coordinator_keys=[group_id]))
    found = answer.coordinators[0] if answer.coordinators else answer
    _refuse_error(found.error_code, f"no coordinator for group {group_id}")
    return f"{found.host}:{found.port}"


def _describe(connection: WireConnection, group_id: str) -> DescribedGroup:
    """The group, if it is one whose partitions can be told."""
    (group,) = connection.ask_latest(DescribeGroupsRequest(groups=[group_id])).groups
    described: DescribedGroup = group
    is_dead = group.error_code == ErrorCode.NONE and group.group_state == DEAD
    if is_dead or group.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        raise ClientError(f"there is no group {group_id} (of the classic protocol) on {connection.bootstrap}")
    _refuse_error(group.error_code, f"group {group_id} cannot be described")
    if not group.members:
        raise ClientError(f"group {group_id} has no members; start its consumers and ask again")
    if group.protocol_type != PROTOCOL_TYPE:
        raise ClientError(f"group {group_id} is no group of consumers: its protocol type is {group.protocol_type!r}")
    if group.group_state != STABLE:
        raise ClientError(f"group {group_id} is rebalancing ({group.group_state}); ask again when it is stable")
    return described


def _member(group_id: str, described: DescribedGroupMember) -> MemberSubscription:
    """What counts is what it has now, not what it said of that when it joined, whatever assignor it joined with."""
    try:
        said = decode_subscription(RANGE, described.member_id, described.group_instance_id, described.member_metadata)
        owned = decode_assignment(described.member_assignment)
    except MalformedMessage as problem:
        raise ClientError(
            f"group {group_id}: what member {described.member_id} subscribes to or has cannot be read: {problem}"
        ) from problem
    return MemberSubscription(said.member_id, said.topics, said.group_instance_id, owned, GENERATION_ID, said.rack_id)


def _topics(connection: WireConnection, names: frozenset[str]) -> dict[str, Topic]:
    """Those that exist; asking makes none."""
    answer = connection.ask_latest(
        MetadataRequest(
            topics=[MetadataRequestTopic(name=name) for name in sorted(names)], allow_auto_topic_creation=False
        )
    )
    rack_of = {broker.node_id: broker.rack for broker in answer.brokers}
    topics = {}
    for topic in answer.topics:
        if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            continue
        _refuse_error(topic.error_code, f"topic {topic.name} cannot be described")
        topics[topic.name] = Topic(len(topic.partitions), _replica_racks(topic.partitions, rack_of))
    return topics


def _replica_racks(partitions: list[Any], rack_of: dict[int, str | None]) -> tuple[frozenset[str], ...]:
    in_order = sorted(partitions, key=lambda partition: partition.partition_index)
    return tuple(
        frozenset(rack for node in partition.replica_nodes if (rack := rack_of.get(node))) for partition in in_order
    )


def _refuse_error(error_code: int, what: str) -> None:
    if error_code != ErrorCode.NONE:
        try:
            error = ErrorCode(error_code)
        except ValueError:
            raise ClientError(f"{what}: error {error_code}") from None
        raise ClientError(f"{what}: {error.name}, {error.description}")
