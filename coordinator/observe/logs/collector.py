"""Entries → statements: doubled ones are left out, those of other groups too, and what can be read in several ways is
decided when all is known."""

from collections.abc import Iterator
from typing import Any, Final, cast

import msgspec

from coordinator.observe.logs.choosing import SeenIds, choose
from coordinator.observe.logs.messages import Reading
from coordinator.observe.logs.scanner import Entry
from coordinator.observe.logs.statements import GroupsDeleted, Statement
from coordinator.observe.places import Place, Source

STATEMENTS_MAX: Final = 300_000
"""About 700 bytes each. The oldest are left out."""
SEEN_MAX: Final = 4_000_000
"""Lines that are remembered, to leave out those that are there twice: 64 bytes each."""
BACK_MAX_MS: Final = 90 * 60_000
"""Clocks are set back by an hour at most; a file whose times go back further has two parts."""
OUT_OF_ORDER_SHARE: Final = 0.1
"""A file of which more lines have a time out of order was made of several."""
OUT_OF_ORDER_MIN: Final = 20


class _Kept(msgspec.Struct, gc=False):
    """A statement, or the readings of one that is not decided yet. `order`: what it is sorted by."""

    order: tuple[int, int, int]
    entry: Entry | None
    place: Place
    statement: Statement | None
    is_out_of_order: bool


class Collector:
    def __init__(self, groups: frozenset[str] | None, *, statements_max: int = STATEMENTS_MAX) -> None:
        self._groups, self._max = groups, statements_max
        self._seen_ids = SeenIds(groups or ())
        self._kept: list[_Kept] = []
        self._seen: set[int] = set()
        self._texts: dict[str, str] = {}
        self._doubled = self._dropped = 0
        self._dropped_until_ms = 0
        self._name, self._file, self._latest_ms = "", -1, 0
        self._first_of_file = self._entries = self._out_of_order = 0
        self._notes: list[str] = []

    def begin(self, name: str) -> None:
        """The entries that follow are of this file."""
        self._name, self._file, self._latest_ms = name, self._file + 1, 0
        self._first_of_file, self._entries, self._out_of_order = len(self._kept), 0, 0

    @property
    def has_found(self) -> bool:
        """The file has an entry that says something."""
        return self._entries > 0

    def end(self) -> None:
        """The file has ended."""
        if self._out_of_order < max(OUT_OF_ORDER_MIN, self._entries * OUT_OF_ORDER_SHARE):
            return
        self._notes.append(f"{self._name}: lines are not in order of time; forged ones cannot be told by it")
        for kept in self._kept[self._first_of_file :]:
            kept.is_out_of_order = False

    def add(self, entry: Entry) -> None:
        key = hash((entry.time_ms, entry.text))
        if key in self._seen:
            self._doubled += 1
            return
        self._entries += 1
        self._out_of_order += entry.is_out_of_order
        place = Place(Source.BROKER_LOG, self._name, entry.time_ms, entry.line, entry.broker_id)
        order = (self._order_ms(entry), self._file, entry.line)
        statement: Statement | None = None
        if len(entry.readings) == 1:
            reading = entry.readings[0]
            if not entry.is_doubtful and not entry.is_out_of_order:
                self._seen_ids.learn(reading)
            if not self._is_requested(reading):
                return
            statement = self._made(entry, place, reading, entry.is_doubtful)
        elif not any(map(self._is_requested, entry.readings)):
            return
        if len(self._seen) >= SEEN_MAX:
            self._seen.clear()
        self._seen.add(key)
        kept_entry = entry if statement is None else None
        self._kept.append(_Kept(order, kept_entry, place, statement, entry.is_out_of_order))
        if len(self._kept) > self._max:
            self._drop_oldest()

    def statements(self) -> list[Statement]:
        """All that was added, in order of time."""
        self._kept.sort(key=lambda kept: kept.order)
        return list(self._decided())

    def notes(self) -> Iterator[str]:
        yield from self._notes
        if self._doubled:
            yield f"lines that are there twice: {self._doubled}, read once"
        if self._dropped:
            yield f"more than {self._max} statements: the oldest {self._dropped} were left out"

    def _decided(self) -> Iterator[Statement]:
        for kept in self._kept:
            statement = kept.statement
            if statement is None:
                assert kept.entry is not None
                reading, is_sure = choose(kept.entry.readings, self._seen_ids)
                if not is_sure and not self._is_requested(reading):
                    reading, _ = choose(
                        [option for option in kept.entry.readings if self._is_requested(option)], self._seen_ids
                    )
                if not self._is_requested(reading):
                    continue
                statement = self._made(kept.entry, kept.place, reading, kept.entry.is_doubtful or not is_sure)
            if kept.is_out_of_order:
                statement = msgspec.structs.replace(statement, is_doubtful=True)
            yield statement

    def _order_ms(self, entry: Entry) -> int:
        """Within a file the order of the lines counts, also in the hour in which clocks were set back."""
        if entry.is_out_of_order:
            return self._latest_ms or entry.time_ms
        if entry.time_ms > self._latest_ms or entry.time_ms < self._latest_ms - BACK_MAX_MS:
            self._latest_ms = entry.time_ms
        return self._latest_ms

    def _is_requested(self, reading: Reading) -> bool:
        if self._groups is None:
            return True
        if reading.rule.statement is GroupsDeleted:
            return any(group in reading.fields["text"] for group in self._groups)
        return not reading.groups or any(group in self._groups for group in reading.groups)

    def _made(self, entry: Entry, place: Place, reading: Reading, is_doubtful: bool) -> Statement:
        kind = cast(type[Statement], reading.rule.statement)
        fields: dict[str, Any] = reading.fields
        if reading.list_text is not None:
            members, is_sure = self._seen_ids.split(reading.list_text)
            fields = {**fields, "member_ids": members}
            is_doubtful = is_doubtful or not is_sure
            if "text" in kind.__struct_fields__ and "text" not in fields:
                fields["text"] = reading.list_text
        if entry.offsets_partition is not None:
            fields.setdefault("offsets_partition", entry.offsets_partition)
        return kind(place=place, is_doubtful=is_doubtful, is_zone_assumed=entry.is_zone_assumed, **self._shared(fields))

    def _shared(self, fields: dict[str, Any]) -> dict[str, Any]:
        """The same ids again and again are one text in memory."""
        if len(self._texts) > self._max:
            self._texts.clear()
        for name in ("group_id", "member_id", "protocol"):
            value = fields.get(name)
            if isinstance(value, str):
                fields[name] = self._texts.setdefault(value, value)
        return fields

    def _drop_oldest(self) -> None:
        self._kept.sort(key=lambda kept: kept.order)
        number = self._max // 4
        del self._kept[:number]
        self._dropped += number
        self._first_of_file = max(0, self._first_of_file - number)
