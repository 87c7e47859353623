"""Groups as any Kafka server describes them: a list, and members, assignment, committed offsets and lag of each."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.list_groups import ListGroupsRequest
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from coordinator.client.bootstrap import Server
from coordinator.client.cluster import Cluster, Partition
from coordinator.client.group_members import DescribedMember, GroupMembers, group_members
from coordinator.client.groups import raise_for_error
from coordinator.client.wire import ClientError, WireConnection
from coordinator.core.lag import lag_ms, lag_of

CLIENT_ID: Final = "coordinator-groups"
ANSWER_SECONDS: Final = 4
LAG_GROUPS_MAX: Final = 1_000
"""Groups of each broker whose lag is read to list them."""
OFFSET_FETCH_OF_GROUPS: Final = 8
"""The first version that fetches the offsets of several groups."""
OFFSET_FETCH_OF_NAMES: Final = 9
"""The last version that names topics. From version 10 on they are ids."""
GROUPS_AT_ONCE: Final = 100
"""Groups of one request that describes them, or OffsetFetch."""
AGES_MAX: Final = 200
"""Partitions whose oldest record is looked up to describe a group: each costs a Fetch."""


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """A group in ListGroups. `state` and `group_type` are empty if the server is too old to tell them."""

    group_id: str
    protocol_type: str
    state: str
    group_type: str


@dataclass(slots=True)
class PartitionLag:
    """A partition that is assigned or has a committed offset; None: there is none, or it is not known."""

    topic: str
    partition: int
    committed_offset: int | None
    log_end_offset: int | None
    member_id: str | None
    oldest_ms: int | None = None
    """The timestamp of the record at the committed offset."""

    @property
    def lag(self) -> int | None:
        if self.committed_offset is None or self.log_end_offset is None:
            return None
        return lag_of(self.committed_offset, self.log_end_offset)

    def lag_ms(self, now_ms: int) -> int | None:
        """How old the oldest record is that is not consumed yet."""
        return None if self.lag is None else lag_ms(self.lag, self.oldest_ms, now_ms)


@dataclass(frozen=True, slots=True)
class DescribedGroup:
    """`partitions` are sorted by lag, the largest first; those whose lag is unknown come last."""

    group_id: str
    state: str
    protocol_type: str
    protocol_name: str
    members: list[DescribedMember]
    partitions: list[PartitionLag] = field(default_factory=list)
    group_epoch: int | None = None
    """None for a classic group."""

    @property
    def lag(self) -> int | None:
        """The sum over all partitions whose lag is known; None if there is none."""
        lags = [each.lag for each in self.partitions if each.lag is not None]
        return sum(lags) if lags else None

    def lag_ms(self, now_ms: int) -> int | None:
        """The largest of all partitions for which it is known; None if there is none."""
        return max((age for each in self.partitions if (age := each.lag_ms(now_ms)) is not None), default=None)


def list_groups(server: Server) -> list[tuple[ListedGroup, int | None]]:
    """The groups of all brokers of a cluster by name, and the lag of the first `LAG_GROUPS_MAX` of each broker.

    Raises:
        ClientError: a broker cannot be reached, or does not answer.
    """
    with Cluster(server, CLIENT_ID, ANSWER_SECONDS) as cluster:
        found = [group for broker in cluster.brokers() for group in listed_groups(broker)]
        lags = {each.group_id: each.lag for part in group_lags(cluster, LAG_GROUPS_MAX) for each in part.groups}
    return [(each, lags.get(each.group_id)) for each in sorted(found, key=lambda each: each.group_id)]


def listed_groups(broker: WireConnection) -> list[ListedGroup]:
    """The groups that a broker coordinates."""
    response = broker.send_latest(ListGroupsRequest())
    raise_for_error(response.error_code, f"cannot list the groups of {broker.bootstrap}")
    return [
        ListedGroup(each.group_id, each.protocol_type, each.group_state, each.group_type) for each in response.groups
    ]


@dataclass(frozen=True, slots=True)
class DescribedGroups:
    """Some groups of a broker, the leaders of their partitions, and how many groups follow that are not described."""

    groups: list[DescribedGroup]
    leaders: dict[Partition, int]
    groups_left_out: int


def group_lags(cluster: Cluster, groups_max: int) -> Iterator[DescribedGroups]:
    """Members and lag of all groups of a cluster, `GROUPS_AT_ONCE` at a time; the first `groups_max` of each broker.

    A group that cannot be described has no members here. The ages of records are not looked up.
    """
    for broker in cluster.brokers():
        listed = sorted(listed_groups(broker), key=lambda each: each.group_id)
        left_out = len(listed[groups_max:])
        for start in range(0, len(listed) - left_out, GROUPS_AT_ONCE):
            part = listed[start : min(start + GROUPS_AT_ONCE, groups_max)]
            described = _described(broker, part)
            committed = _committed(broker, [each.group_id for each in part])
            yield DescribedGroups(described, _add_lags(cluster, described, committed), left_out)
            left_out = 0


def describe_group(server: Server, group_id: str) -> DescribedGroup:
    """Members, assignment and lag of a group, in whatever state it is.

    Raises:
        ClientError: a broker cannot be reached, or there is no such group.
    """
    with Cluster(server, CLIENT_ID, ANSWER_SECONDS) as cluster:
        coordinator = cluster.coordinator(group_id)
        group = group_members(coordinator, [group_id])[group_id]
        if group.is_missing:
            raise ClientError(f"there is no group {group_id} on {server}")
        raise_for_error(group.error_code, f"cannot describe group {group_id}")
        described = _without_lags(group)
        leaders = _add_lags(cluster, [described], {group_id: committed_offsets(coordinator, group_id)})
        find_ages(cluster, islice((each for each in described.partitions if each.lag), AGES_MAX), leaders)
    return described


def committed_offsets(coordinator: WireConnection, group_id: str) -> dict[Partition, int]:
    """All committed offsets of a group, asked of its coordinator.

    Raises:
        ClientError: the server does not answer, or with an error.
    """
    ((_, fetched),) = _fetched_offsets(coordinator, [group_id])
    raise_for_error(fetched.error_code, f"cannot fetch the committed offsets of group {group_id}")
    return _offsets(fetched)


def described_members(coordinator: WireConnection, group_id: str) -> list[DescribedMember]:
    """The members of a group; none if it does not exist.

    Raises:
        ClientError: the server does not answer, or with an error.
    """
    group = group_members(coordinator, [group_id])[group_id]
    if group.is_missing:
        return []
    raise_for_error(group.error_code, f"cannot describe group {group_id}")
    return group.members


def find_ages(cluster: Cluster, partitions: Iterable[PartitionLag], leaders: dict[Partition, int]) -> None:
    """Look up the timestamp of the record at the committed offset of each of these partitions."""
    by_place: dict[tuple[Partition, int], list[PartitionLag]] = {}
    for each in partitions:
        if each.committed_offset is not None:
            by_place.setdefault(((each.topic, each.partition), each.committed_offset), []).append(each)
    for place, oldest_ms in cluster.timestamps_at(by_place, leaders):
        for each in by_place[place]:
            each.oldest_ms = oldest_ms


def _described(broker: WireConnection, listed: Sequence[ListedGroup]) -> list[DescribedGroup]:
    """Groups with their members; those that cannot be described without."""
    found = group_members(broker, [each.group_id for each in listed])
    return [
        DescribedGroup(each.group_id, each.state, each.protocol_type, "", [])
        if (group := found.get(each.group_id)) is None or group.is_missing or group.error_code
        else _without_lags(group)
        for each in listed
    ]


def _without_lags(group: GroupMembers) -> DescribedGroup:
    return DescribedGroup(
        group.group_id,
        group.state,
        group.protocol_type,
        group.protocol_name,
        group.members,
        group_epoch=group.group_epoch,
    )


def _committed(coordinator: WireConnection, group_ids: Sequence[str]) -> dict[str, dict[Partition, int]]:
    """Group → its committed offsets, for the groups whose offsets can be fetched."""
    return {
        group_id: _offsets(each) for group_id, each in _fetched_offsets(coordinator, group_ids) if not each.error_code
    }


def _fetched_offsets(coordinator: WireConnection, group_ids: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Group, and its part of a response of OffsetFetch."""
    version = coordinator.latest_version(OffsetFetchRequest.API_KEY, OFFSET_FETCH_OF_NAMES)
    if version >= OFFSET_FETCH_OF_GROUPS:
        groups = [OffsetFetchRequestGroup(group_id=each, topics=None) for each in group_ids]
        for found in coordinator.request(OffsetFetchRequest(groups=groups), version).groups:
            yield found.group_id, found
    else:
        for group_id in group_ids:
            yield group_id, coordinator.request(OffsetFetchRequest(group_id=group_id, topics=None), version)


def _offsets(fetched: Any) -> dict[Partition, int]:
    return {
        (topic.name, partition.partition_index): partition.committed_offset
        for topic in fetched.topics
        for partition in topic.partitions
        if partition.committed_offset >= 0 and partition.error_code == ErrorCode.NONE
    }


def _add_lags(
    cluster: Cluster, groups: Sequence[DescribedGroup], committed: dict[str, dict[Partition, int]]
) -> dict[Partition, int]:
    """Give each group its partitions; return the leaders of all of them."""
    owners = {each.group_id: _owners(each.members) for each in groups}
    known = {at for each in groups for at in (*owners[each.group_id], *committed.get(each.group_id, ()))}
    leaders = cluster.leaders({topic for topic, _ in known})
    ends = cluster.log_end_offsets(sorted(known), leaders)
    for group in groups:
        of_group, owned = committed.get(group.group_id, {}), owners[group.group_id]
        lags = [
            PartitionLag(*at, of_group.get(at), ends.get(at), owned.get(at)) for at in sorted(of_group.keys() | owned)
        ]
        group.partitions.extend(sorted(lags, key=lambda each: -1 if each.lag is None else each.lag, reverse=True))
    return leaders


def _owners(members: Iterable[DescribedMember]) -> dict[Partition, str]:
    return {
        (topic, partition): member.member_id
        for member in members
        for topic, partitions in (member.partitions or {}).items()
        for partition in partitions
    }
