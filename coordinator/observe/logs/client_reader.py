"""Logs of clients → what they state."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, Protocol

import msgspec

from coordinator.observe.logs.client_statements import ClientStatement, MemberIdReceived, PollTimeoutExceeded
from coordinator.observe.logs.clients import NEEDLE, RDKAFKA, ClientReading, client_readings
from coordinator.observe.logs.counts import Counts
from coordinator.observe.logs.layouts import HEAD, split_logger
from coordinator.observe.logs.lines import Line
from coordinator.observe.logs.templates import TooManyReadings
from coordinator.observe.logs.times import LocalTimes, fraction_ms, in_zone_of, offset_ms, utc_ms
from coordinator.observe.logs.unwrapping import Unwrapping
from coordinator.observe.logs.windows import Window
from coordinator.observe.logs.wrappings import ISO
from coordinator.observe.places import Place, Source

BEGINS: Final = re.compile(HEAD.pattern + r"|%\d\|\d+\.\d{3}\|")
"""What a line of a client begins with, if its library or framework is known."""
JAVA_LOGGING: Final = re.compile(r"[A-Z][a-z]{2} \d{1,2}, \d{4} \d{1,2}:\d\d:\d\d [AP]M")
"""java.util.logging writes the time and the class on a line of their own."""
CLIENTS_MAX: Final = 10_000
LINES_JOINED_MAX: Final = 8

Key = tuple[str, str | None]
"""The stream and the client's id."""


class LinesOfText(Protocol):
    """What lines are unwrapped by, and the line of the file at which one begins; see `LogText`."""

    @property
    def unwrap(self) -> Unwrapping: ...

    def line(self, number: int) -> int: ...


class ClientScanner:
    """Reads one file, of one client or of several."""

    def __init__(self, name: str, log: LinesOfText, times: LocalTimes, groups: frozenset[str] | None) -> None:
        self._name, self._log, self._times, self._groups = name, log, times, groups
        self._unwrap = log.unwrap
        self._group_of: dict[Key, str | None] = {}
        self._member_of: dict[tuple[Key, str | None], str] = {}
        self.counts = Counts()
        self._data = b""

    def go_on_with(self, log: LinesOfText) -> None:
        """Lines have another format, as is known by now."""
        self._log, self._unwrap = log, log.unwrap

    def statements(self, window: Window) -> Iterator[ClientStatement]:
        data = self._data = window.data
        done, counted, number = window.begin, 0, window.first_line
        for match in NEEDLE.finditer(data, window.begin, window.stop):
            at = match.start()
            if at < done:
                continue
            start = data.rfind(b"\n", 0, at) + 1
            done = self._end(at)
            number += data.count(b"\n", counted, start)
            counted = start
            statement = self._statement(start, done, number)
            if statement is not None:
                yield statement

    def _end(self, at: int) -> int:
        end = self._data.find(b"\n", at)
        return len(self._data) if end < 0 else end

    def _statement(self, start: int, end: int, number: int) -> ClientStatement | None:
        line = self._unwrap(self._data[start:end])
        readings = self._readings(line, end, number)
        if not readings:
            return None
        library, statement, fields = self._chosen(readings)
        is_doubtful = len(readings) > 1 and not self._is_seen(fields)
        try:
            time_ms, is_zone_assumed = self._time(line, start)
        except ValueError:
            time_ms, is_zone_assumed = None, False
        if time_ms is None:
            self.counts.add("lines of clients without a time", number)
            return None
        if statement is MemberIdReceived and not fields.get("member_id"):
            self._forget(line.stream, fields)
            return None
        fields = self._with_earlier_ids(line.stream, fields)
        group_id = fields.get("group_id")
        if self._groups is not None and group_id is not None and group_id not in self._groups:
            return None
        return statement(
            place=Place(Source.CLIENT_LOG, self._name, time_ms, self._log.line(number)),
            library=library,
            is_zone_assumed=is_zone_assumed,
            is_doubtful=is_doubtful,
            **fields,
        )

    def _readings(self, line: Line, end: int, number: int) -> list[ClientReading]:
        head = None if line.is_whole else HEAD.match(line.text)
        text = line.text[head.end() :] if head else line.text
        try:
            if "[Consumer " in text and not line.is_whole:
                text = self._whole(text, end, line)
            return client_readings(text)
        except TooManyReadings:
            self.counts.add("lines that can be read in too many ways, left out", number)
            return []

    def _whole(self, text: str, end: int, line: Line) -> str:
        """With the next lines, if an entry of Kafka's own pattern goes on there."""
        if not self._unwrap.has_loggers or split_logger(text)[1] is not None:
            return text
        joined = text
        for _ in range(LINES_JOINED_MAX):
            if end + 1 >= len(self._data):
                break
            start, end = end + 1, self._end(end + 1)
            following = self._unwrap(self._data[start:end])
            if BEGINS.match(following.text) or following.stream != line.stream:
                break
            joined = f"{joined}\n{following.text}"
            if split_logger(joined)[1] is not None:
                return joined
        return text

    def _chosen(self, readings: list[ClientReading]) -> ClientReading:
        """The reading of a group that the caller or an earlier line names, else the first."""
        return next((reading for reading in readings if self._is_seen(reading.fields)), readings[0])

    def _is_seen(self, fields: dict[str, Any]) -> bool:
        group_id = fields.get("group_id")
        return group_id in (self._groups or ()) or group_id in self._group_of.values()

    def _with_earlier_ids(self, stream: str, fields: dict[str, Any]) -> dict[str, Any]:
        """With the group and the member id of earlier lines of the same client."""
        client_id = fields.get("client_id")
        key = (stream, client_id if isinstance(client_id, str) else None)
        group_id = fields.get("group_id")
        if isinstance(group_id, str):
            if len(self._group_of) < CLIENTS_MAX and self._group_of.setdefault(key, group_id) != group_id:
                self._group_of[key] = None  # a client without an id in its lines, which has several groups
        elif self._group_of.get(key) is not None:
            fields = {**fields, "group_id": self._group_of[key]}
        of_group = (key, fields.get("group_id"))
        member_id = fields.get("member_id")
        if isinstance(member_id, str):
            if len(self._member_of) < CLIENTS_MAX:
                self._member_of[of_group] = member_id
        elif of_group in self._member_of:
            fields = {**fields, "member_id": self._member_of[of_group]}
        return fields

    def _forget(self, stream: str, fields: dict[str, Any]) -> None:
        """The client has no member id any more."""
        self._member_of.pop(((stream, fields.get("client_id")), fields.get("group_id")), None)

    def _time(self, line: Line, start: int) -> tuple[int | None, bool]:
        """The time of a line, and whether its zone was assumed. Raises ValueError."""
        if line.is_whole:
            return line.time_ms, False
        own = RDKAFKA.match(line.text)
        if own is not None:
            return int(own["epoch"]) * 1000 + int(own["fraction"]), False
        match = HEAD.match(line.text) or ISO.search(line.text)
        if match is None:
            before = self._java_logging(start)
            return (line.received_ms, False) if before is None else (before, True)
        ms = fraction_ms(match["fraction"])
        if match["zone"] is not None:
            return utc_ms(match["day"], match["clock"], ms) - offset_ms(match["zone"]), False
        if line.received_ms is not None:
            exact = in_zone_of(line.received_ms, utc_ms(match["day"], match["clock"], ms))
            if exact is not None:
                return exact, False
        return self._times.ms(match["day"], match["clock"], ms), True

    def _java_logging(self, start: int) -> int | None:
        if start == 0:
            return None
        before = self._unwrap(self._data[self._data.rfind(b"\n", 0, start - 1) + 1 : start - 1])
        match = JAVA_LOGGING.match(before.text)
        if match is None:
            return None
        at = datetime.strptime(match.group(), "%b %d, %Y %I:%M:%S %p")
        return self._times.ms(f"{at:%Y-%m-%d}", f"{at:%H:%M:%S}", 0)


def without_doubles(statements: list[ClientStatement]) -> list[ClientStatement]:
    """In order of time, each once. librdkafka tells an exceeded interval at two levels."""
    ordered = sorted(
        statements, key=lambda statement: (statement.place.time_ms, statement.place.name, statement.place.position or 0)
    )
    seen: set[object] = set()
    kept = []
    for statement in ordered:
        fields = msgspec.structs.asdict(statement)
        place = fields.pop("place")
        key = (
            type(statement),
            place.time_ms // (10_000 if isinstance(statement, PollTimeoutExceeded) else 1),
            *fields.values(),
        )
        if key not in seen:
            seen.add(key)
            kept.append(statement)
    return kept
