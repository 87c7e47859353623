"""Follows the log of clients as that of a broker is followed."""

import re
from collections.abc import Iterator

import msgspec

from coordinator.observe.group_stream import LoggedClient, LoggedStatement
from coordinator.observe.logs.client_reader import BEGINS, ClientScanner
from coordinator.observe.logs.client_statements import ClientStatement
from coordinator.observe.logs.counts import Counts
from coordinator.observe.logs.followed import FollowedLog
from coordinator.observe.logs.following import LogFollower
from coordinator.observe.logs.times import LocalTimes
from coordinator.observe.logs.unwrapping import Unwrapping
from coordinator.observe.logs.windows import Window


class _PlainText(msgspec.Struct):
    """Lines of the file itself."""

    unwrap: Unwrapping

    def line(self, number: int) -> int:
        return number


class ClientLogFollower(LogFollower):
    """One log, of one client or of several. What names no group, and no line before it of the same client, is left out.

    Some lines of a client name neither its group nor its member id: these are known from earlier lines. After a start
    in the middle of a log, from those that are shortly before.
    """

    begins: re.Pattern[str] = BEGINS
    _clients: ClientScanner | None = None

    def follow(self) -> FollowedLog:
        """As that of a broker; `clients` has what was read."""
        self._found: list[LoggedClient] = []
        followed = super().follow()
        followed.clients = self._found
        return followed

    def _make_scanner(self) -> None:
        text = _PlainText(self._unwrap)
        if self._clients is not None:
            self._clients.go_on_with(text)
            return
        self._clients = ClientScanner(self.name, text, LocalTimes(self._zone), None)
        for _ in self._clients.statements(Window(self._data, 0, self._begin, 1)):
            pass  # it has learnt who is who
        self._clients.counts = self._counts

    def _count_into(self, counts: Counts) -> None:
        if self._clients is not None:
            self._clients.counts = counts

    def _stated(self, window: Window, number: int) -> Iterator[LoggedStatement]:
        assert self._clients is not None
        for statement in self._clients.statements(window):
            if statement.group_id is None or not self._is_requested(statement.group_id):
                continue
            mark = number, statement.place.position or 0
            self._found.append(LoggedClient(self._in_zone(statement), self.name, mark))
        yield from ()

    def _in_zone(self, statement: ClientStatement) -> ClientStatement:
        shift_ms = self._shift_ms if statement.is_zone_assumed else 0
        if not shift_ms:
            return statement
        place = msgspec.structs.replace(statement.place, time_ms=statement.place.time_ms + shift_ms)
        return msgspec.structs.replace(statement, place=place)
