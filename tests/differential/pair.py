"""Kafka and our server under the same settings, and what is done with the two: play, confirm, shrink."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tests.differential.generate import MAX_SESSION_MS, METADATA_BYTES_MAX, MIN_SESSION_MS, Generator
from tests.differential.kafka import RunningKafka
from tests.differential.play import INITIAL_DELAY, INITIAL_DELAY_MS, STEPS_AT_ONE_TIME, Retelling, Story, play
from tests.differential.sides import LiveSide, Server, Side, new_prefix, prepare
from tests.differential.steps import History, Step
from tests.servers import QUICK_GROUPS, RunningServer

SETTINGS: Final = QUICK_GROUPS | {
    "group.min.session.timeout.ms": str(MIN_SESSION_MS),
    "group.max.session.timeout.ms": str(MAX_SESSION_MS),
    "offset.metadata.max.bytes": str(METADATA_BYTES_MAX),
}
PROFILES: Final[dict[str, dict[str, str]]] = {
    "default": {},
    INITIAL_DELAY: {"group.initial.rebalance.delay.ms": str(INITIAL_DELAY_MS)},
    "max-size": {"group.max.size": "2"},
}
"""Settings beside SETTINGS, by name."""

AT_ONE_TIME: Final = 96
"""Histories under way; most of them rest."""
CONFIRMATIONS: Final = 2
SHRINK_SECONDS: Final = 60
SHRUNK_AT_MOST: Final = 4
"""Histories of a run; where more differ, they mostly differ in the same."""


@dataclass(frozen=True)
class Pair:
    """Two servers, prepared, under the settings of a profile."""

    profile: str
    kafka: Server
    ours: Server

    @property
    def versions(self) -> Mapping[str, tuple[int, int]]:
        """What both serve."""
        both = self.kafka.versions.keys() & self.ours.versions.keys()
        ranges = {api: (self.kafka.versions[api], self.ours.versions[api]) for api in both}
        common = {api: (max(a[0], b[0]), min(a[1], b[1])) for api, (a, b) in ranges.items()}
        return {api: (first, last) for api, (first, last) in common.items() if first <= last}


@contextmanager
def running_pair(profile: str, folder: Path) -> Iterator[Pair]:
    """Start both and stop both. Raises KafkaMissing."""
    settings = SETTINGS | PROFILES[profile]
    for each in ("kafka", "ours"):
        (folder / each).mkdir(parents=True)
    with RunningKafka(folder / "kafka", settings) as kafka, RunningServer(folder / "ours", settings) as ours:
        yield Pair(profile, prepare("Kafka", kafka.bootstrap), prepare("our server", ours.bootstrap))


class Comparison:
    """Plays histories on a pair, many at a time."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        self._gate = asyncio.Semaphore(STEPS_AT_ONE_TIME)
        self._places = asyncio.Semaphore(AT_ONE_TIME)
        self._shrunk = 0

    async def random_histories(self, seeds: Sequence[int]) -> list[History]:
        """A history for each seed; one with a difference is the shortest that still shows it."""
        return await asyncio.gather(*(self._random_history(seed) for seed in seeds))

    async def _random_history(self, seed: int) -> History:
        history = await self._play(lambda: Generator(seed, self._pair.profile, self._pair.versions), seed)
        if not history.difference:
            return history
        for _ in range(CONFIRMATIONS):
            again = await self.retell(history)
            if again.difference:
                self._shrunk += 1
                return again if self._shrunk > SHRUNK_AT_MOST else await self._shrink(again)
        return replace(history, difference=f"in one of {1 + CONFIRMATIONS} playings: {history.difference}")

    async def retell(self, history: History) -> History:
        """The same steps once more, in groups of their own."""
        return await self._play(lambda: Retelling(history), history.seed)

    async def _play(self, tell: Callable[[], Story], seed: int) -> History:
        async with self._places:
            return await play(tell, self._meet, self._gate, seed)

    def _meet(self) -> tuple[Side, Side]:
        prefix = new_prefix()
        return LiveSide(self._pair.kafka, prefix), LiveSide(self._pair.ours, prefix)

    async def _shrink(self, history: History) -> History:
        """Leave out steps, first many and then one at a time, for as long as the sides still differ."""
        size = max(len(history.steps) // 2, 1)
        deadline = time.monotonic() + SHRINK_SECONDS
        while time.monotonic() < deadline:
            shorter = await self._first_that_differs(history, list(_without(history.steps, size)))
            if shorter is not None:
                history, size = shorter, max(min(size, len(shorter.steps) // 2), 1)
            elif size > 1:
                size //= 2
            else:
                break
        return history

    async def _first_that_differs(self, history: History, candidates: list[list[Step]]) -> History | None:
        played = await asyncio.gather(*(self.retell(replace(history, steps=steps)) for steps in candidates))
        return next((each for each in played if each.difference and _kind(each) == _kind(history)), None)


def _kind(history: History) -> str:
    """What differs, without the values; labels stay when steps are left out."""
    return history.difference.partition(":")[0]


def _without(steps: Sequence[Step], size: int) -> Iterator[list[Step]]:
    for start in range(0, len(steps), size):
        yield [*steps[:start], *steps[start + size :]]
