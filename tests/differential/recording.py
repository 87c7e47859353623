"""Histories kept with Kafka's answers, so that our server can be compared with them where no Kafka runs."""

import gzip
from collections.abc import Iterable, Sequence
from itertools import cycle, pairwise
from pathlib import Path
from typing import Final

from tests.differential.report import Coverage
from tests.differential.steps import History, Pause, Rest, history_from_record

RECORDED: Final = Path(__file__).parent / "recorded" / "histories.jsonl.gz"
RESTS_AT_MOST: Final = 1
"""A rest takes five seconds or more, and a test should not."""


def choose(histories: Iterable[History], number: int) -> list[History]:
    """Some that agree and are soon played, of each profile, with a rest and without.

    Each next one of a kind is that which shows most that those chosen before it do not.
    """
    kinds: dict[tuple[str, int], list[tuple[History, set[object]]]] = {}
    for history in histories:
        rests = sum(isinstance(step, Rest) for step in history.steps)
        if not history.difference and not history.ended and rests <= RESTS_AT_MOST:
            kinds.setdefault((history.profile, rests), []).append((history, features(history)))
    chosen: list[History] = []
    seen: set[object] = set()
    for kind in cycle(list(kinds)):
        if len(chosen) == number or not any(kinds.values()):
            break
        if kinds[kind]:
            best = max(kinds[kind], key=lambda each: len(each[1] - seen))
            kinds[kind].remove(best)
            chosen.append(best[0])
            seen |= best[1]
    return chosen


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
