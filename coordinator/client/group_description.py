"""Groups as any Kafka server describes them: a list, and members, assignment, committed offsets and lag of each."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from _wire.messages.list_groups import ListGroupsRequest
from coordinator.client.bootstrap import Server
from coordinator.client.cluster import Cluster, FirstRecord, Partition
from coordinator.client.committed_offsets import Committed, committed_of_groups
from coordinator.client.group_members import SHARE, DescribedMember, GroupMembers, group_members
from coordinator.client.groups import raise_for_error
from coordinator.client.open_transactions import OpenTransaction, open_transactions
from coordinator.client.standing_offsets import Standing, find_standing
from coordinator.client.wire import ClientError, WireConnection
from coordinator.core.lag import lag_ms, lag_of
from coordinator.core.partitioning import partition_for
from coordinator.internal_topics import OFFSETS_TOPIC

CLIENT_ID: Final = "coordinator-groups"
ANSWER_SECONDS: Final = 4
LAG_GROUPS_MAX: Final = 1_000
"""Groups of each broker whose lag is read to list them."""
GROUPS_AT_ONCE: Final = 100
"""Groups of one request that describes them, or OffsetFetch."""
MARKERS_LAG_MAX: Final = 8
"""A lag up to this is looked at to list groups: it may be markers of transactions alone."""
AGES_MAX: Final = 200
"""Partitions whose oldest record is looked up to describe a group: each costs a Fetch."""
TRANSACTIONS_MAX: Final = 200
"""Partitions that wait for a transaction of which it is looked up for which one."""
SUBSCRIBED_MAX: Final = 100_000
"""Partitions that the members of some groups subscribe to together; those of further groups are told if owned."""
_LEAST: Final = -(2**63)
"""Sorts after all lags."""


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """A group in ListGroups. `state` and `group_type` are empty if the server is too old to tell them."""

    group_id: str
    protocol_type: str
    state: str
    group_type: str


class NoSuchGroup(ClientError):
    """The server has no group of this name."""


@dataclass(slots=True)
class PartitionLag:
    """A partition that is assigned or subscribed to, or has a committed offset; None: there is none, or not known."""

    topic: str
    partition: int
    committed_offset: int | None
    log_end_offset: int | None
    member_id: str | None
    oldest_ms: int | None = None
    """The timestamp of the first record from the committed offset on."""
    first: FirstRecord | None = None
    """That record, or where the log ended if only markers of transactions follow; None: not looked up."""
    log_start_offset: int | None = None
    """The offset of the first record that is left; None: not looked up."""
    last_stable_offset: int | None = None
    """Up to where read_committed reads; None: not looked up."""
    is_subscribed: bool = False
    """Whether a member subscribes to its topic by name, or owns another partition of it."""
    has_pending_commit: bool = False
    """Whether a transaction that is open has an offset for it (UNSTABLE_OFFSET_COMMIT)."""
    transaction: OpenTransaction | None = None
    """What it waits for, see `waits_for_transaction`; None where nobody tells it."""
    standing: Standing | None = None
    """Since when nothing has moved; None: not looked up, or not known."""

    @property
    def lag(self) -> int | None:
        """Records to be read: 0 if only markers of transactions follow, below 0 beyond the end of the log."""
        if self.committed_offset is None or self.log_end_offset is None:
            return None
        lag = lag_of(self.committed_offset, self.log_end_offset)
        has_only_markers = self.first is not None and self.first.offset >= self.log_end_offset
        return 0 if lag > 0 and has_only_markers else lag

    @property
    def deleted_unread(self) -> int:
        """How many offsets from the committed one on are gone: the log begins after it (retention, DeleteRecords)."""
        if self.committed_offset is None or self.log_start_offset is None:
            return 0
        return max(0, self.log_start_offset - max(self.committed_offset, 0))

    @property
    def waits_for_transaction(self) -> bool:
        """Whether it has records, and read_committed none of them before a transaction ends; or an offset waits."""
        if self.has_pending_commit:
            return True
        if self.last_stable_offset is None or (self.lag or 0) <= 0:
            return False
        first = 0 if self.first is None else self.first.offset
        return max(self.committed_offset or 0, first) >= self.last_stable_offset

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
    hidden_topics: list[str] = field(default_factory=list)
    """Topics of its members that may not be described. Those of committed offsets alone are not told of at all."""
    missing_topics: list[str] = field(default_factory=list)
    """Topics that its members subscribe to by name, or own partitions of, and that do not exist."""

    @property
    def lag(self) -> int | None:
        """The sum over all partitions whose lag is known; None if there is none."""
        lags = [partition.lag for partition in self.partitions if partition.lag is not None]
        return sum(lags) if lags else None

    def lag_ms(self, now_ms: int) -> int | None:
        """The largest of all partitions for which it is known; None if there is none."""
        return max(
            (age for partition in self.partitions if (age := partition.lag_ms(now_ms)) is not None), default=None
        )


def list_groups(server: Server) -> list[tuple[ListedGroup, int | None]]:
    """The groups of all brokers of a cluster by name, and the lag of the first `LAG_GROUPS_MAX` of each broker.

    Raises:
        ClientError: a broker cannot be reached, or does not answer.
    """
    with Cluster(server, CLIENT_ID, ANSWER_SECONDS) as cluster:
        found = [group for broker in cluster.brokers() for group in listed_groups(broker)]
        parts = list(group_lags(cluster, LAG_GROUPS_MAX))
        for part in parts:
            few = (
                partition
                for group in part.groups
                for partition in group.partitions
                if 0 < (partition.lag or 0) <= MARKERS_LAG_MAX
            )
            find_first_records(cluster, islice(few, AGES_MAX), part.leaders)
        lags = {group.group_id: group.lag for part in parts for group in part.groups}
    return [(group, lags.get(group.group_id)) for group in sorted(found, key=lambda group: group.group_id)]


def listed_groups(broker: WireConnection) -> list[ListedGroup]:
    """The groups that a broker coordinates."""
    response = broker.send_latest(ListGroupsRequest())
    raise_for_error(response.error_code, f"cannot list the groups of {broker.bootstrap}")
    return [
        ListedGroup(group.group_id, group.protocol_type, group.group_state, group.group_type)
        for group in response.groups
    ]


@dataclass(frozen=True, slots=True)
class DescribedGroups:
    """Some groups of a broker, the leaders of their partitions, and how many groups follow that are not described."""

    groups: list[DescribedGroup]
    leaders: dict[Partition, int]
    groups_left_out: int


def group_lags(
    cluster: Cluster, groups_max: int, selects: Callable[[ListedGroup], bool] = lambda group: True
) -> Iterator[DescribedGroups]:
    """Members and lag of the groups that are wanted, `GROUPS_AT_ONCE` at a time; the first `groups_max` of each broker.

    A group that cannot be described has no members here. The ages of records are not looked up.
    """
    for broker in cluster.brokers():
        listed = sorted(filter(selects, listed_groups(broker)), key=lambda group: group.group_id)
        left_out = len(listed[groups_max:])
        for start in range(0, len(listed) - left_out, GROUPS_AT_ONCE):
            part = listed[start : min(start + GROUPS_AT_ONCE, groups_max)]
            described = _described(broker, part)
            of_share = [group for group in described if group.protocol_type == SHARE]
            if of_share:
                _add_share_lags(broker, of_share)
            others = [group for group in described if group.protocol_type != SHARE]
            yield DescribedGroups(described, add_lags(cluster, broker, others)[0], left_out)
            left_out = 0


def add_lags(
    cluster: Cluster, coordinator: WireConnection, groups: Sequence[DescribedGroup]
) -> tuple[dict[Partition, int], dict[str, int]]:
    """Give groups of a coordinator their partitions with lag.

    Return the leaders of these, and the errors of the groups whose offsets cannot be fetched.

    Raises:
        ClientError: a broker does not answer.
    """
    committed = committed_of_groups(coordinator, [group.group_id for group in groups])
    return _add_lags(cluster, groups, committed), committed.errors


def describe_group(server: Server, group_id: str) -> DescribedGroup:
    """Members, assignment and lag of a group, in whatever state it is.

    Raises:
        NoSuchGroup: there is no such group.
        ErrorAnswer: it may not be described, or its offsets not be fetched.
        ClientError: a broker cannot be reached.
    """
    with Cluster(server, CLIENT_ID, ANSWER_SECONDS) as cluster:
        coordinator = cluster.coordinator(group_id)
        group = group_members(coordinator, [group_id])[group_id]
        if group.is_missing:
            raise NoSuchGroup(f"there is no group {group_id} on {server}")
        raise_for_error(group.error_code, f"cannot describe group {group_id}")
        described = without_lags(group)
        if group.protocol_type == SHARE:
            errors = _add_share_lags(coordinator, [described])
            raise_for_error(errors.get(group_id, 0), f"cannot describe the offsets of share group {group_id}")
            return described
        committed = committed_of_groups(coordinator, [group_id])
        raise_for_error(committed.errors.get(group_id, 0), f"cannot fetch the committed offsets of group {group_id}")
        leaders = _add_lags(cluster, [described], committed)
        behind = [partition for partition in described.partitions if (partition.lag or 0) > 0]
        find_first_records(cluster, behind[:AGES_MAX], leaders)
        find_log_starts(cluster, [described], leaders)
        find_transactions(cluster, [described], leaders)
        find_standing_offsets(cluster, described)
        described.partitions.sort(key=_by_lag, reverse=True)
        described.hidden_topics.extend(sorted(cluster.hidden_topics))
    return described


def _add_share_lags(coordinator: WireConnection, groups: Sequence[DescribedGroup]) -> dict[str, int]:
    from coordinator.client.share_offsets import add_share_lags

    return add_share_lags(coordinator, groups, with_unknown=True)


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


def find_first_records(cluster: Cluster, partitions: Iterable[PartitionLag], leaders: dict[Partition, int]) -> None:
    """Look up the first record from the committed offset on of each of these partitions."""
    by_place: dict[tuple[Partition, int], list[PartitionLag]] = {}
    for partition in partitions:
        if partition.committed_offset is not None:
            by_place.setdefault(((partition.topic, partition.partition), partition.committed_offset), []).append(
                partition
            )
    for place, first in cluster.first_records(by_place, leaders):
        for partition in by_place[place]:
            partition.first, partition.oldest_ms = first, first.timestamp_ms


def find_log_starts(cluster: Cluster, groups: Sequence[DescribedGroup], leaders: Mapping[Partition, int]) -> None:
    """Look up where the logs begin that these groups have not read to the end."""
    starts = cluster.log_start_offsets(_behind(groups), leaders)
    for group in groups:
        for partition in group.partitions:
            partition.log_start_offset = starts.get((partition.topic, partition.partition))


def _behind(groups: Sequence[DescribedGroup]) -> list[Partition]:
    """The partitions with lag."""
    return sorted(
        {
            (partition.topic, partition.partition)
            for of in groups
            for partition in of.partitions
            if (partition.lag or 0) > 0
        }
    )


def find_transactions(cluster: Cluster, groups: Sequence[DescribedGroup], leaders: Mapping[Partition, int]) -> None:
    """Look up which partitions of these groups wait for a transaction that is open, and for which one."""
    stable = cluster.last_stable_offsets(_behind(groups), leaders)
    for group in groups:
        for partition in group.partitions:
            partition.last_stable_offset = stable.get((partition.topic, partition.partition))
    waiting = [
        (group.group_id, partition)
        for group in groups
        for partition in group.partitions
        if partition.waits_for_transaction
    ]
    if not waiting:
        return
    places = [_waited_for(cluster, group_id, partition) for group_id, partition in waiting[:TRANSACTIONS_MAX]]
    found = open_transactions(cluster, (place for place in places if place is not None))
    for (_, waits), place in zip(waiting, places, strict=False):
        waits.transaction = None if place is None else found.get(place)


def find_standing_offsets(cluster: Cluster, group: DescribedGroup) -> None:
    """Look up since when the committed offsets of a group are what they are, if an owner has records to read."""
    if not any((partition.lag or 0) > 0 and partition.member_id is not None for partition in group.partitions):
        return
    offsets = {
        (partition.topic, partition.partition): partition.committed_offset
        for partition in group.partitions
        if partition.committed_offset is not None
    }
    found = find_standing(cluster, group.group_id, offsets, time.time_ns() // 1_000_000)
    for partition in group.partitions:
        partition.standing = found.get((partition.topic, partition.partition))


def _waited_for(cluster: Cluster, group_id: str, partition: PartitionLag) -> Partition | None:
    """The partition that the transaction has: where it wrote records, or that of the group, where it has its offset."""
    if not partition.has_pending_commit:
        return partition.topic, partition.partition
    count = cluster.partition_count(OFFSETS_TOPIC)
    return (OFFSETS_TOPIC, partition_for(group_id, count)) if count else None


def _by_lag(partition: PartitionLag) -> int:
    return _LEAST if partition.lag is None else partition.lag


def _described(broker: WireConnection, listed: Sequence[ListedGroup]) -> list[DescribedGroup]:
    """Groups with their members; those that cannot be described without."""
    found = group_members(broker, [key.group_id for key in listed])
    return [
        DescribedGroup(key.group_id, key.state, key.protocol_type, "", [])
        if (group := found.get(key.group_id)) is None or group.is_missing or group.error_code
        else without_lags(group)
        for key in listed
    ]


def without_lags(group: GroupMembers) -> DescribedGroup:
    """Its partitions are to be added."""
    return DescribedGroup(
        group.group_id,
        group.state,
        group.protocol_type,
        group.protocol_name,
        group.members,
        group_epoch=group.group_epoch,
    )


def _add_lags(cluster: Cluster, groups: Sequence[DescribedGroup], committed: Committed) -> dict[Partition, int]:
    """Give each group its partitions; return the leaders of all of them."""
    owners = {group.group_id: _owners(group.members) for group in groups}
    topics = {group.group_id: {topic for member in group.members for topic in member.topics} for group in groups}
    of_groups = {owner: owners[owner].keys() | committed.partitions(owner) for owner in owners}
    names = {topic for at in of_groups.values() for topic, _ in at}
    leaders = cluster.leaders(names.union(*topics.values()))
    _add_subscribed(of_groups, topics, leaders)
    ends = cluster.log_end_offsets(sorted(set[Partition]().union(*of_groups.values())), leaders)
    for group in groups:
        group.missing_topics.extend(sorted(topics[group.group_id] & cluster.missing_topics))
        offsets, owned = committed.offsets.get(group.group_id, {}), owners[group.group_id]
        pending, subscribed = committed.pending.get(group.group_id, ()), topics[group.group_id]
        lags = [
            PartitionLag(
                *at,
                offsets.get(at),
                ends.get(at),
                owned.get(at),
                is_subscribed=at[0] in subscribed and at in leaders,
                has_pending_commit=at in pending,
            )
            for at in sorted(of_groups[group.group_id])
        ]
        group.partitions.extend(sorted(lags, key=_by_lag, reverse=True))
    return leaders


def _add_subscribed(
    of_groups: dict[str, set[Partition]], topics: dict[str, set[str]], leaders: Iterable[Partition]
) -> None:
    """Give each group all partitions of its topics, so that those that nobody owns are seen."""
    by_topic: dict[str, list[Partition]] = {}
    for at in leaders:
        by_topic.setdefault(at[0], []).append(at)
    left = SUBSCRIBED_MAX
    for group_id, names in topics.items():
        found = [at for topic in names for at in by_topic.get(topic, ())]
        left -= len(found)
        if left >= 0:
            of_groups[group_id].update(found)


def _owners(members: Iterable[DescribedMember]) -> dict[Partition, str]:
    return {
        (topic, partition): member.member_id
        for member in members
        for topic, partitions in (member.partitions or {}).items()
        for partition in partitions
    }
