"""From where share groups read, and how much is left to them (KIP-932); and changes of that."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from _wire.errors import ErrorCode
from _wire.messages import alter_share_group_offsets as altering
from _wire.messages import delete_share_group_offsets as deleting
from _wire.messages.describe_share_group_offsets import DescribeShareGroupOffsetsRequest, RequestGroup
from _wire.messages.share_group_describe import ShareGroupDescribeRequest
from coordinator.client.cluster import Partition
from coordinator.client.group_description import DescribedGroup, PartitionLag
from coordinator.client.groups import raise_for_error
from coordinator.client.wire import WireConnection

OF_LAG: Final = 1
"""The first version that tells the lag (KIP-1226)."""


def add_share_lags(
    coordinator: WireConnection, groups: Sequence[DescribedGroup], *, with_unknown: bool = False
) -> dict[str, int]:
    """Give share groups of a coordinator their partitions; return the errors of groups that have none told.

    What is in flight counts as not read. A partition has no owner: several members read it. `with_unknown`: partitions,
    too, of which nothing was acknowledged yet, so that their lag is not known.

    Raises:
        ClientError: the server does not answer.
    """
    key = DescribeShareGroupOffsetsRequest.API_KEY
    if not coordinator.supports(key) or coordinator.latest_version(key) < OF_LAG:
        return {}
    by_id = {group.group_id: group for group in groups}
    request = DescribeShareGroupOffsetsRequest(
        groups=[RequestGroup(group_id=group_id, topics=None) for group_id in by_id]
    )
    errors = {}
    for group in coordinator.send_latest(request).groups:
        if group.error_code:
            errors[group.group_id] = group.error_code
            continue
        found = by_id[group.group_id].partitions
        for topic in group.topics:
            for partition in topic.partitions:
                if partition.error_code == ErrorCode.NONE and partition.start_offset >= 0 and partition.lag >= 0:
                    end = partition.start_offset + partition.lag
                    found.append(
                        PartitionLag(topic.topic_name, partition.partition_index, partition.start_offset, end, None)
                    )
                elif with_unknown and partition.error_code == ErrorCode.NONE:
                    start = partition.start_offset if partition.start_offset >= 0 else None
                    found.append(PartitionLag(topic.topic_name, partition.partition_index, start, None, None))
        found.sort(key=lambda partition: partition.lag or 0, reverse=True)
    return errors


def is_share_group(coordinator: WireConnection, group_id: str) -> bool:
    """Whether there is a share group of this id.

    Raises:
        ClientError: the server does not answer.
    """
    if not coordinator.supports(ShareGroupDescribeRequest.API_KEY):
        return False
    (described,) = coordinator.send_latest(ShareGroupDescribeRequest(group_ids=[group_id])).groups
    return bool(described.error_code == ErrorCode.NONE)


def share_start_offsets(coordinator: WireConnection, group_id: str) -> dict[Partition, int | None]:
    """The partitions that a share group reads, each with its first offset that is not done; None: not known yet.

    Raises:
        ClientError: the server does not answer, or with an error.
    """
    request = DescribeShareGroupOffsetsRequest(groups=[RequestGroup(group_id=group_id, topics=None)])
    (group,) = coordinator.send_latest(request).groups
    raise_for_error(group.error_code, f"cannot describe the offsets of share group {group_id}")
    return {
        (topic.topic_name, partition.partition_index): partition.start_offset if partition.start_offset >= 0 else None
        for topic in group.topics
        for partition in topic.partitions
        if partition.error_code == ErrorCode.NONE
    }


def alter_share_offsets(coordinator: WireConnection, group_id: str, offsets: Mapping[Partition, int]) -> None:
    """Have a share group without members read from these offsets.

    Raises:
        ClientError: the server does not answer, or rejects it, for example because the group has members.
    """
    by_topic: dict[str, list[altering.RequestPartition]] = {}
    for (topic, index), offset in offsets.items():
        partition = altering.RequestPartition(partition_index=index, start_offset=offset)
        by_topic.setdefault(topic, []).append(partition)
    topics = [altering.RequestTopic(topic_name=name, partitions=partitions) for name, partitions in by_topic.items()]
    response = coordinator.send_latest(altering.AlterShareGroupOffsetsRequest(group_id=group_id, topics=topics))
    what = f"cannot reset the offsets of share group {group_id}"
    raise_for_error(response.error_code, what)
    for topic in response.responses:
        for partition in topic.partitions:
            raise_for_error(partition.error_code, f"{what} ({topic.topic_name}-{partition.partition_index})")


def delete_share_offsets(coordinator: WireConnection, group_id: str, topics: Iterable[str]) -> None:
    """Have a share group without members forget what it has read of topics.

    Raises:
        ClientError: the server does not answer, or rejects it, for example because the group has members.
    """
    named = [deleting.RequestTopic(topic_name=name) for name in topics]
    response = coordinator.send_latest(deleting.DeleteShareGroupOffsetsRequest(group_id=group_id, topics=named))
    what = f"cannot delete the offsets of share group {group_id}"
    raise_for_error(response.error_code, what)
    for topic in response.responses:
        raise_for_error(topic.error_code, f"{what} ({topic.topic_name})")
