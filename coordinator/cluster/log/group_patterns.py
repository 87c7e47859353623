"""Names and patterns of groups, as rules have them: * stands for any characters and ? for one.

They are matched against what any client sends, in time that is linear in its length: between two * there is text of a
fixed length, and the first place where it fits is as good as any later one. So nothing is tried twice, as it is by a
regular expression of Python for the whole pattern.
"""

import re
from collections.abc import Callable
from typing import Final

WILDCARDS: Final = frozenset("*?")
NAME_CHARACTERS_MAX: Final = 1_000
"""Of a name or pattern in a rule, and of a group that a rule is about: one with a longer id stays with the cluster."""


def is_pattern(text: str) -> bool:
    """Whether it is not the name of a single group."""
    return not WILDCARDS.isdisjoint(text)


class GroupPattern:
    """A name or pattern."""

    __slots__ = ("_end", "_middle", "_shortest", "_start")

    def __init__(self, text: str) -> None:
        pieces = text.split("*")
        self._start = _Piece(pieces[0])
        self._middle = [_Piece(piece) for piece in pieces[1:-1] if piece]
        self._end = _Piece(pieces[-1]) if len(pieces) > 1 else None
        self._shortest = sum(map(len, pieces))

    def matches(self, group_id: str) -> bool:
        """Whether it is about the group."""
        size = len(group_id)
        if self._end is None:
            return size == self._shortest and self._start.find(group_id, 0, size) == 0
        if size < self._shortest:
            return False
        at, until = self._start.size, size - self._end.size
        if self._start.find(group_id, 0, at) < 0 or self._end.find(group_id, until, size) < 0:
            return False
        for piece in self._middle:
            found = piece.find(group_id, at, until)
            if found < 0:
                return False
            at = found + piece.size
        return True


class _Piece:
    """What is between two *: text of a fixed length."""

    __slots__ = ("find", "size")

    find: Callable[[str, int, int], int]
    """(text, start, end) → where it is first; below 0 if it is not there."""

    def __init__(self, text: str) -> None:
        self.size = len(text)
        if "?" not in text:
            self.find = lambda name, start, end: name.find(text, start, end)
            return
        search = re.compile(
            "".join("." if character == "?" else re.escape(character) for character in text), re.DOTALL
        ).search

        def find(name: str, start: int, end: int) -> int:
            found = search(name, start, end)
            return -1 if found is None else found.start()

        self.find = find
