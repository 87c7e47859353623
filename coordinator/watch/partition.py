"""One partition of `__consumer_offsets` that is watched: its groups, and what of them is to be appended."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import chain
from typing import Final, TypeVar

import msgspec

from coordinator.audit.schema import TAGS, Record
from coordinator.audit.schema.observed import ObservedEvent, encode_observed
from coordinator.audit.schema.sighted import Watches
from coordinator.observe.consumer import TopicNames
from coordinator.observe.group_stream import GroupStream, LoggedClient, LoggedStatement, PollOfGroup, Waiting
from coordinator.observe.kept_group import LineMark, encode_group
from coordinator.observe.logs.followed import LogPosition
from coordinator.observe.logs.statements import Sighted
from coordinator.observe.places import Place
from coordinator.observe.records.stored import GroupRecord
from coordinator.watch.giving_way import never
from coordinator.watch.positions import Position, Restored, position_record
from coordinator.watch.presence import Presence

T = TypeVar("T")

TIME_MAX_MS: Final = 253_402_300_799_000
"""The end of the year 9999. A producer may write records of any time."""
GONE_KEPT: Final = 5_000
"""Groups that are gone and whose numbers are remembered."""
CHECKPOINT_BYTES: Final = 1 << 20
"""After so much that changed, all groups are written again, so that a start reads no more than about that."""
CHECKPOINT_MS: Final = 3_600_000
"""And after so much time, so that the retention of the topic does not delete the last position."""
SLICE_BYTES: Final = 256 << 10
"""Of the states of groups that have not changed, in one batch."""


class _Chunk(msgspec.Struct):
    """Lines of a log that were read together: where they begin, and the last one of this partition."""

    before: LogPosition | None
    last: LineMark


class PartitionWatch:
    """Put in what is read; `emit` what is due; `pop_records` gives the records that are to be appended together."""

    def __init__(
        self,
        partition: int,
        name_of: TopicNames,
        *,
        has_records: bool,
        give_way: Callable[[], object] = never,
    ) -> None:
        """`give_way` is called between two pieces of work, none of which takes long."""
        self.partition = partition
        self._give_way = give_way
        self._name_of, self._has_records = name_of, has_records
        self._streams: dict[str, GroupStream] = {}
        self._waiting: dict[str, None] = {}
        """Groups with something that is not told."""
        self._awaiting: dict[str, None] = {}
        """Groups of which a rebalance is over by its lines, and its record has not come."""
        self._changed: dict[str, None] = {}
        self._gone: dict[str, None] = {}
        self._forgotten: list[str] = []
        self._seq = 0
        self._chunks: dict[str, list[_Chunk]] = {}
        self._events: list[ObservedEvent] = []
        self._unsaved: dict[str, None] = {}
        """Groups that the checkpoint under way has not written yet."""
        self._checkpoint_offset: int | None = None
        """Where the last whole checkpoint begins."""
        self._began_offset: int | None = None
        """Where the one under way begins."""
        self._changed_bytes = 0
        self._checkpoint_ms = 0
        self._saved: tuple[int, Mapping[str, LogPosition]] | None = None
        self.presence = Presence()
        self.rules: list[tuple[str, bool]] | None = None
        """By which groups are chosen; None: all are read."""
        self.newest_ms: int | None = None
        """The time of the last record of a group that was read."""

    # ---- what is read

    def restore(self, restored: Restored, checkpoint_offset: int | None, now: float) -> None:
        """Go on from what another watcher wrote. A new checkpoint is written with the first batch."""
        position = restored.position
        self._seq = restored.seq_from
        if position is None:
            return
        for group_id, kept in restored.groups.items():
            stream = self._stream(group_id)
            stream.go_on(kept, now)
            if restored.others.get(group_id, 0) > stream.seq:
                stream.renew(restored.others[group_id])
                self._changed[group_id] = None
            if stream.is_gone:
                self._gone[group_id] = None
            if stream.awaits_record:
                self._awaiting[group_id] = None
        self._seq = max(self._seq, position.seq)
        self.presence.nodes = position.nodes
        self._saved = position.records, position.logs
        self._checkpoint_offset = checkpoint_offset

    def use_rules(self, rules: list[tuple[str, bool]], is_watched: Callable[[str], bool], place: Place) -> None:
        """Groups are chosen by these from now on. Call it when all is restored."""
        self.rules = rules
        for group_id, stream in self._streams.items():
            stream.is_changed = False
            self._events += stream.be_watched(is_watched(group_id), place)
            if stream.is_changed:
                self._changed[group_id] = None

    def _stream(self, group_id: str) -> GroupStream:
        found = self._streams.get(group_id)
        if found is None:
            found = GroupStream(
                group_id, self._name_of, has_records=self._has_records, seq=self._seq, presence=self.presence
            )
            self._streams[group_id] = found
        return found

    def put_record(self, place: Place, record: GroupRecord, now: float) -> None:
        self.newest_ms = max(place.time_ms, self.newest_ms or 0)
        if self._stream(record.group_id).put_record(place, record, now):
            self._waiting[record.group_id] = None

    def put_lines(self, lines: list[LoggedStatement], before: LogPosition | None, now: float) -> None:
        """Lines of this partition's groups that were read together, from `before` on."""
        last = None
        for line in chain.from_iterable(map(self._of_groups, lines)):
            self._give_way()
            group_id = line.statement.group_id
            if self._stream(group_id).put_line(line, now):
                self._waiting[group_id] = None
                last = line
        if last is not None:
            self._chunks.setdefault(last.log, []).append(_Chunk(before, last.mark))

    def _of_groups(self, line: LoggedStatement) -> Iterator[LoggedStatement]:
        """A line, or what a node says of itself for each group whose members came by way of it."""
        sighting = line.statement.sighting if isinstance(line.statement, Sighted) else None
        if not isinstance(sighting, Watches):
            yield line
            return
        for gap in self.presence.apply(sighting, line.mark[0]):
            for group_id, stream in list(self._streams.items()):
                if stream.came_by(gap.node_id):
                    unseen = msgspec.structs.replace(gap, group_id=group_id)
                    place = line.statement.place
                    statement = Sighted(place=place, group_id=group_id, sighting=unseen)
                    yield LoggedStatement(statement, line.log, line.mark, line.order_ms)

    def put_client(self, group_id: str, line: LoggedClient) -> None:
        """A line of the log of a client of one of this partition's groups."""
        stream = self._stream(group_id)
        if stream.put_client(line):
            self._events += stream.emitted_at_once()
            self._note(stream)

    def leave(self, group_id: str, place: Place, seq_max: int, now: float) -> None:
        """Others coordinate a group from now on, and have numbers above `seq_max` for its events."""
        stream = self._streams.get(group_id)
        if stream is None:
            return
        self._events += stream.leave(place, seq_max, now)
        self._events = [
            observed
            for observed in self._events
            if observed.event.group_id != group_id or observed.event.seq <= seq_max
        ]
        self._note(stream)

    def come_back(self, group_id: str, seq: int) -> None:
        """A group that others have coordinated, and told of with numbers up to `seq`."""
        stream = self._stream(group_id)
        stream.renew(seq)
        self._note(stream)

    def seq_of(self, group_id: str) -> int:
        """The number of the last event of a group; 0: there is none."""
        stream = self._streams.get(group_id)
        return 0 if stream is None else stream.seq

    def put_poll(self, group_id: str, poll: PollOfGroup, now: float) -> None:
        """What a poll shows, of a group that records do not tell of, or that nothing is known of."""
        if poll.group is None and group_id not in self._streams:
            return
        self._stream(group_id).put_poll(poll, now)
        self._waiting[group_id] = None

    @property
    def needed_from(self) -> int | None:
        """The offset from which the next start reads."""
        return self._checkpoint_offset

    @property
    def waiting(self) -> int:
        return sum(self._streams[group_id].waiting for group_id in self._waiting)

    @property
    def groups(self) -> int:
        return len(self._streams) - len(self._gone)

    # ---- telling

    def emit(self, is_due: Callable[[Waiting], bool], now: float, hold_seconds: float) -> int:
        """Take the events of all that is due; return their number. A record is waited for `hold_seconds`."""
        before = len(self._events)
        for group_id in list(self._waiting):
            self._give_way()
            stream = self._streams[group_id]
            following = stream.next
            if following is None or not is_due(following):
                continue
            stream.is_changed = False
            self._events += stream.emit(is_due, now)
            self._note(stream)
        for group_id in list(self._awaiting):
            stream = self._streams[group_id]
            found = [] if stream.has_waiting else stream.emit_without_record(now - hold_seconds)
            if found:
                self._events += found
                stream.is_changed = True
                self._note(stream)
        return len(self._events) - before

    def _note(self, stream: GroupStream) -> None:
        group_id = stream.group_id
        if stream.is_changed:
            self._changed[group_id] = None
        for marks, holds in ((self._waiting, stream.has_waiting), (self._awaiting, stream.awaits_record)):
            if holds:
                marks[group_id] = None
            else:
                marks.pop(group_id, None)
        self._gone.pop(group_id, None)
        if stream.is_gone:
            self._gone[group_id] = None
            self._forget()

    def _forget(self) -> None:
        while len(self._gone) > GONE_KEPT:
            group_id = next(iter(self._gone))
            del self._gone[group_id]
            self._seq = max(self._seq, self._streams.pop(group_id).seq)
            for marks in (self._waiting, self._awaiting, self._changed, self._unsaved):
                marks.pop(group_id, None)
            self._forgotten.append(group_id)

    # ---- what is appended

    def pop_records(
        self, records_to: int, logs: Mapping[str, LogPosition], end_offset: int, now_ms: int, *, refresh: bool = False
    ) -> list[Record]:
        """The events, and the position after them; nothing if nothing was told, unless the position is to be renewed.

        `records_to` and `logs` are where was read to. `end_offset` is where the batch will be.
        """
        position = Position(
            self._position(records_to), self._log_positions(logs), [], self._forgotten, self._seq, self.rules
        )
        position.nodes = self.presence.nodes
        is_moved = self._saved != (position.records, position.logs)
        is_old = self._checkpoint_offset is None or now_ms - self._checkpoint_ms >= CHECKPOINT_MS
        if not self._changed and not self._unsaved and not (refresh and (is_moved or is_old)):
            return []
        position.groups = list(self._in_turns(map(self._encoded, self._changed)))
        self._changed_bytes += sum(map(len, position.groups))
        for group_id in self._changed:
            self._unsaved.pop(group_id, None)
        position.groups += self._checkpoint(end_offset, now_ms, is_old=is_old)
        events = list(self._in_turns(map(self._record, self._events)))
        self._events, self._changed, self._forgotten = [], {}, []
        self._saved = position.records, position.logs
        return [*events, position_record(self.partition, position, self._checkpoint_offset, now_ms)]

    def _checkpoint(self, end_offset: int, now_ms: int, *, is_old: bool) -> list[bytes]:
        """A slice of all groups, where a checkpoint is due or under way; it counts when it has the last one."""
        if self._began_offset is None:
            if not is_old and self._changed_bytes < CHECKPOINT_BYTES:
                return []
            self._began_offset, self._checkpoint_ms, self._changed_bytes = end_offset, now_ms, 0
            self._unsaved = {stream: None for stream in self._streams if stream not in self._changed}
        found: list[bytes] = []
        size = 0
        while self._unsaved and size < SLICE_BYTES:
            group_id = next(iter(self._unsaved))
            del self._unsaved[group_id]
            found.append(self._encoded(group_id))
            self._give_way()
            size += len(found[-1])
        if not self._unsaved:
            self._checkpoint_offset, self._began_offset = self._began_offset, None
        return found

    def _encoded(self, group_id: str) -> bytes:
        return encode_group(self._streams[group_id].kept)

    def _in_turns(self, items: Iterable[T]) -> Iterator[T]:
        for item in items:
            yield item
            self._give_way()

    def _position(self, records_to: int) -> int:
        firsts = (self._streams[group_id].first_record for group_id in self._waiting)
        return min([first for first in firsts if first is not None], default=records_to)

    def _log_positions(self, logs: Mapping[str, LogPosition]) -> dict[str, LogPosition]:
        firsts: dict[str, LineMark] = {}
        for group_id in self._waiting:
            for log, mark in self._streams[group_id].first_lines():
                firsts[log] = min(mark, firsts.get(log, mark))
        found = dict(logs)
        for log, chunks in list(self._chunks.items()):
            first = firsts.get(log)
            left = [] if first is None else [chunk for chunk in chunks if chunk.last >= first]
            if left:
                self._chunks[log] = left
                before = left[0].before
                if before is None:
                    found.pop(log, None)
                else:
                    found[log] = before
            else:
                del self._chunks[log]
        return found

    def _record(self, observed: ObservedEvent) -> Record:
        event = observed.event
        time = datetime.fromtimestamp(min(max(event.time_ms, 0), TIME_MAX_MS) / 1000, UTC).isoformat(
            timespec="milliseconds"
        )
        key = event.group_id.encode()
        headers = (
            ("ce_specversion", b"1.0"),
            ("ce_id", key + b"/%d" % event.seq),
            ("ce_type", TAGS[type(event)].encode()),
            ("ce_source", b"/kafka-group-coordinator/watch"),
            ("ce_time", time.encode()),
            ("content-type", b"application/json"),
        )
        return key, encode_observed(observed), headers
