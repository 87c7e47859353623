"""Spans of time: when something was so."""

from collections.abc import Iterable
from typing import Final

FOREVER: Final = 1 << 62

Span = tuple[int, int]
"""From a time in ms, inclusive, to another one, exclusive; `FOREVER` is the end of what goes on."""


class Spans:
    """The times in which one thing was so, in order."""

    def __init__(self) -> None:
        self.all: list[Span] = []

    @property
    def is_on(self) -> bool:
        return bool(self.all) and self.all[-1][1] == FOREVER

    def begin(self, at_ms: int) -> None:
        if not self.is_on:
            self.all.append((at_ms, FOREVER))

    def end(self, at_ms: int) -> None:
        if self.is_on:
            self.all[-1] = self.all[-1][0], at_ms

    def add(self, from_ms: int, until_ms: int) -> None:
        self.all.append((from_ms, until_ms))

    def within(self, from_ms: int, until_ms: int) -> int:
        """For how many ms of a time it was so."""
        return sum(max(0, min(end, until_ms) - max(start, from_ms)) for start, end in self.all)

    def at(self, at_ms: int) -> bool:
        return any(start <= at_ms < end for start, end in self.all)


def without(spans: Iterable[Span], gaps: Iterable[Span]) -> list[Span]:
    """What is left of the spans outside of the gaps."""
    left = list(spans)
    for gap_start, gap_end in gaps:
        cut: list[Span] = []
        for start, end in left:
            if gap_end <= start or end <= gap_start:
                cut.append((start, end))
                continue
            if start < gap_start:
                cut.append((start, gap_start))
            if gap_end < end:
                cut.append((gap_end, end))
        left = cut
    return left


def last_before(spans: Iterable[Span], at_ms: int) -> int | None:
    """The last time at or before `at_ms` that lies in a span; None: there is none."""
    return max((min(end, at_ms) for start, end in spans if start <= at_ms), default=None)


def overlap(spans: Iterable[Span], from_ms: int, until_ms: int) -> int:
    return sum(max(0, min(end, until_ms) - max(start, from_ms)) for start, end in spans)
