"""Events of the records of share groups (KIP-932)."""

from typing import Final

import msgspec

from coordinator.audit.schema.event import AuditEvent
from coordinator.audit.schema.values import MemberRef

SHARE_PARTITIONS_NAMED_MAX: Final = 20
"""The largest number of share partitions that one `share.records` names."""
SHARE_MEMBERS_NAMED_MAX: Final = 20
"""The largest number of members that one `share.records` names."""
ENDED_RECORDS_NAMED_MAX: Final = 5
"""The largest number of ranges of records that one `share.records` names of a share partition."""


class ShareRecordCounts(msgspec.Struct, frozen=True):
    """How many records were acquired, and what became of records.

    `delivered_again` are those of `acquired` that had been delivered before. `released` and `rejected`: their member
    said so. `lock_ended`: their member did not say anything before their lock ended. `closed`: it closed its share
    session; `disconnected`: the connection of its share session was closed. `archived` are those of `released`,
    `lock_ended`, `closed` and `disconnected` that had been delivered as often as may be
    (`share.delivery.count.limit`): nobody gets them any more. `late` counts requests: acknowledgements of records that
    the member had not acquired, or had no longer (INVALID_RECORD_STATE).
    """

    acquired: int = 0
    delivered_again: int = 0
    accepted: int = 0
    released: int = 0
    rejected: int = 0
    lock_ended: int = 0
    closed: int = 0
    disconnected: int = 0
    archived: int = 0
    late: int = 0


class EndedRecords(msgspec.Struct, frozen=True):
    """Neighbouring records that nobody gets any more, delivered so often, and the member that had them last.

    `ended_by`: `rejected`; or what archived them at the limit: `released`, `lock_ended`, `closed`, `disconnected`.
    """

    first_offset: int
    last_offset: int
    delivery_count: int
    ended_by: str
    member: MemberRef


class FirstRecord(msgspec.Struct, frozen=True):
    """The record at the start offset, which was the same in the whole interval.

    The start offset stands there since `since_ms`, or for longer. `member` has acquired the record; null: nobody has.
    """

    since_ms: int
    delivery_count: int
    member: MemberRef | None


class SharePartitionRecords(msgspec.Struct, frozen=True):
    """A share partition in an interval.

    `start_offset` (SPSO): all records before it are done. `in_flight` are the records from there on of which something
    is known. `lag` are the records from `start_offset` on that are not done. `first` is null unless the start offset
    stood still for the whole interval at a record that is not done.
    """

    topic: str
    partition: int
    counts: ShareRecordCounts
    start_offset: int
    in_flight: int
    lag: int
    first: FirstRecord | None = None
    records: list[EndedRecords] = []


class ShareMemberRecords(msgspec.Struct, frozen=True):
    """A member in an interval. It has no client if it fetches without being a member of the group."""

    member: MemberRef
    counts: ShareRecordCounts


class ShareRecords(AuditEvent, frozen=True, kw_only=True, tag="share.records"):
    """What became of the records of a share group in an interval; not written if there was nothing to tell.

    `interval_ms` is the length of the interval, which ends at `time_ms`. `counts` are the sums of all share partitions.
    `partitions` are those in which something else happened than that records were acquired for the first time and
    accepted, or whose start offset stood still, those with archived and rejected records first; at most
    `SHARE_PARTITIONS_NAMED_MAX`, the others are counted in `unnamed_partitions`. `members` are at most
    `SHARE_MEMBERS_NAMED_MAX`, those with most records first; `unnamed_members` are others. In `counts`,
    `delivered_again` are those of `acquired` that had been delivered before; `released` and `rejected`: the member said
    so; `lock_ended`: it said nothing before their lock ended; `closed`, `disconnected`: its share session or the
    connection of that was closed; `archived`: those of `released`, `lock_ended`, `closed` and `disconnected` that had
    been delivered as often as may be; `late`: requests that acknowledged records that the member had not acquired, or
    had no longer. `lock_duration_ms` and `delivery_count_limit` are the settings of the group at the end of the
    interval. An interval that ends early, with a stop, is not reported.
    """

    interval_ms: int
    lock_duration_ms: int
    delivery_count_limit: int
    counts: ShareRecordCounts
    partitions: list[SharePartitionRecords]
    unnamed_partitions: int
    members: list[ShareMemberRecords]
    unnamed_members: int
