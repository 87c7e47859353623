"""Changes to groups by Kafka's own APIs: committed offsets, members, and groups themselves.

What a change will do is read first (`plan_*`), so that a person can confirm it; the change then does just that.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.delete_groups import DeleteGroupsRequest
from _wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from coordinator.client.bootstrap import Server
from coordinator.client.cluster import EARLIEST, LATEST, Cluster, Partition
from coordinator.client.committed_offsets import committed_offsets
from coordinator.client.group_description import described_members
from coordinator.client.group_members import DescribedMember
from coordinator.client.groups import raise_for_error
from coordinator.client.share_offsets import (
    alter_share_offsets,
    delete_share_offsets,
    is_share_group,
    share_start_offsets,
)
from coordinator.client.wire import ClientError, WireConnection

CLIENT_ID: Final = "coordinator-admin"
ANSWER_SECONDS: Final = 20
COMMITTED_AT_ONCE: Final = 2_000
"""Partitions of one OffsetCommit or OffsetDelete."""
CHANGES_MAX: Final = 50_000
"""Partitions of one change."""
OFFSET_COMMIT_OF_NAMES: Final = 9
"""The last version that names topics. From version 10 on they are ids."""
LEAVE_GROUP_OF_MEMBERS: Final = 3
"""The first version by which others than the member itself can be named (KIP-345)."""
OFFSET_MAX: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Target:
    """Where offsets are reset to: one of the fields is set. An offset outside the log becomes its start or its end."""

    timestamp: int | None = None
    """As in ListOffsets: ms since the epoch, the first record from then on; or EARLIEST or LATEST."""
    offset: int | None = None
    shift: int | None = None
    """So many records after the committed offset, or before it if it is negative."""
    offsets: Mapping[Partition, int] | None = None
    """An offset for each partition; there are no others."""


@dataclass(frozen=True, slots=True)
class OffsetChange:
    """The committed offset of a partition before and after a change, or that of a share group; None: there is none."""

    topic: str
    partition: int
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """What a change concerns. `members` are those of the classic protocol."""

    members: list[DescribedMember]
    offsets: list[OffsetChange]
    is_share: bool = False
    """Whether the offsets are those of a share group."""


class OffsetsMoved(ClientError):
    """Committed offsets are no longer those that the plan of a change began with."""


def plan_reset(
    server: Server, group_id: str, target: Target, topic: str = "", partition: int | None = None
) -> GroupPlan:
    """The offsets after a reset: of all partitions that have one, or of all of one topic, or of one partition of it.

    Raises:
        ClientError: the server cannot be reached, there are no such partitions, or their offsets cannot be looked up.
    """
    with Cluster(server, CLIENT_ID, ANSWER_SECONDS) as cluster:
        coordinator = cluster.coordinator(group_id)
        committed_offsets = _offsets_of(coordinator, group_id)
        before = {tp: offset for tp, offset in committed_offsets.items() if offset is not None}
        listed = committed_offsets if target.offsets is None else target.offsets
        leaders = cluster.leaders({topic} if topic else {name for name, _ in listed})
        chosen = sorted(
            tp
            for tp in (leaders if topic and target.offsets is None else listed)
            if (not topic or tp[0] == topic) and partition in (None, tp[1])
        )
        if not chosen:
            raise ClientError(_nothing(group_id, topic, partition))
        _check_count(chosen)
        after = _targets(cluster, chosen, leaders, _by_partition(target, chosen, before))
        members = described_members(coordinator, group_id)
    return GroupPlan(members, [OffsetChange(*tp, before.get(tp), after[tp]) for tp in chosen])


def plan_delete_offsets(server: Server, group_id: str, topic: str) -> GroupPlan:
    """The offsets that a group loses with those of a topic.

    Raises:
        ClientError: the server cannot be reached, or the group has no offsets of the topic.
    """
    plan = plan_delete_group(server, group_id)
    lost = [offset for offset in plan.offsets if offset.topic == topic]
    if not lost:
        raise ClientError(_nothing(group_id, topic, None))
    return GroupPlan(plan.members, lost, plan.is_share)


def plan_delete_group(server: Server, group_id: str) -> GroupPlan:
    """The members and the offsets of a group, all of which go with it.

    Raises:
        ClientError: the server cannot be reached.
    """
    with Cluster(server, CLIENT_ID, ANSWER_SECONDS) as cluster:
        coordinator = cluster.coordinator(group_id)
        offsets = _offsets_of(coordinator, group_id)
        members = described_members(coordinator, group_id)
        is_share = is_share_group(coordinator, group_id)
    return GroupPlan(members, [OffsetChange(*tp, offsets[tp], None) for tp in sorted(offsets)], is_share)


def change_offsets(server: Server, group_id: str, changes: Sequence[OffsetChange]) -> None:
    """Commit, or delete where `after` is None, the offsets of an empty group, unless they have moved since the plan.

    Deleting takes no more than that the group has no members that subscribe to the topic. A share group has offsets to
    read from instead; those of a topic are deleted together.

    Raises:
        OffsetsMoved: an offset is not the one that the change began with; nothing has been changed.
        ClientError: the server cannot be reached, or rejects it, for example because the group has members.
    """
    _check_count(changes)
    with _coordinator(server, group_id) as coordinator:
        now = _offsets_of(coordinator, group_id)
        for change in changes:
            found = now.get((change.topic, change.partition))
            if found != change.before:
                raise OffsetsMoved(
                    f"the committed offset of {change.topic}-{change.partition} is {_or_none(found)} and no longer"
                    f" {_or_none(change.before)}; nothing was changed"
                )
        deleted = [change for change in changes if change.after is None]
        committed = [change for change in changes if change.after is not None]
        if is_share_group(coordinator, group_id):
            for part in _parts(committed):
                offsets = {
                    (change.topic, change.partition): change.after for change in part if change.after is not None
                }
                alter_share_offsets(coordinator, group_id, offsets)
            if deleted:
                delete_share_offsets(coordinator, group_id, dict.fromkeys(change.topic for change in deleted))
            return
        for part in _parts(committed):
            _commit(coordinator, group_id, part)
        for part in _parts(deleted):
            _delete(coordinator, group_id, part)


def remove_members(server: Server, group_id: str, member_ids: Sequence[str], reason: str) -> None:
    """Remove members by LeaveGroup; the others rebalance. A client that still runs joins again.

    Raises:
        ClientError: the server cannot be reached, or one of them is no member; the others are removed.
    """
    with _coordinator(server, group_id) as coordinator:
        members_by_id = {
            described_member.member_id: described_member
            for described_member in described_members(coordinator, group_id)
        }
        for member_id in member_ids:
            if member_id not in members_by_id:
                raise ClientError(f"group {group_id} has no member {member_id}; nobody was removed")
        if coordinator.latest_version(LeaveGroupRequest.API_KEY) < LEAVE_GROUP_OF_MEMBERS:
            raise ClientError(f"{coordinator.bootstrap} is too old to remove members")
        members = [
            MemberIdentity(
                member_id=member_id, group_instance_id=members_by_id[member_id].group_instance_id, reason=reason
            )
            for member_id in member_ids
        ]
        response = coordinator.send_latest(LeaveGroupRequest(group_id=group_id, members=members))
        raise_for_error(response.error_code, f"cannot remove members of group {group_id}")
        errors = [(member.member_id, member.error_code) for member in response.members if member.error_code]
    if errors:
        member_id, error_code = errors[0]
        raise_for_error(error_code, f"cannot remove {len(errors)} of {len(member_ids)} members, {member_id}")


def delete_group(server: Server, group_id: str) -> None:
    """Delete a group without members, and with it its committed offsets.

    Raises:
        ClientError: the server cannot be reached, or rejects it, for example because the group has members.
    """
    with _coordinator(server, group_id) as coordinator:
        response = coordinator.send_latest(DeleteGroupsRequest(groups_names=[group_id]))
    for result in response.results:
        raise_for_error(result.error_code, f"cannot delete group {group_id}")


@contextmanager
def _coordinator(server: Server, group_id: str) -> Iterator[WireConnection]:
    with Cluster(server, CLIENT_ID, ANSWER_SECONDS) as cluster:
        yield cluster.coordinator(group_id)


def _offsets_of(coordinator: WireConnection, group_id: str) -> Mapping[Partition, int | None]:
    """The committed offsets of a group, or from where a share group reads; of the latter, None is not known yet."""
    if is_share_group(coordinator, group_id):
        return share_start_offsets(coordinator, group_id)
    return committed_offsets(coordinator, group_id)


def _by_partition(target: Target, partitions: Sequence[Partition], before: Mapping[Partition, int]) -> Target:
    """The same target, by timestamp or with an offset for each partition.

    Raises:
        ClientError: a partition without a committed offset cannot be shifted.
    """
    if target.offset is not None:
        return Target(offsets=dict.fromkeys(partitions, target.offset))
    if target.shift is None:
        return target
    for topic, index in partitions:
        if (topic, index) not in before:
            raise ClientError(f"{topic}-{index} has no committed offset that could be shifted")
    return Target(offsets={partition: before[partition] + target.shift for partition in partitions})


def _targets(
    cluster: Cluster, partitions: Sequence[Partition], leaders: dict[Partition, int], target: Target
) -> dict[Partition, int]:
    ends = cluster.offsets_at(partitions, leaders, LATEST)
    if target.timestamp == LATEST:
        found = ends
    elif target.timestamp is not None:
        # -1: there is no record from that time on, so the next one will be the first.
        found = {
            tp: ends.get(tp, offset) if offset < 0 else offset
            for tp, offset in cluster.offsets_at(partitions, leaders, target.timestamp).items()
        }
    else:
        assert target.offsets is not None
        starts = cluster.offsets_at(partitions, leaders, EARLIEST)
        found = {
            partition: max(starts[partition], min(target.offsets[partition], ends[partition]))
            for partition in partitions
            if partition in starts and partition in ends
        }
    unknown = [partition for partition in partitions if partition not in found]
    if unknown:
        topic, index = unknown[0]
        raise ClientError(
            f"the log of {topic}-{index} cannot be asked for its offsets"
            + (f", nor those of {len(unknown) - 1} other partitions" if len(unknown) > 1 else "")
        )
    return found


def _commit(coordinator: WireConnection, group_id: str, changes: Sequence[OffsetChange]) -> None:
    by_topic: dict[str, list[OffsetCommitRequestPartition]] = {}
    for change in changes:
        assert change.after is not None
        by_topic.setdefault(change.topic, []).append(
            OffsetCommitRequestPartition(
                partition_index=change.partition, committed_offset=change.after, committed_metadata=""
            )
        )
    topics = [OffsetCommitRequestTopic(name=name, partitions=partitions) for name, partitions in by_topic.items()]
    request = OffsetCommitRequest(group_id=group_id, generation_id_or_member_epoch=-1, member_id="", topics=topics)
    response = coordinator.send_latest(request, OFFSET_COMMIT_OF_NAMES)
    _raise_for_partitions(f"cannot reset the offsets of group {group_id}", response.topics, len(changes))


def _delete(coordinator: WireConnection, group_id: str, changes: Sequence[OffsetChange]) -> None:
    by_topic: dict[str, list[OffsetDeleteRequestPartition]] = {}
    for change in changes:
        by_topic.setdefault(change.topic, []).append(OffsetDeleteRequestPartition(partition_index=change.partition))
    topics = [OffsetDeleteRequestTopic(name=name, partitions=partitions) for name, partitions in by_topic.items()]
    response = coordinator.send_latest(OffsetDeleteRequest(group_id=group_id, topics=topics))
    what = f"cannot delete the offsets of group {group_id}"
    raise_for_error(response.error_code, what)
    _raise_for_partitions(what, response.topics, len(changes))


def _raise_for_partitions(what: str, topics: Iterable[Any], count: int) -> None:
    errors = [
        (topic.name, partition.partition_index, partition.error_code)
        for topic in topics
        for partition in topic.partitions
        if partition.error_code != ErrorCode.NONE
    ]
    if errors:
        name, index, error_code = errors[0]
        if error_code == ErrorCode.UNKNOWN_MEMBER_ID:  # this client has no member id to send
            raise ClientError(f"{what}: UNKNOWN_MEMBER_ID, the group has members; stop its consumers first")
        raise_for_error(error_code, f"{what} ({len(errors)} of {count} partitions, {name}-{index})")


def _parts(changes: Sequence[OffsetChange]) -> Iterator[Sequence[OffsetChange]]:
    for start in range(0, len(changes), COMMITTED_AT_ONCE):
        yield changes[start : start + COMMITTED_AT_ONCE]


def _check_count(changes: Sequence[object]) -> None:
    if len(changes) > CHANGES_MAX:
        raise ClientError(f"{len(changes):,} partitions are more than {CHANGES_MAX:,}; choose a topic")


def _nothing(group_id: str, topic: str, partition: int | None) -> str:
    if not topic:
        return f"group {group_id} has no committed offsets"
    if partition is None:
        return f"there is no topic {topic}, or group {group_id} has no offsets of it"
    return f"there is no partition {topic}-{partition}"


def _or_none(offset: int | None) -> str:
    return "none" if offset is None else str(offset)
