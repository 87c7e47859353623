"""Regular expressions of clients, matched in time that grows with the length of the text and no faster.

Python's `re` may take exponential time. Here the expression, as `re` parses it, is played as a nondeterministic
automaton (Thompson's construction), as RE2 does, which Kafka uses (KIP-1152). What RE2 does not know either is
refused: references back and looking around.
"""

import re
import re._constants as op  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Callable, Iterable
from typing import Any, Final

from coordinator.broker.slices import Steps

PATTERN_LENGTH_MAX: Final = 1_000
STATES_MAX: Final = 1_000
"""More states than any expression that somebody writes by hand."""
STEPS_AT_ONCE: Final = 5_000

Test = Callable[[str], bool]
CATEGORIES: Final[dict[Any, Test]] = {
    op.CATEGORY_DIGIT: str.isdecimal,
    op.CATEGORY_NOT_DIGIT: lambda char: not char.isdecimal(),
    op.CATEGORY_SPACE: str.isspace,
    op.CATEGORY_NOT_SPACE: lambda char: not char.isspace(),
    op.CATEGORY_WORD: lambda char: char.isalnum() or char == "_",
    op.CATEGORY_NOT_WORD: lambda char: not (char.isalnum() or char == "_"),
}
BEGINNING: Final = frozenset({op.AT_BEGINNING, op.AT_BEGINNING_STRING})
END: Final = frozenset({op.AT_END, op.AT_END_STRING})


class InvalidPattern(ValueError):
    """No regular expression, or one that is not supported."""


class Pattern:
    """A regular expression that a whole text matches or does not."""

    def __init__(self, text: str) -> None:
        """Raises InvalidPattern."""
        if len(text) > PATTERN_LENGTH_MAX:
            raise InvalidPattern(f"more than {PATTERN_LENGTH_MAX} characters")
        try:
            parsed = parser.parse(text)
        except (re.error, RecursionError, OverflowError) as problem:
            raise InvalidPattern(str(problem)) from problem
        if parsed.state.flags & ~re.UNICODE:
            raise InvalidPattern("flags are not supported")
        self._tests: list[Test | None] = []
        """By state: what leads to the next one. None: nothing has to be read (see `_free`)."""
        self._next: list[tuple[int, ...]] = []
        self._at: dict[int, Any] = {}
        """States that are passed only at the beginning or the end of the text."""
        self._final = self._state(None)
        self._first = self._build(parsed, self._final)

    def _state(self, test: Test | None, *following: int) -> int:
        if len(self._tests) == STATES_MAX:
            raise InvalidPattern("too large")
        self._tests.append(test)
        self._next.append(following)
        return len(self._tests) - 1

    def _build(self, items: Iterable[tuple[Any, Any]], after: int) -> int:
        """Add the states of a sequence that goes on at `after`; return the first one."""
        for kind, value in reversed(list(items)):
            after = self._build_one(kind, value, after)
        return after

    def _build_one(self, kind: Any, value: Any, after: int) -> int:
        if kind is op.BRANCH:
            return self._state(None, *(self._build(branch, after) for branch in value[1]))
        if kind is op.SUBPATTERN and not value[1] and not value[2]:
            return self._build(value[3], after)
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            least, most, repeated = value
            return self._repeat(least, most, repeated, after)
        if kind is op.AT and value in BEGINNING | END:
            state = self._state(None, after)
            self._at[state] = value
            return state
        return self._state(_test(kind, value), after)

    def _repeat(self, least: int, most: int, items: Any, after: int) -> int:
        if most is op.MAXREPEAT:
            loop = self._state(None)
            self._next[loop] = (self._build(items, loop), after)
            after = loop
        else:
            if most > STATES_MAX:
                raise InvalidPattern("too large")
            end = after
            for _ in range(most - least):
                after = self._state(None, self._build(items, after), end)
        if least > STATES_MAX:
            raise InvalidPattern("too large")
        for _ in range(least):
            after = self._build(items, after)
        return after

    def fullmatch(self, text: str) -> Steps[bool]:
        """Whether the whole text matches, found in steps."""
        current = self._free({self._first}, 0, len(text))
        worked = 0
        for position, char in enumerate(text):
            worked += len(current) + 1
            if worked > STEPS_AT_ONCE:
                worked = 0
                yield
            following: set[int] = set()
            for state in current:
                test = self._tests[state]
                if test is not None and test(char):
                    following.update(self._next[state])
            if not following:
                return False
            current = self._free(following, position + 1, len(text))
        return self._final in current

    def _free(self, states: set[int], position: int, length: int) -> set[int]:
        """The states, and those that are reached from them without reading."""
        reached: set[int] = set()
        waiting = list(states)
        while waiting:
            state = waiting.pop()
            if state in reached:
                continue
            at = self._at.get(state)
            if (at in BEGINNING and position != 0) or (at in END and position != length):
                continue
            reached.add(state)
            if self._tests[state] is None:
                waiting.extend(self._next[state])
        return reached


def _test(kind: Any, value: Any) -> Test:
    """What a single character has to be."""
    if kind is op.LITERAL:
        literal = chr(value)
        return lambda char: char == literal
    if kind is op.NOT_LITERAL:
        literal = chr(value)
        return lambda char: char != literal
    if kind is op.ANY:
        return lambda char: char != "\n"
    if kind is op.CATEGORY:
        return CATEGORIES[value]
    if kind is op.RANGE:
        low, high = value
        return lambda char: low <= ord(char) <= high
    if kind is op.IN:
        negate = bool(value) and value[0][0] is op.NEGATE
        tests = [_test(*each) for each in value[1 if negate else 0 :]]
        return lambda char: any(test(char) for test in tests) != negate
    raise InvalidPattern(f"{str(kind).lower()} is not supported")
