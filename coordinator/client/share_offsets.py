"""From where share groups read, and how much is left to them: DescribeShareGroupOffsets (KIP-932)."""

from collections.abc import Sequence
from typing import Final

from _wire.errors import ErrorCode
from _wire.messages.describe_share_group_offsets import DescribeShareGroupOffsetsRequest, RequestGroup
from coordinator.client.group_description import DescribedGroup, PartitionLag
from coordinator.client.wire import WireConnection

OF_LAG: Final = 1
"""The first version that tells the lag (KIP-1226)."""


def add_share_lags(coordinator: WireConnection, groups: Sequence[DescribedGroup]) -> dict[str, int]:
    """Give share groups of a coordinator their partitions; return the errors of groups that have none told.

    What is in flight counts as not read. A partition has no owner: several members read it.

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
        found.sort(key=lambda partition: partition.lag or 0, reverse=True)
    return errors
