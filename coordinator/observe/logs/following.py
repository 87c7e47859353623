"""Follows a log as it is written and rotated, and tells what its lines state.

The files of a log are read one after the other as if they were one: a line that was cut by the rotation is whole again.
A line is read when something was written after it, or nothing was for a while: what belongs to it is there then.
"""

import re
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import tzinfo
from pathlib import Path
from time import monotonic
from typing import Final

import msgspec

from coordinator.observe.group_stream import LoggedStatement
from coordinator.observe.logs import log_files
from coordinator.observe.logs.counts import Counts
from coordinator.observe.logs.drained import DrainedCollector
from coordinator.observe.logs.followed import FollowedLog, LogPosition
from coordinator.observe.logs.layouts import HEAD
from coordinator.observe.logs.lines import LINE_BYTES_MAX
from coordinator.observe.logs.log_files import BROKEN, FileBegin, LogFile
from coordinator.observe.logs.scanner import Scanner
from coordinator.observe.logs.statements import OfGroup, Statement
from coordinator.observe.logs.texts import NO_FORMAT, SAMPLE_BYTES
from coordinator.observe.logs.times import LocalTimes
from coordinator.observe.logs.unwrapping import unwrapping
from coordinator.observe.logs.windows import AROUND_BYTES, Window
from coordinator.observe.logs.zone_by_clock import ZoneByClock

BLOCK_BYTES: Final = 1 << 20
SAMPLE_ENOUGH_BYTES: Final = 64 << 10
ROTATED_FOR_SECONDS: Final = 1.0
"""So long nothing may come any more in a file that was rotated: who writes it goes over to the new one meanwhile."""
LOOKED_AT_SECONDS: Final = 0.4
"""How often it is looked at what there is."""
FILES_REMEMBERED: Final = 64
LOOKS_KEPT: Final = 1_000
LINE_KEPT_MAX: Final = 4 * LINE_BYTES_MAX


class _Part(msgspec.Struct, frozen=True):
    """From this byte of what is held on, lines are of this file."""

    at: int
    number: int
    begin: FileBegin
    offset: int
    line: int


class LogFollower:
    """One log of a broker. Its `name` is the path."""

    partition: int | None = None

    begins: re.Pattern[str] = HEAD
    """How a line begins, if its format is known."""

    def __init__(
        self,
        path: Path,
        position: LogPosition | None = None,
        *,
        log_format: str = "auto",
        zone: tzinfo | None = None,
        is_requested: Callable[[str], bool] = lambda group_id: True,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Begin where another follower was, else at the begin of the file. `is_requested` is asked of groups."""
        self.name = str(path)
        self._path, self._format, self._zone, self._clock = path, log_format, zone, clock
        self._is_requested = is_requested
        self._file: LogFile | None = None
        self._begins: deque[FileBegin] = deque(maxlen=FILES_REMEMBERED)
        self._first_time = b""
        self._next_number = 0
        self._offset = 0
        """Of the file, from which it is read next."""
        self._data = b""
        self._begin = 0
        """The first byte of `_data` that was not scanned; before it are lines that may belong to those after it."""
        self._parts: list[_Part] = []
        self._ends: deque[tuple[float, int, bool]] = deque(maxlen=LOOKS_KEPT)
        """When it was looked at the file, the bytes that it had, and whether no other one had been begun by then."""
        self._grown_at = clock()
        self._counts = Counts()
        self._notes: list[str] = []
        self._already_logged: set[str] = set()
        self._times = ZoneByClock()
        self._collector = DrainedCollector(self.name)
        self._unwrap = NO_FORMAT
        self._scanner: Scanner | None = None
        self._sampled_bytes = -1
        self._resumed = position

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    # ---- reading

    def follow(self) -> FollowedLog:
        """Read on, BLOCK_BYTES at most; whatever happens to the files is noted, and it goes on."""
        before = self.position
        lines: list[LoggedStatement] = []
        current_at: float | None = None
        try:
            if self._file is None:
                self._open()
                before = self.position
            if self._file is not None:
                self._look()
                if self._is_replaced():
                    self._follow_replaced()
                lines = list(self._scanned(self._read()))
                current_at = self._current_at()
                self._turn_over()
            else:  # there is no such file, or no line in it yet
                current_at = self._clock()
        except BROKEN as problem:
            self._note(f"{self.name}: {problem}; it is tried again")
            current_at = self._clock()
            self.close()
        notes = self._noted()
        return FollowedLog(lines, before, self.position, current_at, notes)

    @property
    def position(self) -> LogPosition | None:
        """Before the first line that was not read."""
        if not self._parts:
            return self._resumed
        part = self._part_at(self._begin)
        line = part.line + self._data.count(b"\n", part.at, self._begin)
        return LogPosition(part.number, part.begin, part.offset + self._begin - part.at, line)

    def _part_at(self, at: int) -> _Part:
        return next(part for part in reversed(self._parts) if part.at <= at)

    def _noted(self) -> list[str]:
        """What was noted since, each defect of the lines once in a file."""
        for note in self._counts.notes(self.name):
            what = note.rsplit(": ", 2)[0]
            if what not in self._already_logged:
                self._already_logged.add(what)
                self._notes.append(note)
        self._counts = Counts()
        self._count_into(self._counts)
        found, self._notes = self._notes, []
        return found

    def _count_into(self, counts: Counts) -> None:
        if self._scanner is not None:
            self._scanner.counts = counts

    def _note(self, note: str) -> None:
        """Each once, until it goes well again."""
        if note not in self._already_logged:
            self._already_logged.add(note)
            self._notes.append(note)

    def _open(self) -> None:
        """Open the file where the log is read on, once it has a whole line."""
        resumed = self._resumed if not self._parts else self.position
        if resumed is not None:
            file = log_files.find(self._path, resumed.begin)
            if file is not None:
                self._go_on(file, resumed)
                return
            self._note(f"{self.name}: the file that was read before is gone; what it had that was not read is missing")
        file = log_files.opened(self._path)
        is_missing = file is None and not self._path.exists()
        if is_missing:
            self._note(f"{self.name}: there is no such file; it is read when there is one")
        if file is not None:
            self._next_number = self._next_number if resumed is None else resumed.number + 1
            self._data, self._begin, self._parts = b"", 0, []
            self._read_file(file)

    def _following(self) -> LogFile | None:
        return log_files.following(self._path, self._first_time, self._begins)

    def _go_on(self, file: LogFile, position: LogPosition) -> None:
        context = min(position.offset, AROUND_BYTES)
        self._data = file.read(position.offset - context, context)
        self._begin = len(self._data)
        self._offset = position.offset
        self._next_number = position.number + 1
        self._parts = [_Part(self._begin, position.number, position.begin, position.offset, position.line)]
        self._resumed = None
        self._know(file, position.begin)

    def _read_file(self, file: LogFile) -> bool:
        """Go on with a file from its begin; False: it has no whole line yet."""
        data = file.begin
        begin = FileBegin.of(data)
        if begin is None:
            file.close()
            return False
        number, self._next_number = self._next_number, self._next_number + 1
        self._resumed = None
        if len(self._data) == self._begin or self._data.endswith(b"\n"):
            self._parts.append(_Part(len(self._data), number, begin, 0, 1))
        else:  # the last line has no end
            rest = file.read(0, LINE_BYTES_MAX)
            end = rest.find(b"\n") + 1
            if not end or self._is_begun(rest[:end]):
                self._data += b"\n"
                self._parts.append(_Part(len(self._data), number, begin, 0, 1))
            else:
                self._parts.append(_Part(len(self._data) + end, number, begin, end, 2))
        self._offset = 0
        self._know(file, begin)
        return True

    def _is_begun(self, line: bytes) -> bool:
        """Whether a line begins as one of this log does, and is not the rest of another."""
        self._scanner_of_format()
        found = self._unwrap(line)
        return not found.is_foreign and (found.is_whole or self.begins.match(found.text) is not None)

    def _know(self, file: LogFile, begin: FileBegin) -> None:
        if self._file is not None:
            self._file.close()
        self._file = file
        self._begins.append(begin)
        self._first_time = log_files.time_of(file.begin) or self._first_time
        self._ends.clear()
        self._grown_at = self._clock()
        self._times.new_file()
        self._already_logged.clear()

    def _look(self) -> None:
        """Note how much there is by now."""
        assert self._file is not None
        now, size = self._clock(), self._file.size
        if size is not None and (not self._ends or now - self._ends[-1][0] >= LOOKED_AT_SECONDS):
            if not self._ends or self._ends[-1][1] != size:
                self._grown_at = now
            self._ends.append((now, size, self._is_last(self._file)))

    def _read(self) -> int:
        """Read on in the file; return up to where lines can be scanned."""
        assert self._file is not None
        has = len(self._data) - self._begin
        block = b"" if has > BLOCK_BYTES + AROUND_BYTES else self._file.read(self._offset, BLOCK_BYTES)
        self._data += block
        self._offset += len(block)
        if self._file.is_packed or len(block) == BLOCK_BYTES or has > BLOCK_BYTES + AROUND_BYTES:
            is_rest = self._file.is_packed and not block
            settled = len(self._data) if is_rest else max(self._begin, len(self._data) - AROUND_BYTES)
        else:
            settled = len(self._data) - (self._offset - self._settled_offset())
        whole = self._data.rfind(b"\n", self._begin, max(settled, self._begin)) + 1
        if not whole and len(self._data) - self._begin > LINE_KEPT_MAX:
            self._counts.add("lines that do not end, left out", 0)
            whole = len(self._data)
        return max(whole, self._begin)

    def _settled_offset(self) -> int:
        """Up to where the file was written by the last time but one that it was looked at."""
        now = self._clock()
        old = [size for at, size, _ in self._ends if now - at >= LOOKED_AT_SECONDS]
        return min(old[-1], self._offset) if old else 0

    def _current_at(self) -> float | None:
        """Up to which time all that was written has been scanned: the last look at what was no more than that."""
        assert self._file is not None
        if self._file.is_packed:
            is_read = self._begin == len(self._data) and not self._file.read(self._offset, 1)
            return self._clock() if is_read else None
        scanned = self._offset - (len(self._data) - self._begin)
        rest = self._data[self._begin :]
        if b"\n" not in rest:
            scanned += len(rest)  # what has no end yet is not there yet
        found: float | None = None
        read = 0
        for at, size, is_last in self._ends:
            if size > scanned:
                break
            read += 1
            found = at if is_last else found
        for _ in range(read - 1):
            self._ends.popleft()  # the last one tells still what was settled when
        return found

    def _scanned(self, whole: int) -> Iterator[LoggedStatement]:
        if whole <= self._begin:
            return
        self._scanner_of_format()
        while self._begin < whole:
            part = self._part_at(self._begin)
            end = min([later.at for later in self._parts if later.at > self._begin] + [whole])
            first = part.line - self._data.count(b"\n", 0, part.at)
            yield from self._stated(Window(self._data, self._begin, end, first), part.number)
            self._begin = end
        self._forget()

    def _stated(self, window: Window, number: int) -> Iterator[LoggedStatement]:
        """What lines of file `number` state."""
        assert self._scanner is not None
        for entry in self._scanner.entries(window):
            self._collector.add(entry)
        for order_ms, statement in self._collector.drain():
            yield from self._logged(statement, number, order_ms)

    def _logged(self, statement: Statement, number: int, order_ms: int) -> Iterator[LoggedStatement]:
        if not isinstance(statement, OfGroup) or not self._is_requested(statement.group_id):
            return
        mark = number, statement.place.position or 0
        shift_ms = self._shift_ms if statement.is_zone_assumed else 0
        if shift_ms:
            place = msgspec.structs.replace(statement.place, time_ms=statement.place.time_ms + shift_ms)
            statement = msgspec.structs.replace(statement, place=place)
        yield LoggedStatement(statement, self.name, mark, order_ms + shift_ms)

    @property
    def _shift_ms(self) -> int:
        """What is to be added to times that have no zone."""
        return self._times.shift_ms if self._zone is None and self._file is not None else 0

    def _scanner_of_format(self) -> None:
        """Recognise the format by what is there, again while that is little."""
        assert self._file is not None
        sampled = min(len(self._data), SAMPLE_ENOUGH_BYTES)
        if self._sampled_bytes < 0 or sampled > self._sampled_bytes:
            self._sampled_bytes = sampled
            sample = self._data[:SAMPLE_BYTES].splitlines()
            self._unwrap = unwrapping(sample, self._format, self.begins) or NO_FORMAT
            self._make_scanner()
        self._times.look(self._file, self._data, self._unwrap)

    def _make_scanner(self) -> None:
        self._scanner = Scanner(self._unwrap, LocalTimes(self._zone))
        self._scanner.counts = self._counts

    def _forget(self) -> None:
        """Keep what may belong to lines that come."""
        keep = self._data.rfind(b"\n", 0, max(0, self._begin - AROUND_BYTES)) + 1
        if keep < AROUND_BYTES:
            return
        current = self._part_at(self._begin)
        at = max(current.at, keep)
        line = current.line + self._data.count(b"\n", current.at, at)
        moved = _Part(at - keep, current.number, current.begin, current.offset + at - current.at, line)
        later = [msgspec.structs.replace(part, at=part.at - keep) for part in self._parts if part.at > self._begin]
        self._parts = [moved, *later]
        self._data, self._begin = self._data[keep:], self._begin - keep

    # ---- rotation

    def _is_replaced(self) -> bool:
        """Whether the file was cut, as by copytruncate, and perhaps written again."""
        assert self._file is not None
        return not self._file.is_packed and not self._parts[-1].begin.is_of(self._file.begin)

    def _follow_replaced(self) -> None:
        """Go on in the copy of a file that was cut; if there is none, with what is written in it by now."""
        begin = self._parts[-1].begin
        copy = log_files.find(self._path, begin)
        if copy is not None:
            self._know(copy, begin)
            return
        following = self._following()
        if following is not None:
            self._note(f"{self.name}: was cut and there is no copy: lines may be missing")
            self._read_file(following)

    def _turn_over(self) -> None:
        """Go on with the next file, if this one is no more written and read to its end."""
        file = self._file
        assert file is not None
        if b"\n" in self._data[self._begin :] or self._is_replaced() or file.read(self._offset, 1):
            return
        if not file.is_packed:
            is_left = self._is_left(file)
            if not is_left or self._clock() - self._grown_at < ROTATED_FOR_SECONDS:
                return
        following = self._following()
        if following is not None:
            self._read_file(following)

    def _is_last(self, file: LogFile) -> bool:
        """Whether no other file has been begun after this one: one that has no whole line yet is none."""
        if not self._is_left(file):
            return True
        other = log_files.opened(self._path)
        if other is None:
            return True
        with closing(other):
            return FileBegin.of(other.begin) is None

    def _is_left(self, file: LogFile) -> bool:
        """Whether another file has the name of the log, or none has."""
        try:
            return self._path.stat().st_ino != file.inode
        except OSError:
            return True
