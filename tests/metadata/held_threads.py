"""Disk threads that work when a test says so."""

from collections.abc import Callable, Sequence
from typing import cast

from coordinator.log.disk_threads import DiskThreads, Done, InLine


class HeldThreads:
    """What is begun waits for `end`; each round ends by itself, the oldest first."""

    def __init__(self) -> None:
        self.rounds: list[tuple[Sequence[Callable[[], None]], Done]] = []
        self.begun = 0
        """Rounds that were ever begun."""

    def run(self, work: Sequence[Callable[[], None]], done: Done) -> None:
        self.begun += 1
        self.rounds.append((work, done))

    def end(self, problem: Exception | None = None) -> None:
        """Let the oldest round do its work and report it; with a `problem` it fails instead."""
        work, done = self.rounds.pop(0)
        if problem is None:
            InLine().run(work, done)
        else:
            done(problem)

    def work(self) -> None:
        """Let the oldest round do its work, and not report it yet."""
        for each in self.rounds[0][0]:
            each()

    def end_all(self) -> None:
        while self.rounds:
            self.end()

    @property
    def as_threads(self) -> DiskThreads:
        return cast(DiskThreads, self)
