"""The records of one group, read from the one partition of `__consumer_offsets` that has them, in any Kafka."""

from collections.abc import Callable, Iterator
from typing import Final, Self

from _wire.batch_reader import Record
from _wire.embedded import prefix_of
from _wire.errors import ErrorCode, MalformedMessage
from _wire.group_records import CommitCounts, GroupRecordScan
from coordinator.client.bootstrap import Server
from coordinator.client.wire import ClientError
from coordinator.observe.places import Place, Source
from coordinator.observe.records.offsets_topic import OffsetsTopic
from coordinator.observe.records.partition_scan import NO_END, Notes, PartitionScan
from coordinator.observe.records.stored import MALFORMED, GroupRecord, group_record
from coordinator.printable import printable

Progress = Callable[[int, int], None]
"""Called with the offsets that are done, and all of them."""

NONE_AS_NEW: Final = -1
"""The offset of ListOffsets where no record is as new as a time."""
GROUP_ID_BYTES_MAX: Final = 32_767
"""Of a string in Kafka's protocol."""
EMPTY_WAIT_MS: Final = 500
"""How long a broker may wait when it had nothing to answer before the end of the partition."""


def read_offsets_partition(
    bootstrap: Server,
    group_id: str,
    *,
    progress: Progress | None = None,
    start: int | None = None,
    until: int | None = None,
    since_ms: int | None = None,
    offsets_max: int = 0,
) -> "OffsetsReading":
    """All records of a group, in order of their offsets, up to the end that the partition has now.

    They are read from offset `start` on, and before `until`, if these are given; with `since_ms` (since the epoch),
    from the first record of the partition on that is as new. The last committed offset is kept for `offsets_max`
    partitions.

    Raises:
        NoOffsetsTopic, MayNotReadOffsets: as their names say; what is iterated raises the latter too.
        OffsetsUnavailable: the partition has no leader that answers; what is iterated raises it too.
        ClientError: the server cannot be reached, or no group can have this id.
    """
    encoded_id(group_id)
    topic = OffsetsTopic(bootstrap)
    try:
        if since_ms is not None:
            partition = topic.partition_of(group_id)
            found = topic.offsets([partition], max(since_ms, 0))[partition]
            start = max(start or 0, NO_END if found == NONE_AS_NEW else found)
        return OffsetsReading(topic, group_id, progress, start, until, offsets_max)
    except BaseException:
        topic.close()
        raise


class OffsetsReading(Iterator[tuple[Place, GroupRecord]]):
    """Iterates over places and records; what was counted is complete when it has ended. Then its connections close."""

    def __init__(
        self,
        topic: OffsetsTopic,
        group_id: str,
        progress: Progress | None = None,
        start: int | None = None,
        until: int | None = None,
        offsets_max: int = 0,
    ) -> None:
        self.partition = topic.partition_of(group_id)
        self.notes = Notes()
        self.undecoded: dict[int, int] = {}
        """Record type → records of the group that no `GroupRecord` is made of: share and streams groups, newer ones."""
        first, end = topic.ends(self.partition)
        end = end if until is None else min(end, until)
        first = max(first, min(start or 0, end))
        scan = GroupRecordScan(encoded_id(group_id), offsets_max=offsets_max)
        self._scan = PartitionScan(self.partition, scan, self.notes, first, max(first, end))
        self._topic = topic
        self._progress = progress
        self._found = self._read()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> tuple[Place, GroupRecord]:
        return next(self._found)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop reading. What has been counted stays."""
        self._topic.close()

    @property
    def start(self) -> int:
        """The first offset that is read. The partition has no record before it, unless it was given."""
        return self._scan.start

    @property
    def end(self) -> int:
        """The offset after the last that is read."""
        return self._scan.end

    @property
    def commits(self) -> CommitCounts:
        """How many offsets the group committed, in transactions that were committed too; first and last time."""
        return self._scan.found.commits

    @property
    def committed_offsets(self) -> dict[tuple[str, int], tuple[int, int]]:
        """Topic and partition → the offset that was committed last, and when (ms since the epoch)."""
        found = ((_topic_partition(key), value) for key, value in self._scan.found.offsets.items())
        return {partition: value for partition, value in found if partition is not None}

    @property
    def scanned(self) -> GroupRecordScan:
        """What was passed over: records by type, markers of transactions, deleted offsets, …"""
        return self._scan.found

    def _read(self) -> Iterator[tuple[Place, GroupRecord]]:
        scan = self._scan
        try:
            self._report_progress()
            while not scan.is_done:
                for part in read_part(self._topic, scan):
                    for record in part:
                        decoded = decoded_record(record, scan.name, self.notes, self.undecoded)
                        if decoded is not None:
                            yield Place(Source.RECORD, scan.name, record.timestamp_ms, record.offset), decoded
                self._report_progress()
        finally:
            self.close()

    def _report_progress(self) -> None:
        if self._progress is not None:
            self._progress(self._scan.position - self._scan.start, self._scan.end - self._scan.start)


def encoded_id(group_id: str) -> bytes:
    """As it is in keys. Raises ClientError: it cannot be in any."""
    try:
        found = group_id.encode()
    except UnicodeEncodeError:
        raise ClientError(f"no group can have the id {printable(group_id)}: it is no Unicode text") from None
    if len(found) > GROUP_ID_BYTES_MAX:
        raise ClientError(f"no group can have an id of {len(found)} bytes")
    return found


def read_part(topic: OffsetsTopic, scan: PartitionScan) -> Iterator[list[Record]]:
    """Fetch once, and go on in the partition. Raises as `OffsetsTopic.fetch`."""
    answer = topic.fetch(scan.partition, scan.position, EMPTY_WAIT_MS if scan.empty_answers else 0)
    if answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
        scan.go_on_at(*topic.ends(scan.partition))
        return
    yield from scan.parts(answer)
    scan.give_up_if_empty()


Decode = Callable[[int, bytes, bytes | None], GroupRecord | None]
"""As `group_record`."""


def decoded_record(
    record: Record, name: str, notes: Notes, undecoded: dict[int, int], decode: Decode = group_record
) -> GroupRecord | None:
    """What a record states; None if its type is another, which is counted, or it cannot be read, which is noted."""
    key = record.key or b""
    record_type = prefix_of(key)
    try:
        return decode(record_type, key, record.value)
    except KeyError:
        undecoded[record_type] = undecoded.get(record_type, 0) + 1
    except MALFORMED as problem:
        what = f"{problem.message}: {problem.why}" if isinstance(problem, MalformedMessage) else str(problem)
        notes.add(f"{name}: the record at offset {record.offset} cannot be read: {what}")
    return None


def _topic_partition(key: bytes) -> tuple[str, int] | None:
    """What follows the group in the key of a committed offset."""
    size = int.from_bytes(key[:2], "big")
    if len(key) != 2 + size + 4:
        return None
    return key[2 : 2 + size].decode(errors="replace"), int.from_bytes(key[2 + size :], "big", signed=True)
