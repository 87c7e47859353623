"""Committed offsets of groups, asked of their coordinator (OffsetFetch)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from _wire.errors import ErrorCode
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from coordinator.client.cluster import Partition
from coordinator.client.groups import raise_for_error
from coordinator.client.wire import WireConnection

OF_STABLE: Final = 7
"""The first version that can ask for offsets that no open transaction may change (KIP-447)."""
OF_GROUPS: Final = 8
"""The first version that fetches the offsets of several groups."""
OF_NAMES: Final = 9
"""The last version that names topics. From version 10 on they are ids."""


@dataclass(slots=True)
class Committed:
    """Each by group: its committed offsets, partitions for which an open transaction has one, and the error code."""

    offsets: dict[str, dict[Partition, int]] = field(default_factory=dict)
    pending: dict[str, set[Partition]] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)

    def partitions(self, group_id: str) -> set[Partition]:
        return self.offsets.get(group_id, {}).keys() | self.pending.get(group_id, set())


def committed_offsets(coordinator: WireConnection, group_id: str) -> dict[Partition, int]:
    """All committed offsets of a group.

    Raises:
        ClientError: the server does not answer, or with an error.
    """
    ((_, fetched),) = _fetched(coordinator, [group_id])
    raise_for_error(fetched.error_code, f"cannot fetch the committed offsets of group {group_id}")
    return _offsets(fetched)


def committed_of_groups(coordinator: WireConnection, group_ids: Sequence[str]) -> Committed:
    """The committed offsets of several groups, and which of them a transaction that is open may change.

    Raises:
        ClientError: the server does not answer.
    """
    found = Committed()
    for group_id, response in _fetched(coordinator, group_ids, require_stable=True):
        if response.error_code:
            found.errors[group_id] = response.error_code
            continue
        found.offsets[group_id] = _offsets(response)
        if unstable := _unstable(response):
            found.pending[group_id] = unstable
    if found.pending:
        for group_id, response in _fetched(coordinator, list(found.pending)):
            if not response.error_code:
                found.offsets[group_id] = _offsets(response)
    return found


def _fetched(
    coordinator: WireConnection, group_ids: Sequence[str], *, require_stable: bool = False
) -> Iterator[tuple[str, Any]]:
    """Group, and its part of a response."""
    version = coordinator.latest_version(OffsetFetchRequest.API_KEY, OF_NAMES)
    require_stable = require_stable and version >= OF_STABLE
    if version >= OF_GROUPS:
        groups = [OffsetFetchRequestGroup(group_id=group_id, topics=None) for group_id in group_ids]
        request = OffsetFetchRequest(groups=groups, require_stable=require_stable)
        for found in coordinator.request(request, version).groups:
            yield found.group_id, found
    else:
        for group_id in group_ids:
            request = OffsetFetchRequest(group_id=group_id, topics=None, require_stable=require_stable)
            yield group_id, coordinator.request(request, version)


def _offsets(fetched: Any) -> dict[Partition, int]:
    return {
        (topic.name, partition.partition_index): partition.committed_offset
        for topic in fetched.topics
        for partition in topic.partitions
        if partition.committed_offset >= 0 and partition.error_code == ErrorCode.NONE
    }


def _unstable(fetched: Any) -> set[Partition]:
    return {
        (topic.name, partition.partition_index)
        for topic in fetched.topics
        for partition in topic.partitions
        if partition.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT
    }
