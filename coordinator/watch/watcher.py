"""The watcher: reads records and logs, and appends what they tell, until it is stopped."""

import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from time import monotonic
from typing import Final, Protocol

import msgspec

from coordinator.core.partitioning import partition_for
from coordinator.logger import logger
from coordinator.observe.consumer import TopicNames
from coordinator.observe.group_stream import LoggedStatement, PollOfGroup, Waiting
from coordinator.observe.logs.followed import FollowedLog, LogPosition
from coordinator.observe.places import Place, Source
from coordinator.observe.records.following import Followed
from coordinator.watch.giving_way import never
from coordinator.watch.handover import Adopted, Handover
from coordinator.watch.partition import PartitionWatch
from coordinator.watch.positions import Restored, now_ms
from coordinator.watch.sink import Sink

HOLD_SECONDS: Final = 2.0
"""So long what was read is held, for what belongs before it and is read from elsewhere."""
CURRENT_WITHIN_SECONDS: Final = HOLD_SECONDS / 2
"""By so much later than it was read all other sources have to be read, too."""
RECORD_SECONDS: Final = 10.0
"""So long the record of a rebalance is waited for, once its lines say that it is over."""
SLACK_MS: Final = 5_000
"""By clocks of lines and records: a source that is so far beyond something has nothing more that belongs before it."""
REFRESH_SECONDS: Final = 60.0
"""How often positions are written where nothing was told."""
WAITING_MAX: Final = 20_000
"""Lines and records that are held: then only the source that is furthest behind is read."""
FORCED_MAX: Final = 100_000
"""Of these, what is read first is told first, whatever belongs before it."""
LOOK_SECONDS: Final = 5.0
"""How often it is looked for logs that are new."""
WITHOUT_RECORDS_SECONDS: Final = 0.2
"""The pause between steps where nothing waits for records."""
OF_RECORDS: Final = frozenset({"classic", "consumer", ""})
"""Types of groups that records tell of; an older Kafka tells none."""
LOGS_SECONDS: Final = 0.3
"""How long logs are read before records are again."""


class Log(Protocol):
    name: str
    partition: int | None
    """Whose groups alone it is about; None: it is about all."""

    def follow(self) -> FollowedLog: ...

    @property
    def position(self) -> LogPosition | None: ...


class NewLogs(Protocol):
    def new(self) -> Iterable[Log]:
        """The logs that were not there before."""


class Records(Protocol):
    """The records of groups as they come. `next` waits for some for half a second at most."""

    @property
    def current_at(self) -> dict[int, float]:
        """Partition → up to when all that it had had been read."""

    def next(self) -> Followed | None:
        """None: they cannot be read now."""


class Polls(Protocol):
    """What polls show of groups, see `GroupPolls`."""

    def pop(self) -> Iterable[tuple[str, str, PollOfGroup]]: ...


class Counted(msgspec.Struct):
    """What was done since the start."""

    records: int = 0
    commits: int = 0
    lines: int = 0
    polls: int = 0
    """Groups that polls showed, each time."""
    events: int = 0
    batches: int = 0
    forced: int = 0
    groups: int = 0
    """That are there now."""
    held: int = 0
    """That is held now."""
    read_ms: int = 0
    """When records were read last (wall clock)."""


class _LogSource:
    def __init__(self, log: Log) -> None:
        self.log = log
        self.current_at: float | None = None
        self.newest_ms: int | None = None


class Watcher:
    """Call `step` again and again, in one thread."""

    def __init__(
        self,
        sink: Sink,
        records: Records | None,
        logs: Sequence[Log],
        name_of: TopicNames,
        partition_count: int,
        starts: dict[int, int],
        *,
        logs_to_come: NewLogs | None = None,
        polls: Polls | None = None,
        written: Collection[int] | None = None,
        handover: Handover | None = None,
        clock: Callable[[], float] = monotonic,
        give_way: Callable[[], object] = never,
    ) -> None:
        """`records` None: they may not be read. `starts`: the offset from which they are, of each partition.

        `written`: the partitions that this watcher tells of; None: all. `handover` has the groups that nodes adopt and
        give back. `give_way` is called between two pieces of work, for other threads.
        """
        self._give_way = give_way
        self._written = range(partition_count) if written is None else written
        self._sink, self._records, self._clock = sink, records, clock
        self._name_of = name_of
        self._sources = [_LogSource(log) for log in logs]
        self._positions = dict(starts)
        has_records = records is not None
        self.partitions = [
            PartitionWatch(number, name_of, has_records=has_records, give_way=give_way)
            for number in range(partition_count)
        ]
        self._refreshed_at, self._begun = float("-inf"), set[str]()
        self._to_come, self._looked_at = logs_to_come, float("-inf")
        self._polls = polls
        self._handover = handover
        self.counted = Counted()
        self._is_forced = False

    def restore(self, found: dict[int, tuple[Restored, int | None, int]]) -> None:
        now = self._clock()
        for partition, (restored, checkpoint_offset, _) in found.items():
            self.partitions[partition].restore(restored, checkpoint_offset, now)

    @property
    def waiting(self) -> int:
        return sum(partition.waiting for partition in self.partitions)

    @property
    def groups(self) -> int:
        return sum(partition.groups for partition in self.partitions)

    def step(self) -> None:
        """Read what there is, tell what is due, append it. Raises as `Sink.append`."""
        only = self._furthest_behind() if self.waiting > WAITING_MAX else None
        if self._records is not None and (only is None or only is self._records):
            self._read_records(self._records)
        self._read_logs(only)
        if self._polls is not None:
            self._read_polls(self._polls)
        self._report()
        if self._handover is not None:
            self._move(self._handover)
        self._append(refresh=self._is_refresh_due())
        self.counted.groups, self.counted.held = self.groups, self.waiting

    def _is_refresh_due(self) -> bool:
        """Now and then, and when a log is read for the first time: its files are counted from there on."""
        now, begun = self._clock(), {source.log.name for source in self._sources if source.log.position is not None}
        if begun == self._begun and now - self._refreshed_at < REFRESH_SECONDS:
            return False
        self._refreshed_at, self._begun = now, begun
        return True

    def run(self, stopped: threading.Event) -> None:
        """Until it is stopped; then the positions are written. Raises as `step`."""
        while not stopped.is_set():
            self.step()
            if self._records is None:
                stopped.wait(WITHOUT_RECORDS_SECONDS)  # that read is waited for elsewhere
        self._append(refresh=True)

    # ---- reading

    def _read_records(self, records: Records) -> None:
        while True:
            found = records.next()
            now = self._clock()
            if found is None:
                return
            self._positions.update(found.positions)
            self.counted.records += len(found.records)
            self.counted.commits += found.commits
            self.counted.read_ms = now_ms()
            for place, record in found.records:
                self._give_way()
                self._partition_of(record.group_id).put_record(place, record, now)
            for note in found.notes:
                logger.warning("records of groups could not be read", problem=note)
            if not found.records or self.waiting > WAITING_MAX:
                return

    def _partition_of(self, group_id: str) -> PartitionWatch:
        return self.partitions[partition_for(group_id, len(self.partitions))]

    def _read_logs(self, only: object) -> None:
        now = self._clock()
        if self._to_come is not None and now - self._looked_at >= LOOK_SECONDS:
            self._looked_at = now
            self._sources += map(_LogSource, self._to_come.new())
        until = now + LOGS_SECONDS
        for source in self._sources:
            if only is not None and only is not source:
                continue
            while self._read_log(source) and self._clock() < until and self.waiting <= WAITING_MAX:
                pass

    def _read_log(self, source: _LogSource) -> bool:
        """Return whether there is more to read at once."""
        found = source.log.follow()
        now = self._clock()
        for note in found.notes:
            logger.warning("a log could not be read as a whole", problem=note)
        of: dict[int, list[LoggedStatement]] = {}
        for line in found.lines:
            number = source.log.partition
            if number is None:
                number = partition_for(line.statement.group_id, len(self.partitions))
            of.setdefault(number, []).append(line)
            source.newest_ms = max(line.order_ms, source.newest_ms or 0)
        for client in found.clients:
            group_id = client.statement.group_id or ""
            self._partition_of(group_id).put_client(group_id, client)
        self.counted.lines += len(found.lines) + len(found.clients)
        for partition, lines in of.items():
            self.partitions[partition].put_lines(lines, found.before, now)
        source.current_at = found.current_at
        is_moved = found.before != found.position
        return found.current_at is None and is_moved

    def _read_polls(self, polls: Polls) -> None:
        """Of groups whose records are read these tell more."""
        for group_id, group_type, poll in polls.pop():
            if self._records is None or group_type not in OF_RECORDS:
                self._partition_of(group_id).put_poll(group_id, poll, self._clock())
                self.counted.polls += 1

    def _furthest_behind(self) -> object:
        """The source that holds the others up, if one is behind: what is not current, with the oldest newest time."""
        behind = [
            (source.newest_ms or 0, number, source)
            for number, source in enumerate(self._sources)
            if not source.current_at
        ]
        found: list[tuple[int, int, object]] = list(behind)
        if self._records is not None:
            newest = [
                partition.newest_ms or 0
                for partition in self.partitions
                if partition.partition not in self._records.current_at
            ]
            if newest:
                found.append((min(newest), -1, self._records))
        return min(found)[2] if found else self

    # ---- groups that are adopted and given back

    def seq_of(self, group_id: str) -> int:
        return self._partition_of(group_id).seq_of(group_id)

    def end_offset(self, partition: int) -> int:
        return self._sink.end_offset(partition)

    def _move(self, handover: Handover) -> None:
        for group_id, move in handover.pop():
            partition = self._partition_of(group_id)
            if isinstance(move, Adopted):
                place = Place(Source.NODE, handover.node, move.at_ms)
                partition.leave(group_id, place, move.seq_max, self._clock())
            else:
                partition.come_back(group_id, move.seq)

    # ---- telling

    def _report(self) -> None:
        now = self._clock()
        is_forced = self.waiting > FORCED_MAX
        if is_forced and not self._is_forced:
            logger.warning("more is held than can be: it is told in the order in which it was read", held=self.waiting)
        self._is_forced = is_forced
        self.counted.forced += is_forced
        for partition in self.partitions:
            if is_forced:
                self.counted.events += partition.emit(lambda _: True, now, 0.0)
                continue

            def is_due(waiting: Waiting, partition: PartitionWatch = partition) -> bool:
                return self._is_due(waiting, partition, now)

            self.counted.events += partition.emit(is_due, now, RECORD_SECONDS)

    def _is_due(self, waiting: Waiting, partition: PartitionWatch, now: float) -> bool:
        """Whether no source can have anything any more that belongs before it."""
        log = waiting.log
        if log is not None and self._records is not None:
            current_at = self._records.current_at.get(partition.partition)
            if not _is_beyond(waiting, now, current_at, partition.newest_ms):
                return False
        return all(
            source.log.name == log or _is_beyond(waiting, now, source.current_at, source.newest_ms)
            for source in self._sources
        )

    def _append(self, *, refresh: bool) -> None:
        logs = {source.log.name: at for source in self._sources if (at := source.log.position) is not None}
        of = {source.log.name: source.log.partition for source in self._sources if source.log.partition is not None}
        at_ms = now_ms()
        batches = {}
        for number in self._written:
            partition = self.partitions[number]
            end = self._sink.end_offset(number)
            own = {name: log for name, log in logs.items() if of.get(name, number) == number}
            found = partition.pop_records(self._positions.get(number, -1), own, end, at_ms, refresh=refresh)
            if found:
                batches[number] = found
        if batches:
            self._sink.append(batches)
            self.counted.batches += len(batches)
        for partition in self.partitions:
            if partition.needed_from is not None:
                self._sink.retain(partition.partition, partition.needed_from)


def _is_beyond(waiting: Waiting, now: float, current_at: float | None, newest_ms: int | None) -> bool:
    """Whether a source has been read beyond what waits: by what it has, or by all that it had for some time."""
    if current_at is not None:
        is_held = now - waiting.arrived >= HOLD_SECONDS
        return is_held and current_at >= waiting.arrived + CURRENT_WITHIN_SECONDS
    return newest_ms is not None and newest_ms >= waiting.time_ms + SLACK_MS
