"""Groups as any Kafka server describes them: a list, and members, assignment, committed offsets and lag of one."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.describe_groups import DescribeGroupsRequest
from _wire.messages.list_groups import ListGroupsRequest
from _wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from coordinator.client.groups import DEAD, coordinator_of, raise_for_error
from coordinator.client.wire import ClientError, WireConnection
from coordinator.core.assignors.consumer_protocol import readable_partitions

CLIENT_ID: Final = "coordinator-groups"
ANSWER_SECONDS: Final = 4
LATEST: Final = -1
OFFSET_FETCH_OF_NAMES: Final = 9
"""The last version that names topics. From version 10 on they are ids."""


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """A group in ListGroups. `state` and `group_type` are empty if the server is too old to tell them."""

    group_id: str
    protocol_type: str
    state: str
    group_type: str


@dataclass(frozen=True, slots=True)
class DescribedMember:
    """A member; `partitions` is None if its assignment cannot be read, or is not of the consumer protocol."""

    member_id: str
    client_id: str
    client_host: str
    group_instance_id: str | None
    partitions: dict[str, list[int]] | None


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """A partition that is assigned or has a committed offset; None: there is none, or it cannot be known."""

    topic: str
    partition: int
    committed_offset: int | None
    log_end_offset: int | None
    member_id: str | None

    @property
    def lag(self) -> int | None:
        if self.committed_offset is None or self.log_end_offset is None:
            return None
        return max(0, self.log_end_offset - self.committed_offset)


@dataclass(frozen=True, slots=True)
class DescribedGroup:
    group_id: str
    state: str
    protocol_type: str
    protocol_name: str
    members: list[DescribedMember]
    partitions: list[PartitionLag]


def list_groups(bootstrap: str) -> list[ListedGroup]:
    """The groups of all brokers of a cluster, by name.

    Raises:
        ClientError: a broker cannot be reached, or does not answer.
    """
    found: dict[str, ListedGroup] = {}
    with WireConnection(bootstrap, CLIENT_ID, ANSWER_SECONDS) as anyone:
        brokers = anyone.send_latest(MetadataRequest(topics=[])).brokers
        for broker in brokers:
            with _connection_to(f"{broker.host}:{broker.port}", anyone, len(brokers)) as connection:
                response = connection.send_latest(ListGroupsRequest())
                raise_for_error(response.error_code, f"cannot list the groups of {connection.bootstrap}")
                for group in response.groups:
                    found[group.group_id] = ListedGroup(
                        group.group_id, group.protocol_type, group.group_state, group.group_type
                    )
    return [found[each] for each in sorted(found)]


def _connection_to(address: str, anyone: WireConnection, brokers: int) -> WireConnection:
    """A connection to a broker; the one of a cluster is reached at the address that was given."""
    return WireConnection(anyone.bootstrap if brokers == 1 else address, CLIENT_ID, ANSWER_SECONDS)


def describe_group(bootstrap: str, group_id: str) -> DescribedGroup:
    """Members, assignment and lag of a group, in whatever state it is.

    Raises:
        ClientError: a broker cannot be reached, or there is no such group.
    """
    with WireConnection(bootstrap, CLIENT_ID, ANSWER_SECONDS) as anyone:
        with WireConnection(coordinator_of(anyone, group_id), CLIENT_ID, ANSWER_SECONDS) as connection:
            (group,) = connection.send_latest(DescribeGroupsRequest(groups=[group_id])).groups
            is_dead = group.error_code == ErrorCode.NONE and group.group_state == DEAD
            if is_dead or group.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
                raise ClientError(f"there is no group {group_id} with the classic protocol on {bootstrap}")
            raise_for_error(group.error_code, f"cannot describe group {group_id}")
            committed = _committed(connection, group_id)
        members = [_member(group.protocol_type, each) for each in group.members]
        owners = {
            (topic, partition): member.member_id
            for member in members
            for topic, partitions in (member.partitions or {}).items()
            for partition in partitions
        }
        known = sorted(owners.keys() | committed.keys())
        ends = _log_end_offsets(anyone, known)
    lags = [PartitionLag(*each, committed.get(each), ends.get(each), owners.get(each)) for each in known]
    return DescribedGroup(group_id, group.group_state, group.protocol_type, group.protocol_data, members, lags)


def _member(protocol_type: str, described: Any) -> DescribedMember:
    partitions = readable_partitions(protocol_type, described.member_assignment)
    return DescribedMember(
        described.member_id, described.client_id, described.client_host, described.group_instance_id, partitions
    )


def _committed(connection: WireConnection, group_id: str) -> dict[tuple[str, int], int]:
    groups = [OffsetFetchRequestGroup(group_id=group_id, topics=None)]
    request = OffsetFetchRequest(group_id=group_id, topics=None, groups=groups)
    response = connection.send_latest(request, OFFSET_FETCH_OF_NAMES)
    found = response.groups[0] if response.groups else response
    raise_for_error(found.error_code, f"cannot fetch the committed offsets of group {group_id}")
    return {
        (topic.name, partition.partition_index): partition.committed_offset
        for topic in found.topics
        for partition in topic.partitions
        if partition.committed_offset >= 0 and partition.error_code == ErrorCode.NONE
    }


def _log_end_offsets(anyone: WireConnection, partitions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
    """The log end offsets of the partitions that exist; asked of their leaders."""
    wanted: dict[str, list[int]] = {}
    for topic, partition in partitions:
        wanted.setdefault(topic, []).append(partition)
    topics = [MetadataRequestTopic(name=name) for name in sorted(wanted)]
    response = anyone.send_latest(MetadataRequest(topics=topics, allow_auto_topic_creation=False))
    addresses = {each.node_id: f"{each.host}:{each.port}" for each in response.brokers}
    by_leader: dict[int, dict[str, list[int]]] = {}
    for topic in response.topics:
        for each in topic.partitions:
            if each.leader_id in addresses and each.partition_index in wanted.get(topic.name, ()):
                by_leader.setdefault(each.leader_id, {}).setdefault(topic.name, []).append(each.partition_index)
    found: dict[tuple[str, int], int] = {}
    for leader, own in by_leader.items():
        with _connection_to(addresses[leader], anyone, len(addresses)) as connection:
            found.update(_ends(connection, own))
    return found


def _ends(connection: WireConnection, partitions: dict[str, list[int]]) -> dict[tuple[str, int], int]:
    request = ListOffsetsRequest(
        replica_id=-1,
        topics=[
            ListOffsetsTopic(
                name=name, partitions=[ListOffsetsPartition(partition_index=each, timestamp=LATEST) for each in indexes]
            )
            for name, indexes in partitions.items()
        ],
    )
    return {
        (topic.name, each.partition_index): each.offset
        for topic in connection.send_latest(request).topics
        for each in topic.partitions
        if each.error_code == ErrorCode.NONE
    }
