"""Claims about what becomes of the records of a share group (KIP-932). They rest on `share.records` alone.

Such an event sums up an interval, so what is claimed holds for whole intervals: from the beginning of the first one to
the end of the last one.
"""

import msgspec

from coordinator.audit.schema import MemberRef
from coordinator.explain.claims.findings import Found


class RecordsGivenUp(msgspec.Struct, frozen=True):
    """Neighbouring records that nobody gets any more, told at `at_ms`, as `EndedRecords` of the audit."""

    at_ms: int
    first_offset: int
    last_offset: int
    delivery_count: int
    ended_by: str
    member: MemberRef


class GivenUp(Found, frozen=True):
    """Records of a share partition were archived at the delivery count limit, or rejected by who had them.

    `archived` and `rejected` count records of the intervals that named the partition; `records` are those that were
    named.
    """

    topic: str
    partition: int
    archived: int
    rejected: int
    records: tuple[RecordsGivenUp, ...]


class LetsLocksEnd(Found, frozen=True):
    """The locks of records that a member had acquired ended, before it had said anything of these records.

    By `kind`: it acknowledges others (`slow_to_acknowledge`); it also sent `late` requests with acknowledgements of
    records that it had not acquired, or no longer (`locks_too_short`); or it acknowledged nothing at all and sent no
    such request (`never_acknowledges`). `acknowledged` are those that it accepted, released or rejected.
    """

    member: MemberRef
    acquired: int
    acknowledged: int
    lock_ended: int
    late: int
    lock_duration_ms: int


class TakesAll(Found, frozen=True):
    """One member acquired all records, and others that share partitions with it acquired none in that time.

    True if all of them were members in all of the time, with the partitions that they have now.
    """

    member: MemberRef
    acquired: int
    others: tuple[MemberRef, ...]


class StartStands(Found, frozen=True):
    """The start offset of a share partition stood at one record from `from_ms` or earlier until `until_ms`.

    `member` had acquired that record at the end; None: nobody had.
    """

    topic: str
    partition: int
    start_offset: int
    delivery_count: int
    member: MemberRef | None
    in_flight: int
    lag: int
