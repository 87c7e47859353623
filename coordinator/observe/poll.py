"""What the admin APIs of a Kafka tell of its groups now: state, members, assignment, lag. DESCRIBE is all they need."""

import time
from collections.abc import Callable, Container, Iterator
from typing import Final

import msgspec

from _wire.errors import ErrorCode
from _wire.messages.describe_cluster import DescribeClusterRequest
from _wire.messages.list_groups import ListGroupsRequest
from coordinator.client.bootstrap import Server
from coordinator.client.cluster import Cluster
from coordinator.client.group_description import (
    ANSWER_SECONDS,
    DescribedGroup,
    ListedGroup,
    NoSuchGroup,
    PartitionLag,
    add_lags,
    describe_group,
    group_lags,
    listed_groups,
    without_lags,
)
from coordinator.client.group_members import OTHER_TYPES, SHARE, STREAMS, DescribedMember, other_members
from coordinator.client.groups import ErrorAnswer, raise_for_error
from coordinator.client.share_offsets import add_share_lags
from coordinator.client.wire import WireConnection
from coordinator.observe.errors import DESCRIBE_CLUSTER, MayNotDescribeCluster, MayNotDescribeGroup
from coordinator.observe.places import Place, Source
from coordinator.printable import printable

CLIENT_ID: Final = "coordinator-observe"
GROUPS_MAX: Final = 10_000
"""Groups of each broker that are described."""
OF_TYPES: Final = 5
"""The first version of ListGroups that tells the type of a group, and can ask for some alone (KIP-848)."""
DESCRIBE_BIT: Final = 1 << 8
"""Of the operations that a client may do: AclOperation.DESCRIBE."""
CONSUMER_GROUP_DESCRIBE: Final = "ConsumerGroupDescribe"
DESCRIBE_GROUPS: Final = "DescribeGroups"
LIST_GROUPS: Final = "ListGroups"
DESCRIBED_BY: Final = {
    "classic": DESCRIBE_GROUPS,
    "consumer": CONSUMER_GROUP_DESCRIBE,
    SHARE: "ShareGroupDescribe",
    STREAMS: "StreamsGroupDescribe",
}
"""Type of a group → the API that describes it."""


def wall_clock_ms() -> int:
    return time.time_ns() // 1_000_000


class PresentGroup(msgspec.Struct):
    """A group as it is at `place.time_ms`, the wall clock here.

    `type` is that of ListGroups: classic, consumer, share or streams. `epoch` is the group epoch; no API tells the
    generation of a classic group. `missing` are the rights that would tell more, such as DESCRIBE on a topic.
    """

    place: Place
    group_id: str
    type: str
    state: str
    protocol_type: str
    protocol_name: str
    epoch: int | None
    members: list[DescribedMember]
    partitions: list[PartitionLag]
    missing: list[str] = []
    missing_topics: list[str] = []
    """Topics that members subscribe to by name, or own partitions of, and that do not exist."""

    @property
    def is_described(self) -> bool:
        """Whether the members are known."""
        return self.place.name != LIST_GROUPS

    @property
    def lag(self) -> int | None:
        """The sum over all partitions whose lag is known; None if there is none."""
        lags = [partition.lag for partition in self.partitions if partition.lag is not None]
        return sum(lags) if lags else None


def poll_group(server: Server, group_id: str, *, now_ms: Callable[[], int] = wall_clock_ms) -> PresentGroup:
    """A group, with where its commits stand and since when.

    Raises:
        NoSuchGroup: there is no such group.
        MayNotDescribeGroup: no right to.
        ClientError: a broker cannot be reached, or answers with another error.
    """
    try:
        return present_group(describe_group(server, group_id), now_ms())
    except ErrorAnswer as problem:
        if problem.error == ErrorCode.GROUP_AUTHORIZATION_FAILED:
            raise MayNotDescribeGroup(server, group_id) from None
        raise
    except NoSuchGroup:
        found = _of_another_type(server, group_id, now_ms)
        if found is None:
            raise
        return found


def poll_groups(
    server: Server, groups: Container[str] | None = None, *, now_ms: Callable[[], int] = wall_clock_ms
) -> Iterator[PresentGroup]:
    """The groups of the cluster that are among `groups` (None: all), with their lag, many with one request.

    Ages of records, transactions and standing offsets are not looked up. Groups that may not be described have no
    members.

    Raises:
        ClientError: a broker cannot be reached, or does not answer.
    """
    others: list[ListedGroup] = []

    def is_described(group: ListedGroup) -> bool:
        if groups is not None and group.group_id not in groups:
            return False
        if group.group_type in OTHER_TYPES:
            others.append(group)
            return False
        return True

    with Cluster(server, CLIENT_ID, ANSWER_SECONDS) as cluster:
        for part in group_lags(cluster, GROUPS_MAX, is_described):
            at_ms = now_ms()
            yield from (present_group(group, at_ms) for group in part.groups)
        for other in others:
            yield _of_other_type(cluster, cluster.coordinator(other.group_id), other, now_ms)


class ListedGroups(msgspec.Struct):
    """The groups that ListGroups tells; `missing` has the right without which it hides some."""

    groups: list[ListedGroup]
    missing: list[str]


def list_present(server: Server) -> ListedGroups:
    """The groups of all brokers, by name.

    Raises:
        MayNotDescribeCluster: no right to list any.
        ClientError: a broker cannot be reached, or does not answer.
    """
    with Cluster(server, CLIENT_ID, ANSWER_SECONDS) as cluster:
        try:
            found = [group for broker in cluster.brokers() for group in listed_groups(broker)]
        except ErrorAnswer as problem:
            if problem.error == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
                raise MayNotDescribeCluster(server) from None
            raise
        # Without this right, a broker lists those groups alone that may be described themselves.
        missing = [] if _may_describe_cluster(cluster.anyone) else [DESCRIBE_CLUSTER]
    return ListedGroups(sorted(found, key=lambda group: group.group_id), missing)


def present_group(group: DescribedGroup, at_ms: int, broker_id: int | None = None) -> PresentGroup:
    """A group as it was described at a time (ms), by the broker that coordinates it."""
    group_type = "classic" if group.group_epoch is None else "consumer"
    if group.protocol_type in OTHER_TYPES and group.group_epoch is not None:
        group_type = group.protocol_type
    return PresentGroup(
        Place(Source.POLL, DESCRIBED_BY[group_type], at_ms, broker_id=broker_id),
        group.group_id,
        group_type,
        group.state,
        group.protocol_type,
        group.protocol_name,
        group.group_epoch,
        group.members,
        group.partitions,
        [f"DESCRIBE on topic {printable(hidden_topic)}" for hidden_topic in group.hidden_topics],
        group.missing_topics,
    )


def _of_another_type(server: Server, group_id: str, now_ms: Callable[[], int]) -> PresentGroup | None:
    """A share or streams group, which has APIs of its own; None: there is none."""
    with Cluster(server, CLIENT_ID, ANSWER_SECONDS) as cluster:
        coordinator = cluster.coordinator(group_id)
        if coordinator.latest_version(ListGroupsRequest.API_KEY) < OF_TYPES:
            return None
        response = coordinator.send_latest(ListGroupsRequest(types_filter=list(OTHER_TYPES)))
        raise_for_error(response.error_code, f"cannot list the groups of {coordinator.bootstrap}")
        for group in response.groups:
            if group.group_id == group_id:
                listed = ListedGroup(group_id, group.protocol_type, group.group_state, group.group_type)
                return _of_other_type(cluster, coordinator, listed, now_ms)
    return None


def _of_other_type(
    cluster: Cluster, coordinator: WireConnection, listed: ListedGroup, now_ms: Callable[[], int]
) -> PresentGroup:
    """A share or streams group with its members, if it may be described."""
    found = other_members(coordinator, listed.group_type, [listed.group_id]).get(listed.group_id)
    if found is None or found.error_code:
        return listed_group(listed, now_ms())
    described = without_lags(found)
    if listed.group_type == SHARE:
        add_share_lags(coordinator, [described])
    else:
        add_lags(cluster, coordinator, [described])
    return present_group(described, now_ms())


def listed_group(group: ListedGroup, at_ms: int, broker_id: int | None = None) -> PresentGroup:
    """A group that is not described, as ListGroups told it."""
    place = Place(Source.POLL, LIST_GROUPS, at_ms, broker_id=broker_id)
    return PresentGroup(
        place, group.group_id, group.group_type, group.state, group.protocol_type, "", None, members=[], partitions=[]
    )


def _may_describe_cluster(connection: WireConnection) -> bool:
    """Brokers that cannot tell (before 2.8) are believed to list all groups."""
    if not connection.supports(DescribeClusterRequest.API_KEY):
        return True
    answer = connection.send_latest(DescribeClusterRequest(include_cluster_authorized_operations=True))
    raise_for_error(answer.error_code, f"cannot describe the cluster of {connection.bootstrap}")
    return bool(answer.cluster_authorized_operations & DESCRIBE_BIT)
