"""What became of the records of a share group (KIP-932), as JSON: sums of the intervals that its history keeps."""

from collections.abc import Iterable
from operator import add
from typing import Any, Final

import msgspec

from coordinator.audit.schema import MemberRef, SharePartitionRecords, ShareRecordCounts, ShareRecords
from coordinator.dashboard.names import MemberNames
from coordinator.explain.history import GroupHistory

Json = dict[str, Any]

ENDED_SHOWN: Final = 50
"""Ranges of records that nobody gets any more, the newest."""


def records_of(history: GroupHistory, names: MemberNames) -> Json | None:
    """The records of a group in the intervals that are known; None: no event tells of any.

    Of share partitions and members that only some intervals name, these are the sums of those.
    """
    events = [event for event in history.share_records if event.created_seq == history.created_seq]
    if not events:
        return None
    last = events[-1]
    return {
        "from_ms": events[0].time_ms - events[0].interval_ms,
        "until_ms": last.time_ms,
        "lock_duration_ms": last.lock_duration_ms,
        "delivery_count_limit": last.delivery_count_limit,
        "counts": _summed(event.counts for event in events),
        "partitions": _partitions(events, names),
        "partitions_unnamed": max(event.unnamed_partitions for event in events),
        "members": _members(events, names),
        "members_unnamed": max(event.unnamed_members for event in events),
        "ended": _ended(events, names),
    }


def _summed(several: Iterable[ShareRecordCounts]) -> Json:
    sums = ShareRecordCounts()
    for counts in several:
        sums = ShareRecordCounts(*map(add, msgspec.structs.astuple(sums), msgspec.structs.astuple(counts)))
    return msgspec.to_builtins(sums)  # type: ignore[no-any-return]


def _partitions(events: list[ShareRecords], names: MemberNames) -> list[Json]:
    """Each share partition as it was when it was named last, at `at_ms`, with the sums of its counts."""
    by_partition: dict[tuple[str, int], list[tuple[ShareRecords, SharePartitionRecords]]] = {}
    for event in events:
        for partition in event.partitions:
            by_partition.setdefault((partition.topic, partition.partition), []).append((event, partition))
    found = []
    for (topic, index), several in sorted(by_partition.items()):
        event, last = several[-1]
        first = last.first if event is events[-1] else None
        found.append(
            {
                "topic": topic,
                "partition": index,
                "at_ms": event.time_ms,
                "start_offset": last.start_offset,
                "in_flight": last.in_flight,
                "lag": last.lag,
                "standing_since_ms": None if first is None else first.since_ms,
                "held_by": None if first is None or first.member is None else _name(first.member, names),
                "counts": _summed(counts.counts for _, counts in several),
            }
        )
    return found


def _members(events: list[ShareRecords], names: MemberNames) -> list[Json]:
    by_member: dict[str, tuple[MemberRef, list[ShareRecordCounts]]] = {}
    for event in events:
        for member in event.members:
            by_member.setdefault(member.member.member_id, (member.member, []))[1].append(member.counts)
    found = [{"member": _name(member, names), "counts": _summed(counts)} for member, counts in by_member.values()]
    return sorted(found, key=lambda row: (-row["counts"]["acquired"], row["member"]["name"]))


def _ended(events: list[ShareRecords], names: MemberNames) -> list[Json]:
    """The records that nobody gets any more, the newest last."""
    found = [
        {
            "at_ms": event.time_ms,
            "topic": partition.topic,
            "partition": partition.partition,
            "first_offset": ended.first_offset,
            "last_offset": ended.last_offset,
            "delivery_count": ended.delivery_count,
            "ended_by": ended.ended_by,
            "member": _name(ended.member, names),
        }
        for event in events
        for partition in event.partitions
        for ended in partition.records
    ]
    return found[-ENDED_SHOWN:]


def _name(member: MemberRef, names: MemberNames) -> Json:
    """A member by name and id; one that fetches without being in the group has its id as its name."""
    return {"name": names.of(member) or member.member_id, "member_id": member.member_id}
