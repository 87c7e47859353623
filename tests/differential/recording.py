"""Histories kept with Kafka's answers, so that our server can be compared with them where no Kafka runs."""

import gzip
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from tests.differential.report import Coverage
from tests.differential.steps import History, Pause, Rest, history_from_record

RECORDED: Final = Path(__file__).parent / "recorded" / "histories.jsonl.gz"
RESTS_AT_MOST: Final = 2
"""A rest takes five seconds or more, and a test should not."""


def choose(histories: Iterable[History], number: int) -> list[History]:
    """Some that agree and are soon played, each next one that which shows most that the ones before it do not."""
    left = {id(history): (history, features(history)) for history in histories if _is_fit(history)}
    chosen: list[History] = []
    seen: set[object] = set()
    while left and len(chosen) < number:
        best, shown = max(left.values(), key=lambda each: len(each[1] - seen))
        chosen.append(best)
        seen |= shown
        del left[id(best)]
    return chosen


def _is_fit(history: History) -> bool:
    rests = sum(isinstance(step, Rest) for step in history.steps)
    return not history.difference and not history.ended and rests <= RESTS_AT_MOST


def features(history: History) -> set[object]:
    """What a history shows: answers and errors by API and version, states and their sequences, times that pass."""
    coverage = Coverage([history])
    states = ["-".join(group["group_state"] for group in outcome.groups) for outcome in history.outcomes]
    times = {(history.profile, type(step)) for step in history.steps if isinstance(step, Rest | Pause)}
    return {*coverage.answered, *coverage.errors, *pairwise(states), *times}


def write(histories: Sequence[History]) -> None:
    RECORDED.parent.mkdir(exist_ok=True)
    text = "".join(f"{history.recorded()}\n" for history in histories)
    RECORDED.write_bytes(gzip.compress(text.encode(), mtime=0))


def read() -> list[History]:
    """All that are kept."""
    with gzip.open(RECORDED, "rt", encoding="utf-8") as lines:
        return [history_from_record(line) for line in lines]
