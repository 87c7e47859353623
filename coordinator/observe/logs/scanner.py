"""The windows of a file → the entries of coordinators in it.

Most lines of a log are not about groups. Those that may be are found in the bytes; only these are decoded, with the
lines around them where an entry has several, or where something does not look as the broker wrote it.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from coordinator.observe.logs.counts import Counts
from coordinator.observe.logs.layouts import HEAD, INNER_LOGGER, is_coordinator, split_logger
from coordinator.observe.logs.lines import LINE_BYTES_MAX, Line
from coordinator.observe.logs.messages import PREFIX, Reading, begins_like_a_rule, message_of, readings
from coordinator.observe.logs.templates import TooManyReadings
from coordinator.observe.logs.times import LocalTimes, fraction_ms, in_zone_of, offset_ms, utc_ms
from coordinator.observe.logs.unwrapping import Unwrapping, recognised
from coordinator.observe.logs.windows import Window
from coordinator.observe.logs.wrappings import ISO

PLAIN_HEAD: Final = re.compile(rb"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] [A-Z]+ ")
PLAIN_TAIL: Final = re.compile(rb" \((?:kafka|org\.apache\.kafka|state\.change)\.[\w.$]+\)\n\Z")
"""How nearly all lines around begin and end. It saves looking at them in detail."""
COORDINATOR: Final = b"kafka.coordinator.group.Group"
ENDS: Final = b")}\r"
BEGINS: Final = (b"[Group", b"Loaded member ", b"Group leader ")
ANYWHERE: Final = re.compile(
    r"\[Group(?:Coordinator (?:id=)?|MetadataManager brokerId=)-?\d|Loaded member MemberMetadata\("
)
LINES_JOINED_MAX: Final = 24
LINES_BEFORE_MAX: Final = 400
"""A broker prints its configuration in one entry of about 300 lines."""
LINES_AFTER_MAX: Final = 6
HOUR_MS: Final = 3_600_000
ORDER_MS: Final = 1_000
"""Threads of a broker write their lines in nearly the order of their times."""
GAP_MS: Final = 10_000
"""After a longer pause the lines around are looked at: a forged line rarely has the right time."""


class Entry(NamedTuple):
    """What a coordinator wrote, and all the ways to read it."""

    text: str
    time_ms: int
    line: int
    readings: list[Reading]
    broker_id: int | None
    offsets_partition: int | None
    is_zone_assumed: bool
    is_doubtful: bool
    is_out_of_order: bool


class Scanner:
    """Reads one file. `unwrap` makes a `Line` of the bytes of a physical one."""

    def __init__(
        self, unwrap: Unwrapping, times: LocalTimes, is_requested: Callable[[bytes], bool] | None = None
    ) -> None:
        self._unwrap, self._times, self._is_requested = unwrap, times, is_requested
        self._latest_ms: dict[str, int] = {}
        self._is_broken = False
        self._read_until = -1
        """Where the line after the last one that was read begins, in the window."""
        self._joined_until = self._followed_until = -1
        """The same of the last entry of several lines, and of the last line that was looked at for one."""
        self.counts = Counts()
        self._data = b""

    def entries(self, window: Window) -> Iterator[Entry]:
        data = self._data = window.data
        done, counted, number = window.begin, 0, window.first_line
        self._read_until = self._joined_until = -1
        pending: Entry | None = None
        pending_until = -1
        for match in self._unwrap.needle.finditer(data, window.begin, window.stop):
            at = match.start()
            if at < done:
                continue
            start = data.rfind(b"\n", 0, at) + 1
            done = self._end(at)
            if self._is_requested is not None and _is_whole(data, done) and not self._is_requested(data[start:done]):
                continue
            number += data.count(b"\n", counted, start)
            counted = start
            self._is_broken = False  # the line, as far as it goes
            entry = self._entry(start, done, number)
            if pending is not None:
                yield pending._replace(is_doubtful=True) if self._is_broken and start == pending_until else pending
            pending, pending_until = entry, done + 1
        if pending is not None:
            yield pending

    def _end(self, at: int) -> int:
        end = self._data.find(b"\n", at)
        return len(self._data) if end < 0 else end

    def _entry(self, start: int, end: int, number: int) -> Entry | None:
        if end - start > LINE_BYTES_MAX:
            self.counts.add(f"lines of more than {LINE_BYTES_MAX >> 20} MiB, cut", number)
        line = self._unwrap(self._data[start:end])
        head = None if line.is_whole else HEAD.match(line.text)
        if head is None and not line.is_whole:
            line = self._of_other_format(line)
            head = None if line.is_whole else HEAD.match(line.text)
        if line.is_foreign:
            self.counts.add("lines in another format than the rest, doubtful", number)
        if line.is_whole:
            return self._whole(line, number)
        if head is None:
            return self._headless(line, number)
        if PREFIX.match(line.text, head.end()) is None:
            return None
        text, found, is_doubtful = self._message(line, line.text[head.end() :], end, number)
        follows_one = start in (self._read_until, self._joined_until)
        self._read_until = -1 if self._is_broken else end + 1
        if not found:
            return None
        try:
            time_ms, is_zone_assumed = self._time(head, line)
        except ValueError:
            self.counts.add("times that there are not", number)
            return None
        is_doubtful = is_doubtful or line.is_foreign or not self._is_ended_before(start, line.stream, follows_one)
        is_out_of_order = self._is_out_of_order(time_ms, start, end, line)
        return self._made(text, time_ms, number, found, is_zone_assumed, is_doubtful, is_out_of_order)

    def _of_other_format(self, line: Line) -> Line:
        """The same line, read in any format. Not every one of a file need have its format."""
        other = recognised(line.text, None)
        if other is None or not other[0]:
            return line
        _, found = other
        stream = f"{line.stream} {found.stream}" if line.stream and found.stream else line.stream or found.stream
        return found._replace(is_foreign=True, stream=stream)

    def _headless(self, line: Line, number: int) -> Entry | None:
        """An entry of a pattern that is not known: found by its message, with a time somewhere before that."""
        at = ANYWHERE.search(line.text)
        if at is None or (self._unwrap.has_heads and (at.start() > 0 or line.received_ms is None)):
            return None  # the rest of an entry of several lines
        time_ms, is_zone_assumed = self._time_before(line, at.start())
        if time_ms is None:
            self.counts.add("lines of coordinators without a time", number)
            return None
        text, logger = split_logger(line.text[at.start() :])
        found = self._readings(text, number)
        if not found:
            return None
        self.counts.add("lines of a pattern that is not known; forged ones cannot be told", number)
        is_doubtful = line.is_foreign or (logger is not None and not is_coordinator(logger))
        return self._made(text, time_ms, number, found, is_zone_assumed, is_doubtful, False)

    def _time_before(self, line: Line, end: int) -> tuple[int | None, bool]:
        match = ISO.search(line.text, 0, end)
        try:
            return (line.received_ms, False) if match is None else self._time(match, line)
        except ValueError:
            return line.received_ms, False

    def _made(
        self, text: str, time_ms: int, number: int, found: list[Reading], is_zone_assumed: bool, *doubts: bool
    ) -> Entry:
        message = message_of(text)
        assert message is not None, text
        who = (message.broker_id, message.offsets_partition)
        return Entry(text, time_ms, number, found, *who, is_zone_assumed, *doubts)

    def _whole(self, line: Line, number: int) -> Entry | None:
        if line.time_ms is None or (line.logger is not None and not is_coordinator(line.logger)):
            return None
        found = self._readings(line.text, number)
        doubts = (line.is_foreign, False)
        return self._made(line.text, line.time_ms, number, found, False, *doubts) if found else None

    def _readings(self, text: str, number: int) -> list[Reading]:
        message = message_of(text)
        if message is None:
            return []
        try:
            return readings(message.text)
        except TooManyReadings:
            self.counts.add("lines that can be read in too many ways, left out", number)
            return []

    def _message(self, line: Line, body: str, end: int, number: int) -> tuple[str, list[Reading], bool]:
        """The message that begins in a line, its readings, and whether it is doubtful."""
        text, logger = split_logger(body)
        if logger is None and not self._unwrap.has_loggers:
            return text, self._readings(text, number), False
        if logger is not None and is_coordinator(logger):
            found = self._readings(text, number)
            if found:
                return text, found, INNER_LOGGER.search(text) is not None or self._has_late_end(end, line.stream)
        is_whole = logger is not None and not is_broken(line.text, len(line.text) - len(body))
        is_end = not is_whole and logger is not None and INNER_LOGGER.search(text) is not None  # of an entry before
        text, found = ("", []) if is_end else self._joined(line, body, end, is_whole, number)
        if found:
            return text, found, HEAD.search(text) is not None or INNER_LOGGER.search(text) is not None
        if is_whole:
            return body, [], True  # of no interest
        self._is_broken = logger is not None
        return self._cut(body, number)

    def _joined(self, line: Line, body: str, end: int, is_whole: bool, number: int) -> tuple[str, list[Reading]]:
        """The message of several lines that begins in this one. `is_whole`: it ends before the next head."""
        joined, is_part = body, line.is_part
        for following in self._following(end, line.stream, LINES_JOINED_MAX):
            if (is_whole and HEAD.match(following.text)) or len(joined) > LINE_BYTES_MAX:
                break
            joined = f"{joined}{following.text}" if is_part else f"{joined}\n{following.text}"
            is_part = following.is_part
            text, logger = split_logger(joined)
            if logger is not None and is_coordinator(logger):
                found = self._readings(text, number)
                if found:
                    self._joined_until = self._followed_until
                    return text, found
        return "", []

    def _cut(self, body: str, number: int) -> tuple[str, list[Reading], bool]:
        """A line without its end, or one that a client made to look like a whole one."""
        inner = INNER_LOGGER.search(body)
        text = body if inner is None else body[: inner.start()]
        found = self._readings(text, number)
        if not found:
            self.counts.add("lines of coordinators that are cut, or hold what clients wrote", number)
        return text, found, True

    def _has_late_end(self, end: int, stream: str) -> bool:
        """Whether the next line ends like a coordinator's, and does not begin so: this one may be in the middle."""
        head = PLAIN_HEAD.match(self._data, end + 1)
        if head is not None:
            if self._data.startswith(BEGINS, head.end()):
                return False
            stop = self._end(head.end())
            tail = PLAIN_TAIL.search(self._data, max(head.end(), stop - 120), stop + 1)
            return tail is not None and COORDINATOR in tail.group()
        following = next(self._following(end, stream, 1), None)
        return (
            following is not None and HEAD.match(following.text) is None and split_logger(following.text)[1] is not None
        )

    def _following(self, end: int, stream: str, most: int) -> Iterator[Line]:
        """The next lines of the same stream."""
        while most > 0 and end + 1 < len(self._data):
            start, end = end + 1, self._end(end + 1)
            line = self._unwrap(self._data[start:end])
            if line.stream == stream:
                most -= 1
                self._followed_until = end + 1
                yield line

    def _preceding(self, start: int, stream: str, most: int) -> Iterator[Line]:
        while most > 0 and start > 0:
            start, end = self._data.rfind(b"\n", 0, start - 1) + 1, start - 1
            line = self._unwrap(self._data[start:end])
            if line.stream == stream:
                most -= 1
                yield line

    def _is_ended_before(self, start: int, stream: str, follows_one: bool) -> bool:
        """Whether the entry before has its logger. If not, this line may be in the middle of it.

        `follows_one`: the line before is an entry of a coordinator that was read.
        """
        if start == 0:
            return True
        if not self._unwrap.has_loggers:
            return True
        tail = None if stream else PLAIN_TAIL.search(self._data, max(0, start - 120), start)
        if tail is not None and (follows_one or COORDINATOR not in tail.group()):
            return True
        for line in self._preceding(start, stream, LINES_BEFORE_MAX):
            head = HEAD.match(line.text)
            if line.is_whole or split_logger(line.text)[1] is not None:
                return head is None or not is_broken(line.text, head.end())
            if head is not None:
                return False
        return False

    def _time(self, head: re.Match[str], line: Line, *, is_next: bool = True) -> tuple[int, bool]:
        """The time of an entry, and whether its zone was assumed. Raises ValueError."""
        day, clock, fraction, zone = head.group("day", "clock", "fraction", "zone")
        ms = fraction_ms(fraction)
        if zone is not None:
            return utc_ms(day, clock, ms) - offset_ms(zone), False
        if line.received_ms is not None:
            exact = in_zone_of(line.received_ms, utc_ms(day, clock, ms))
            if exact is not None:
                return exact, False
        return self._times.ms(day, clock, ms, is_next=is_next), True

    def _is_out_of_order(self, time_ms: int, start: int, end: int, line: Line) -> bool:
        """Whether the time fits neither the lines before nor those after. That of a set clock fits the latter."""
        latest_ms = self._latest_ms.get(line.stream)
        if latest_ms is not None and latest_ms - ORDER_MS <= time_ms <= latest_ms + GAP_MS:
            self._latest_ms[line.stream] = max(latest_ms, time_ms)
            return False
        after = [found for later in self._following(end, line.stream, LINES_AFTER_MAX) if (found := self._peek(later))]
        before = self._before(start, line) if latest_ms is None else latest_ms
        if before is not None:
            # Lines after it are compared with this one, not with others that are out of order.
            if time_ms < before - ORDER_MS and not _is_set_back(time_ms, before, after):
                self._latest_ms[line.stream] = before
                return True
            if time_ms > before + GAP_MS and after and before - ORDER_MS <= after[0] < time_ms - ORDER_MS:
                return True
        self._latest_ms[line.stream] = time_ms
        return False

    def _before(self, start: int, line: Line) -> int | None:
        """The time of the nearest line before."""
        for earlier in self._preceding(start, line.stream, LINES_AFTER_MAX):
            found = self._peek(earlier)
            if found is not None:
                return found
        return None

    def _peek(self, line: Line) -> int | None:
        """The time of a neighbour."""
        head = HEAD.match(line.text)
        if line.is_whole or head is None:
            return None
        try:
            return self._time(head, line, is_next=False)[0]
        except ValueError:
            return None


def _is_set_back(time_ms: int, before_ms: int, after: list[int]) -> bool:
    """Whether the clock was set back: the lines after go on from there. By summer time at most an hour.

    Lines of the same time do not show it: who forges one can forge several. The last of many that were written at once
    after a clock was set has lines of later times after it.
    """
    later = [after_ms for after_ms in after if abs(after_ms - time_ms) > ORDER_MS]
    if not later:
        return False
    if before_ms - time_ms <= HOUR_MS:
        return time_ms - ORDER_MS <= later[0] < before_ms - ORDER_MS
    return max(later) < before_ms - ORDER_MS


def _is_whole(data: bytes, end: int) -> bool:
    """Whether a line may end with its logger. If not, the group's id may be in the next one."""
    return data[end - 1] in ENDS or (data[end - 1] == 0x5D and data.rfind(b") [", end - 120, end) >= 0)


def is_broken(text: str, begin: int) -> bool:
    """Whether an entry begins as a known message of a coordinator, and cannot be read as one."""
    body, logger = split_logger(text[begin:])
    message = message_of(body)
    if message is None or text[:begin].rstrip().endswith(("DEBUG", "TRACE")) or not begins_like_a_rule(message.text):
        return False
    try:
        return logger is None or not is_coordinator(logger) or not readings(message.text)
    except TooManyReadings:
        return True
