"""A line's message as a template: literal text with fields, and all the ways in which a message can be read by it.

Brokers escape nothing, so an id may have in it what separates it from the next field. A message is therefore not split
at the first match: every reading is made, and `choosing.py` decides between them by the ids that are known.
"""

import re
from collections.abc import Iterator
from enum import Enum
from string import Formatter
from typing import Final

READINGS_MAX: Final = 64
STEPS_MAX: Final = 2_000
"""Texts that can be read in more ways are made to be so. What is found by then is doubtful."""

Values = dict[str, str]
"""Field → its text in the message."""


class Kind(Enum):
    """What a field may hold. The pattern, if there is one, decides where the field ends."""

    TEXT = None
    GROUP = None, "group"
    MEMBER = None, "member"
    MEMBERS = None, "members"
    INSTANCE = None, "instance"
    SCALA_INSTANCE = re.compile(r"None|Some\(.*\)", re.DOTALL)
    """`Some(ID)` or `None`."""
    JAVA_INSTANCE = re.compile(r"null|.+", re.DOTALL)
    """The id, or `null`."""
    SET = re.compile(r"(?:Set|HashSet)\(.*\)|\[.*\]", re.DOTALL)
    INTEGER = re.compile(r"-?\d+")
    STATE = re.compile(r"Empty|PreparingRebalance|CompletingRebalance|Stable|Dead|Assigning|Reconciling")
    WORD = re.compile(r"[^\s,()\[\]]*")
    HOST = re.compile(r"[\w.:%/-]*")

    @property
    def pattern(self) -> re.Pattern[str] | None:
        found = self.value
        return found if isinstance(found, re.Pattern) else None


_NUMBERS: Final = (
    "offsets_partition",
    "generation_before",
    "generation_id",
    "epoch",
    "leader_epoch",
    "members",
    "static_members",
    "offsets",
    "took_ms",
    "timeout_ms",
    "session_timeout_ms",
    "rebalance_timeout_ms",
    "metadata_hash",
    "topics",
    "interval_ms",
    "exceeded_ms",
    "number",
)

KINDS: Final = {
    "group_id": Kind.GROUP,
    "member_id": Kind.MEMBER,
    "old_member_id": Kind.MEMBER,
    "leader": Kind.MEMBER,
    "new_leader": Kind.MEMBER,
    "holder": Kind.MEMBER,
    "member_ids": Kind.MEMBERS,
    "group_instance_id": Kind.INSTANCE,
    **dict.fromkeys(_NUMBERS, Kind.INTEGER),
    "state": Kind.STATE,
    "state_during": Kind.STATE,
    "protocol": Kind.WORD,
    "group_type": Kind.WORD,
    "operation": Kind.WORD,
    "word": Kind.WORD,
    "client_host": Kind.HOST,
}
"""Field → its kind, unless the template names another one after a colon. Other fields are text."""

_EXACT: Final = (Kind.INTEGER, Kind.STATE, Kind.WORD, Kind.HOST)
"""Kinds whose pattern itself says where the field ends."""


class TooManyReadings(Exception):
    """The message can be read in more ways than are worth making."""


class Template:
    """Literal text with `{field}` or `{field:kind}` between."""

    __slots__ = ("_between", "_fields", "_first", "_last", "_literals", "_names", "_patterns", "kinds", "probe", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.kinds: dict[str, Kind] = {}
        self._literals: list[str] = []
        self._fields: list[tuple[str, re.Pattern[str] | None, bool]] = []
        """Name, pattern, and whether the pattern says where the field ends."""
        pending = ""
        for literal, name, kind_name, _ in Formatter().parse(text):
            pending += literal
            if name is None:
                continue
            kind = Kind[kind_name.upper().replace("-", "_")] if kind_name else KINDS.get(name, Kind.TEXT)
            self.kinds[name] = kind
            self._literals.append(pending)
            self._fields.append((name, kind.pattern, kind in _EXACT))
            pending = ""
        self._literals.append(pending)
        self._first, self._last = self._literals[0], self._literals[-1]
        self._names = tuple(self.kinds)
        self._between = self._literals[1:-1]
        self.probe = max(self._literals, key=len)
        """The longest literal: without it no reading is worth trying."""
        self._patterns = [pattern for _, pattern, _ in self._fields]

    @property
    def first(self) -> str:
        """The literal text at the beginning."""
        return self._first

    @property
    def last(self) -> str:
        """The literal text at the end."""
        return self._last

    def readings(self, text: str) -> list[Values]:
        """All the ways to read the whole text. Raises TooManyReadings."""
        if not self._fields:
            return [{}] if text == self._first else []
        if not text.endswith(self._last) or not text.startswith(self._first):
            return []
        start, end = len(self._first), len(text) - len(self._last)
        stops = self._only_stops(text, start, end)
        if stops is not None:
            return self._only_reading(text, start, stops)
        found: list[Values] = []
        self._extend(text, 0, start, end, {}, found, [STEPS_MAX])
        return found

    def _only_stops(self, text: str, start: int, end: int) -> list[int] | None:
        """Where each field ends, if each literal between them has one place only; empty if there is no reading.

        No literal can be before the place where it is found from the left, nor after that from the right.
        """
        stops = []
        at = start
        for literal in self._between:
            at = text.find(literal, at, end)
            if at < 0:
                return []
            stops.append(at)
            at += len(literal)
        if at > end:
            return []
        right = end
        for literal, stop in zip(reversed(self._between), reversed(stops), strict=True):
            right = text.rfind(literal, start, right)
            if right != stop:
                return None
        stops.append(end)
        return stops

    def _only_reading(self, text: str, start: int, stops: list[int]) -> list[Values]:
        if not stops:
            return []
        values: Values = {}
        for name, pattern, literal, stop in zip(self._names, self._patterns, self._literals[1:], stops, strict=True):
            values[name] = value = text[start:stop]
            if pattern is not None and pattern.fullmatch(value) is None:
                return []
            start = stop + len(literal)
        return [values]

    def _extend(
        self, text: str, index: int, start: int, end: int, values: Values, found: list[Values], steps: list[int]
    ) -> None:
        """Read field `index` from `start` on in every way, and what follows it."""
        name, pattern, is_exact = self._fields[index]
        following = index + 1
        is_last = following == len(self._fields)
        for stop in self._ends(text, following, start, end, pattern if is_exact else None, is_last):
            steps[0] -= 1
            if steps[0] < 0 or len(found) >= READINGS_MAX:
                raise TooManyReadings(self.text)
            value = text[start:stop]
            if pattern is not None and not is_exact and pattern.fullmatch(value) is None:
                continue
            now = {**values, name: value}
            if is_last:
                found.append(now)
            else:
                self._extend(text, following, stop + len(self._literals[following]), end, now, found, steps)

    def _ends(
        self, text: str, following: int, start: int, end: int, exact: re.Pattern[str] | None, is_last: bool
    ) -> Iterator[int]:
        """Where the field may end: before its next literal, or at the end of the last one."""
        literal = self._literals[following]
        if exact is not None:
            match = exact.match(text, start, end)
            if match is not None:
                stop = match.end()
                if stop == end if is_last else text.startswith(literal, stop, end):
                    yield stop
        elif is_last:
            yield end
        else:
            at = text.find(literal, start, end)
            while at >= 0:
                yield at
                at = text.find(literal, at + 1, end)
