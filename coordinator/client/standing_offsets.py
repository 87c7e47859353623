"""Since when the committed offsets of a group are what they are, by the newest records of its partition of the offsets.

OffsetFetch does not tell when an offset was committed, and a consumer that commits by itself commits the same offset
again every few seconds. So the time of the last commit says nothing: what counts is the first one of the present
offset, and that nobody else owned the partition since.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from _wire.batch_reader import Record, parse_batch
from _wire.batch_times import placed_batches
from _wire.batches import BatchHeader, CorruptBatch
from _wire.control_records import read_end_txn_marker
from _wire.embedded import decode_versioned, prefix_of
from _wire.errors import MalformedMessage
from _wire.messages.offset_commit_record import OffsetCommitKey, OffsetCommitValue
from coordinator.client.cluster import LATEST, Cluster, Partition
from coordinator.core.partitioning import partition_for
from coordinator.internal_topics import MEMBERSHIP_TOPIC, OFFSETS_TOPIC

WINDOW_MS: Final = 10 * 60_000
"""How far back records are looked through."""
RECORDS_MAX: Final = 50_000
"""The newest of the partition that are looked through, of all groups in it: half a second."""
FETCH_BYTES: Final = 4 << 20
COMMIT_TYPES: Final = frozenset({0, 1})
NO_NEWER: Final = -1
"""What ListOffsets answers for a time after all records."""


class Standing(NamedTuple):
    """How long a partition of a group has been as it is. Times are wall-clock ms since the epoch.

    Since `since_ms` neither its committed offset has moved nor its owner changed, or for longer (`is_longer`).
    `moved_ms` is when the offset was seen to become another one, which it is now; `committed_ms` when it was committed
    last. None: that was before all that was looked at, or is not known.
    """

    since_ms: int
    is_longer: bool
    moved_ms: int | None = None
    committed_ms: int | None = None


@dataclass(slots=True)
class _Run:
    """The last commits of one offset. `is_move`: another offset was committed before."""

    offset: int
    first_ms: int
    last_ms: int
    is_move: bool


@dataclass(slots=True)
class CommitScan:
    """What the records of a group say from `from_ms` on."""

    group_id: str
    from_ms: int
    runs: dict[Partition, _Run] = field(default_factory=dict)
    changed_ms: int | None = None
    """The last record of the group itself, which changed its members or their assignment."""
    _pending: dict[int, list[tuple[Partition, int, int]]] = field(default_factory=dict)
    """Producer id → partition, offset and time of the commits of a transaction that has not ended."""
    _producers: set[int] = field(default_factory=set)
    """Whose transactions were seen to begin."""

    def add(self, header: BatchHeader, records: Iterable[Record]) -> None:
        if header.is_control:
            for record in records:
                self._end(header.producer_id, record)
            return
        if header.is_transactional:
            self._producers.add(header.producer_id)
        group = self.group_id.encode()
        requested = len(group).to_bytes(2, "big") + group
        for record in records:
            key = record.key or b""
            if not key.startswith(requested, 2):
                continue
            if prefix_of(key) not in COMMIT_TYPES:
                self.changed_ms = max(self.changed_ms or 0, record.timestamp_ms)
            elif record.value is not None:
                commit = _commit(key, record.value, record.timestamp_ms)
                if header.is_transactional:
                    self._pending.setdefault(header.producer_id, []).append(commit)
                else:
                    self._commit(*commit)

    def _end(self, producer_id: int, marker: Record) -> None:
        """A transaction ends. What was committed in one that began before all that is looked at is not known."""
        pending = self._pending.pop(producer_id, [])
        if not read_end_txn_marker(marker).committed:
            return
        if producer_id not in self._producers:
            self.changed_ms = max(self.changed_ms or 0, marker.timestamp_ms)
        for partition, offset, _ in pending:
            self._commit(partition, offset, marker.timestamp_ms)

    def _commit(self, partition: Partition, offset: int, time_ms: int) -> None:
        run = self.runs.get(partition)
        if run is None or run.offset != offset:
            self.runs[partition] = _Run(offset, time_ms, time_ms, is_move=run is not None)
        else:
            run.last_ms = time_ms

    def standing(self, partition: Partition, offset: int) -> Standing | None:
        """None if the committed offset is not the one that was committed last: it moves while this is read."""
        run = self.runs.get(partition)
        if run is None:
            return Standing(self.changed_ms or self.from_ms, self.changed_ms is None)
        if run.offset != offset:
            return None
        changed_ms = self.changed_ms or 0
        return Standing(
            since_ms=max(run.first_ms, changed_ms),
            is_longer=not run.is_move and changed_ms < run.first_ms,
            moved_ms=run.first_ms if run.is_move else None,
            committed_ms=run.last_ms,
        )


def _commit(key: bytes, value: bytes, time_ms: int) -> tuple[Partition, int, int]:
    named, committed = decode_versioned(OffsetCommitKey, key), decode_versioned(OffsetCommitValue, value)
    return (named.topic, named.partition), committed.offset, committed.commit_timestamp or time_ms


def find_standing(
    cluster: Cluster, group_id: str, offsets: dict[Partition, int], now_ms: int
) -> dict[Partition, Standing]:
    """How long these committed offsets of a group have stood; empty where its records may not, or cannot, be read.

    Raises:
        ClientError: a broker cannot be reached, or does not answer.
    """
    scan = CommitScan(group_id, now_ms - WINDOW_MS)
    leaders = cluster.leaders([OFFSETS_TOPIC, MEMBERSHIP_TOPIC], are_internal=True)
    if (OFFSETS_TOPIC, 0) not in leaders:
        return {}
    try:
        for topic in (OFFSETS_TOPIC, MEMBERSHIP_TOPIC):
            count = sum(name == topic for name, _ in leaders)
            if count:
                partition = topic, partition_for(group_id, count)
                from_ms = _read(cluster, scan, partition, leaders)
                if from_ms is None:
                    return {}
                scan.from_ms = max(scan.from_ms, from_ms)
    except (CorruptBatch, MalformedMessage, ValueError):
        return {}
    found = ((tp, scan.standing(tp, offset)) for tp, offset in offsets.items())
    return {tp: standing for tp, standing in found if standing is not None}


def _read(cluster: Cluster, scan: CommitScan, partition: Partition, leaders: dict[Partition, int]) -> int | None:
    """Look through the newest records of a partition. Returns from when on, None if they cannot be read."""
    end = cluster.offsets_at([partition], leaders, LATEST).get(partition)
    start = cluster.offsets_at([partition], leaders, scan.from_ms).get(partition)
    if end is None or start is None:
        return None
    if start == NO_NEWER:
        return scan.from_ms
    from_ms, position = scan.from_ms, max(start, end - RECORDS_MAX)
    is_cut = position > start
    while position < end:
        records = cluster.records_from(partition, position, leaders, FETCH_BYTES)
        placed = list(_whole(records, position))
        if not placed:
            return None
        for at, next_offset in placed:
            header, found = parse_batch(records, at)
            if is_cut:
                from_ms, is_cut = header.max_timestamp_ms, False
            scan.add(header, found)
            position = next_offset
    return from_ms


def _whole(records: memoryview, offset: int) -> Iterator[tuple[int, int]]:
    """Position and next offset of each batch that is complete, and that does not end before the offset."""
    for placed_batch in placed_batches(records):
        if placed_batch.position + placed_batch.size_bytes <= len(records) and placed_batch.next_offset > offset:
            yield placed_batch.position, placed_batch.next_offset
