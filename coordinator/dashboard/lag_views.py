"""Lag as JSON: what the routes under `/api/` answer. Times are wall-clock ms since the epoch."""

from collections.abc import Iterable
from typing import Any, Final

from coordinator.client.group_description import PartitionLag
from coordinator.client.group_members import DescribedMember
from coordinator.dashboard.lags import Lags, Point, SampledGroup
from coordinator.dashboard.names import MemberNames

Json = dict[str, Any]

PARTITIONS_SHOWN: Final = 1_000
"""Partitions of one answer, those with the most lag."""
MEMBERS_SHOWN: Final = 1_000
MEMBER_PARTITIONS_MAX: Final = 2_000
"""Partitions of a member whose last hour is added up."""


def total(lags: Lags) -> Json:
    """The lag of all groups together."""
    lag_values = [group.lag for group in lags.latest.groups.values() if group.lag is not None]
    return {
        "time_ms": lags.latest.time_ms or None,
        "problem": lags.problem,
        "lag": sum(lag_values) if lag_values else None,
        "groups": len(lag_values),
        "groups_behind": sum(lag > 0 for lag in lag_values),
        "groups_left_out": lags.latest.groups_left_out,
    }


def of_group(lags: Lags, sampled: SampledGroup) -> Json:
    """A group: its partitions and members, the largest lag first, and the last hour."""
    group = sampled.group
    owned: dict[str, list[PartitionLag]] = {}
    for partition in group.partitions:
        owned.setdefault(partition.member_id or "", []).append(partition)
    names = MemberNames(group.members)
    members = [_member(lags, sampled, names, member, owned.get(member.member_id, [])) for member in group.members]
    members.sort(key=_by_lag)
    return {
        "time_ms": lags.latest.time_ms,
        "problem": lags.problem,
        "group_id": group.group_id,
        "lag": sampled.lag,
        "lag_ms": sampled.lag_ms,
        "history": lags.of_group(group.group_id),
        "members": members[:MEMBERS_SHOWN],
        "members_total": len(members),
        **_partitions(lags, sampled, group.partitions),
    }


def of_member(lags: Lags, sampled: SampledGroup, member_id: str) -> Json | None:
    """A member: its partitions and their last hour together; None if the group has no such member."""
    found = next((member for member in sampled.group.members if member.member_id == member_id), None)
    if found is None:
        return None
    names = MemberNames(sampled.group.members)
    own = [partition for partition in sampled.group.partitions if partition.member_id == member_id]
    return {
        "time_ms": lags.latest.time_ms,
        "problem": lags.problem,
        **_member(lags, sampled, names, found, own),
        "history": lags.of_partitions(sampled.group.group_id, own[:MEMBER_PARTITIONS_MAX]),
        **_partitions(lags, sampled, own),
    }


def of_partition(lags: Lags, sampled: SampledGroup, topic: str, partition: int) -> list[Point]:
    """The last hour of one partition of a group."""
    requested = [row for row in sampled.group.partitions if (row.topic, row.partition) == (topic, partition)]
    return lags.of_partitions(sampled.group.group_id, requested)


def _partitions(lags: Lags, sampled: SampledGroup, partitions: list[PartitionLag]) -> Json:
    names = MemberNames(sampled.group.members)
    hosts = {member.member_id: member.client_host for member in sampled.group.members}
    group_id, now_ms = sampled.group.group_id, lags.latest.time_ms
    shown = [
        {
            "topic": partition.topic,
            "partition": partition.partition,
            "committed_offset": partition.committed_offset,
            "log_end_offset": partition.log_end_offset,
            "lag": partition.lag,
            "lag_ms": partition.lag_ms(now_ms),
            "moved_ms": lags.moved_ms(group_id, partition),
            "member_id": partition.member_id,
            "member": None if partition.member_id is None else names.by_id(partition.member_id),
            "host": hosts.get(partition.member_id or ""),
        }
        for partition in partitions[:PARTITIONS_SHOWN]
    ]
    return {"partitions": shown, "partitions_total": len(partitions)}


def _member(
    lags: Lags, sampled: SampledGroup, names: MemberNames, member: DescribedMember, own: list[PartitionLag]
) -> Json:
    now_ms = lags.latest.time_ms
    lag_values = [partition.lag for partition in own if partition.lag is not None]
    moves = (lags.moved_ms(sampled.group.group_id, partition) for partition in own)
    return {
        "member_id": member.member_id,
        "name": names.of(member),
        "client_id": member.client_id,
        "client_host": member.client_host,
        "group_instance_id": member.group_instance_id,
        "topics": sorted({partition.topic for partition in own}),
        "partitions_owned": len(own),
        "lag": sum(lag_values) if lag_values else None,
        "lag_ms": _largest(partition.lag_ms(now_ms) for partition in own),
        "moved_ms": _largest(moves),
    }


def _largest(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


def _by_lag(member: Json) -> tuple[int, str]:
    return 1 if member["lag"] is None else -member["lag"], member["name"]
