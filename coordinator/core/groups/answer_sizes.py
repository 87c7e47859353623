"""About how many bytes the answers about groups take in memory while they are built and encoded.

What is asked for is in memory already, and texts and metadata are shared with it, so it is known before an answer is
made; they count nevertheless, as they are copied when the answer is encoded.
"""

from typing import Any, Final

from _wire.messages.offset_fetch import OffsetFetchRequest
from coordinator.core.groups.group import Group

GROUP_BYTES: Final = 400
TOPIC_BYTES: Final = 250
"""Of a topic with the list of its partitions."""
PARTITION_BYTES: Final = 200
LISTED_BYTES: Final = 200
FEW_TOPICS: Final = 100
FEW_PARTITIONS: Final = 1_000


def described_bytes(group: Group[Any] | None, request: Any) -> int:
    """Of DescribeGroups and ConsumerGroupDescribe."""
    return GROUP_BYTES + (0 if group is None else group.kind.described_bytes(group.membership))


def fetched_bytes(group: Group[Any] | None, request: OffsetFetchRequest) -> int:
    """Of OffsetFetch, of the one group that the request asks for. Of all topics also the texts count."""
    topics = request.groups[0].topics
    if topics is not None:
        return GROUP_BYTES + sum(TOPIC_BYTES + PARTITION_BYTES * len(topic.partition_indexes) for topic in topics)
    if group is None:
        return GROUP_BYTES
    return GROUP_BYTES + sum(
        TOPIC_BYTES + sum(PARTITION_BYTES + len(offset.metadata) for offset in offsets.values())
        for offsets in group.offsets.by_topic.values()
    )


def is_about_all(request: Any) -> bool:
    """Whether the answer depends on the group alone, and not on what else the request says."""
    return not isinstance(request, OffsetFetchRequest) or request.groups[0].topics is None
