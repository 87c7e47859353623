"""What became of the records of a share group in an interval, for its audit.

Kafka has no counterpart, because it has no audit topic.
"""

from typing import NamedTuple, Protocol

import msgspec


class Counts(Protocol):
    """Records that were acquired, and what became of records; `late` counts requests."""

    @property
    def acquired(self) -> int: ...
    @property
    def delivered_again(self) -> int: ...
    @property
    def accepted(self) -> int: ...
    @property
    def released(self) -> int: ...
    @property
    def rejected(self) -> int: ...
    @property
    def lock_ended(self) -> int: ...
    @property
    def closed(self) -> int: ...
    @property
    def disconnected(self) -> int: ...
    @property
    def archived(self) -> int: ...
    @property
    def late(self) -> int: ...


class EndedRecords(NamedTuple):
    """Neighbouring records that were rejected, or archived at the delivery count limit, and who had them last."""

    first_offset: int
    last_offset: int
    delivery_count: int
    ended_by: str
    member_id: str


class FirstRecord(msgspec.Struct, frozen=True):
    """The record at which the start offset of a share partition stands since `since_ms` (wall clock), or longer.

    `member_id` has acquired it; empty: nobody.
    """

    since_ms: int
    delivery_count: int
    member_id: str


class PartitionReport(msgspec.Struct, frozen=True):
    """A share partition in the interval. `first` is None unless its start stood still all the time."""

    topic_id: bytes
    partition: int
    counts: Counts
    start_offset: int
    in_flight: int
    lag: int
    first: FirstRecord | None
    records: tuple[EndedRecords, ...]


class MemberReport(msgspec.Struct, frozen=True):
    """A member in the interval, in all share partitions."""

    member_id: str
    counts: Counts


class RecordsReport(msgspec.Struct, frozen=True):
    """A share group in the interval that ends now. At most so many partitions and members as the audit names."""

    interval_ms: int
    lock_duration_ms: int
    delivery_count_limit: int
    counts: Counts
    partitions: tuple[PartitionReport, ...]
    unnamed_partitions: int
    members: tuple[MemberReport, ...]
    unnamed_members: int
