"""The rows of share groups (KIP-932): which members get records of a partition, and what became of the records.

Several members of a share group may have a partition at once, so it has no owner. `share_assignments` is for its
members what `ownership` is for those of other groups.
"""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from coordinator.audit.schema import AuditEvent, MemberRef, SharePartitionRecords, ShareRecordCounts, ShareRecords
from coordinator.explain.owners import Partition
from coordinator.pipeline.names import (
    SHARE_ASSIGNMENTS,
    SHARE_ENDED_RECORDS,
    SHARE_MEMBERS,
    SHARE_PARTITIONS,
    SHARE_RECORDS,
)
from coordinator.pipeline.rows import NewRows, Row, head

COUNTS: Final = ShareRecordCounts.__struct_fields__
"""The columns with numbers of records, in the order of the event."""


def add_assignments(
    event: AuditEvent, member: MemberRef, partitions: Iterable[Partition], is_assigned: bool, rows: NewRows
) -> None:
    """Add a row for each partition that a member has from now on, or has no more."""
    common = head(event) | _who(member) | {"since_ms": event.time_ms, "is_assigned": is_assigned}
    rows[SHARE_ASSIGNMENTS] += [
        common | {"topic": topic, "topic_partition": partition} for topic, partition in partitions
    ]


def add_records(event: ShareRecords, rows: NewRows) -> None:
    """Add what became of records in an interval: of a group, by partition, by member, and of those that ended."""
    common = head(event) | {"interval_ms": event.interval_ms}
    settings = {name: getattr(event, name) for name in ("lock_duration_ms", "delivery_count_limit")}
    unnamed = {name: getattr(event, name) for name in ("unnamed_partitions", "unnamed_members")}
    rows[SHARE_RECORDS].append(common | settings | unnamed | _counts(event.counts))
    for partition in event.partitions:
        rows[SHARE_PARTITIONS].append(common | _partition(partition))
        place = {"topic": partition.topic, "topic_partition": partition.partition}
        rows[SHARE_ENDED_RECORDS] += [
            head(event) | place | _without_member(ended) | _who(ended.member) for ended in partition.records
        ]
    for member in event.members:
        rows[SHARE_MEMBERS].append(common | _who(member.member) | _counts(member.counts))


def _partition(partition: SharePartitionRecords) -> Row:
    row = {
        "topic": partition.topic,
        "topic_partition": partition.partition,
        "start_offset": partition.start_offset,
        "in_flight": partition.in_flight,
        "lag": partition.lag,
    }
    first = partition.first
    if first is not None:
        row["standing_since_ms"], row["first_delivery_count"] = first.since_ms, first.delivery_count
        if first.member is not None:
            row["held_by_member_id"], row["held_by_client_id"] = first.member.member_id, first.member.client_id
    return row | _counts(partition.counts)


def _counts(counts: ShareRecordCounts) -> dict[str, Any]:
    return {name: getattr(counts, name) for name in COUNTS}


def _who(member: MemberRef) -> Row:
    return {"member_id": member.member_id, "client_id": member.client_id}


def _without_member(ended: Any) -> Row:
    return {name: value for name, value in msgspec.structs.asdict(ended).items() if name != "member"}
