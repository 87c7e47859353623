"""Tells the audit of each share group what became of its records, summed over an interval.

Nothing is done while no group fetches: the first record of an interval that is acquired starts its timer.
"""

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from coordinator.audit.schema import ENDED_RECORDS_NAMED_MAX, SHARE_MEMBERS_NAMED_MAX, SHARE_PARTITIONS_NAMED_MAX
from coordinator.broker.share import record_counts
from coordinator.broker.share.record_counts import RecordCounts
from coordinator.broker.share.settings import ShareRecordSettings
from coordinator.broker.share.share_partition_parts import Phase
from coordinator.broker.share.tallies import OTHERS, Tallies, Tally
from coordinator.config.audit_keys import GROUP_AUDIT_RECORDS_INTERVAL_MS
from coordinator.config.settings import Config
from coordinator.core.share_records import (
    EndedRecords,
    FirstRecord,
    MemberReport,
    PartitionReport,
    RecordsReport,
)
from coordinator.front.node_loop import NodeLoop
from coordinator.logger import logger
from coordinator.runtime.slices import Steps

TALLIES_AT_ONCE: Final = 50
"""Share partitions that are looked at in one step."""

ENDED_BY: Final = {
    record_counts.RELEASED: "released",
    record_counts.REJECTED: "rejected",
    record_counts.LOCK_ENDED: "lock_ended",
    record_counts.CLOSED: "closed",
    record_counts.DISCONNECTED: "disconnected",
}

Report = Callable[[str, RecordsReport], None]
"""Called with the id of a group and what is to be told of it."""


class ShareReportKey(msgspec.Struct, frozen=True):
    """The timer key of the end of an interval."""


class ShareReports:
    """Belongs to the event loop."""

    def __init__(self, config: Config, loop: NodeLoop, settings: ShareRecordSettings, report: Report) -> None:
        self.tallies = Tallies(self._begin)
        self._interval_ms = config[GROUP_AUDIT_RECORDS_INTERVAL_MS]
        self._loop = loop
        self._settings = settings
        self._report = report

    def _begin(self) -> None:
        self._loop.scheduler.start(ShareReportKey(), self._loop.now_ms() + self._interval_ms)

    def report(self) -> None:
        """An interval is over."""
        self._loop.slices.start(self._report_tallies(self.tallies.pop_all()), lambda _: None, _failed)

    def _report_tallies(self, tallies: list[Tally]) -> Steps[None]:
        groups: dict[str, _GroupRecords] = {}
        wall_ms = self._loop.wall_ms()
        for number, tally in enumerate(tallies, 1):
            share_partition = tally.share_partition
            group_id = share_partition.key.group_id
            groups.setdefault(group_id, _GroupRecords()).add(tally, wall_ms, self._interval_ms)
            if share_partition.phase is Phase.ACTIVE and share_partition.window.piece_count:
                _ = share_partition.tally  # it is looked at again, also if nobody does anything
            if number % TALLIES_AT_ONCE == 0:
                yield
        for group_id, records in groups.items():
            settings = self._settings.of(group_id)
            limits = self._interval_ms, settings.lock_duration_ms, settings.delivery_count_limit
            if records.has_something:
                self._report(group_id, records.summary(limits))
            yield


class _GroupRecords:
    """A share group in the interval."""

    def __init__(self) -> None:
        self._counts = RecordCounts()
        self._members: dict[str, RecordCounts] = {}
        self._partitions: list[PartitionReport] = []

    @property
    def has_something(self) -> bool:
        return bool(self._members or self._partitions)

    def add(self, tally: Tally, wall_ms: int, interval_ms: int) -> None:
        counts = RecordCounts()
        for member_id, of_member in tally.members.items():
            self._members.setdefault(member_id, RecordCounts()).add(of_member)
            counts.add(of_member)
        self._counts.add(counts)
        share_partition = tally.share_partition
        window = share_partition.window
        first, since_ms = window.first_record(), share_partition.standing_since_ms(wall_ms)
        standing = None
        if since_ms is not None and first is not None and wall_ms - since_ms >= interval_ms:
            standing = FirstRecord(since_ms, first[1], first[2] or "")
        if standing is not None or has_more_than_accepted(counts):
            self._partitions.append(
                PartitionReport(
                    share_partition.key.topic_id,
                    share_partition.key.partition,
                    counts,
                    window.start_offset,
                    window.record_count,
                    max(share_partition.log.high_watermark - window.start_offset - window.complete_count, 0),
                    standing,
                    tuple(_ended(tally.members.items()))[:ENDED_RECORDS_NAMED_MAX],
                )
            )

    def summary(self, limits: tuple[int, int, int]) -> RecordsReport:
        partitions = sorted(self._partitions, key=_weight, reverse=True)[:SHARE_PARTITIONS_NAMED_MAX]
        named = [(member_id, counts) for member_id, counts in self._members.items() if member_id != OTHERS]
        named.sort(key=lambda tally: (tally[1].acquired, tally[1].lock_ended), reverse=True)
        members = tuple(MemberReport(*tally) for tally in named[:SHARE_MEMBERS_NAMED_MAX])
        return RecordsReport(
            *limits,
            self._counts,
            tuple(partitions),
            len(self._partitions) - len(partitions),
            members,
            len(self._members) - len(members),
        )


def _ended(members: Iterable[tuple[str, RecordCounts]]) -> Iterable[EndedRecords]:
    for member_id, counts in members:
        for first, last, delivery_count, ended_by in counts.noted:
            yield EndedRecords(first, last, delivery_count, ENDED_BY[ended_by], member_id)


def has_more_than_accepted(counts: RecordCounts) -> bool:
    """Whether something else happened than that records were acquired for the first time and accepted."""
    ended = counts.released + counts.rejected + counts.lock_ended + counts.closed + counts.disconnected
    return bool(counts.delivered_again + ended + counts.late)


def _weight(partition: PartitionReport) -> tuple[int, int, bool, int]:
    counts = partition.counts
    return counts.archived, counts.rejected, partition.first is not None, counts.delivered_again


def _failed(problem: Exception) -> None:
    logger.error("unhandled exception while records of share groups are reported", problem=repr(problem))
