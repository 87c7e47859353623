"""The records of one group, read from the one partition of `__consumer_offsets` that has them, in any Kafka."""

from collections.abc import Callable, Iterator
from typing import Final, Self

from _wire.batch_reader import Record
from _wire.embedded import prefix_of
from _wire.errors import ErrorCode, MalformedMessage
from _wire.group_records import CommitCounts, GroupRecordScan
from _wire.messages.fetch import PartitionData
from coordinator.client.bootstrap import Server
from coordinator.internal_topics import OFFSETS_TOPIC
from coordinator.observe.places import Place, Source
from coordinator.observe.records.offsets_topic import OffsetsTopic
from coordinator.observe.records.stored import MALFORMED, GroupRecord, group_record

Progress = Callable[[int, int], None]
"""Called with the offsets that are done, and all of them."""

NOTES_MAX: Final = 100
EMPTY_ANSWERS_MAX: Final = 3
EMPTY_WAIT_MS: Final = 500
"""How long a broker may wait when it had nothing to answer before the end of the partition."""


def read_offsets_partition(
    bootstrap: Server,
    group_id: str,
    *,
    progress: Progress | None = None,
    start: int | None = None,
    until: int | None = None,
    offsets_max: int = 0,
) -> "OffsetsReading":
    """All records of a group, in order of their offsets, up to the end that the partition has now.

    They are read from offset `start` on, and before `until`, if these are given. The last committed offset is kept for
    `offsets_max` partitions.

    Raises:
        NoOffsetsTopic, MayNotReadOffsets: as their names say; what is iterated raises the latter too.
        OffsetsUnavailable: the partition has no leader that answers; what is iterated raises it too.
        ClientError: the server cannot be reached.
    """
    topic = OffsetsTopic(bootstrap)
    try:
        return OffsetsReading(topic, group_id, progress, start, until, offsets_max)
    except BaseException:
        topic.close()
        raise


class OffsetsReading(Iterator[tuple[Place, GroupRecord]]):
    """Iterates over places and records; what was counted is complete when it has ended. Ends with its connections."""

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
        self.name = f"{OFFSETS_TOPIC}-{self.partition}"
        first, end = topic.ends(self.partition)
        self.start = first if start is None else max(first, start)
        """The first offset that is read. Records before it were removed, by compaction or retention, if it is not 0."""
        self.end = end if until is None else min(end, until)
        self.position = self.start
        """Up to where it has been read."""
        self.notes = Notes()
        self.undecoded: dict[int, int] = {}
        """Record type → records of the group that no `GroupRecord` is made of: share and streams groups, newer ones."""
        self._topic = topic
        self._progress = progress
        self._scan = GroupRecordScan(group_id.encode(), offsets_max=offsets_max)
        self._problems_told = 0
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
    def commits(self) -> CommitCounts:
        """How many offsets the group committed, in transactions that were committed too; first and last time."""
        return self._scan.commits

    @property
    def committed_offsets(self) -> dict[tuple[str, int], tuple[int, int]]:
        """Topic and partition → the offset that was committed last, and when (ms since the epoch)."""
        found = ((_topic_partition(key), value) for key, value in self._scan.offsets.items())
        return {partition: value for partition, value in found if partition is not None}

    @property
    def scanned(self) -> GroupRecordScan:
        """What was passed over: records by type, markers of transactions, deleted offsets, …"""
        return self._scan

    def _read(self) -> Iterator[tuple[Place, GroupRecord]]:
        try:
            yield from self._records()
        finally:
            self.close()

    def _records(self) -> Iterator[tuple[Place, GroupRecord]]:
        empty = stuck = 0
        self._tell_progress()
        while self.position < self.end:
            answer = self._topic.fetch(self.partition, self.position, EMPTY_WAIT_MS if empty else 0)
            if answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                if not self._go_on_at_start():
                    return
                continue
            before = self.position
            for record in self._scanned(answer):
                decoded = self._decoded(record)
                if decoded is not None:
                    yield Place(Source.RECORD, self.name, record.timestamp_ms, record.offset), decoded
            if self.position > before:
                empty = stuck = 0
            elif self._scan.is_stuck:
                self.position = self._after_stuck(stuck)
                stuck += 1
            else:
                empty += 1
                if empty > EMPTY_ANSWERS_MAX:
                    self.notes.add(f"{self.name} has nothing to read from offset {self.position} to {self.end - 1}")
                    return
            self._tell_progress()

    def _scanned(self, answer: PartitionData) -> Iterator[Record]:
        data = answer.records or b""
        at = 0
        while at < len(data):
            found, at = self._scan.scan(data, at, self.position, self.end, max(answer.high_watermark, self.end))
            yield from found
            self.position = max(self.position, min(self._scan.next_offset, self.end))
            for offset, why in self._scan.problems[self._problems_told :]:
                self.notes.add(f"{self.name}: what lies at offset {offset} cannot be read: {why}")
            self._problems_told = len(self._scan.problems)

    def _after_stuck(self, steps: int) -> int:
        """Where to go on after a batch that cannot be read: where it says that it ends, or further and further on."""
        believed = self._scan.skip_to
        position = believed if steps == 0 and self.position < believed <= self.end else self.position + (1 << steps)
        return min(position, self.end)

    def _go_on_at_start(self) -> bool:
        """Whether the partition begins later than what has been read: retention or compaction has moved its start."""
        start, end = self._topic.ends(self.partition)
        if start <= self.position:
            self.notes.add(f"{self.name} was cut back to offset {end} while it was read up to {self.position}")
            return False
        self.notes.add(f"{self.name}: offsets {self.position} to {start - 1} were removed while it was read")
        self.position = start
        return True

    def _decoded(self, record: Record) -> GroupRecord | None:
        key = record.key or b""
        record_type = prefix_of(key)
        try:
            return group_record(record_type, key, record.value)
        except KeyError:
            self.undecoded[record_type] = self.undecoded.get(record_type, 0) + 1
        except MALFORMED as problem:
            self.notes.add(f"{self.name}: the record at offset {record.offset} is damaged: {_line(problem)}")
        return None

    def _tell_progress(self) -> None:
        if self._progress is not None:
            self._progress(self.position - self.start, self.end - self.start)


class Notes(list[str]):
    """One line each, of which the first NOTES_MAX are kept."""

    left_out = 0

    def add(self, note: str) -> None:
        if len(self) < NOTES_MAX:
            self.append(note)
        else:
            self.left_out += 1


def _line(problem: Exception) -> str:
    return f"{problem.message}: {problem.why}" if isinstance(problem, MalformedMessage) else str(problem)


def _topic_partition(key: bytes) -> tuple[str, int] | None:
    """What follows the group in the key of a committed offset."""
    size = int.from_bytes(key[:2], "big")
    if len(key) != 2 + size + 4:
        return None
    return key[2 : 2 + size].decode(errors="replace"), int.from_bytes(key[2 + size :], "big", signed=True)
