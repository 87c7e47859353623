"""Histories of consumer groups kept with Kafka's answers, so that our server is compared where no Kafka runs."""

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.differential.consumer.steps import ChangeTopic, ConsumerHistory, Wait, history_from_record
from tests.differential.stateful import Restart
from tests.differential.steps import Send
from tests.differential.transactions.recording import errors

RECORDED: Final = Path(__file__).parents[1] / "recorded" / "consumer.jsonl.gz"


def choose(histories: Sequence[ConsumerHistory], number: int) -> list[ConsumerHistory]:
    """Some that agree, and take no time; each next one is that which shows most that those chosen before it do not."""
    left = [
        (history, features(history))
        for history in histories
        if not history.difference
        and not history.ended
        and not any(isinstance(step, Wait | Restart) for step in history.steps)
    ]
    chosen: list[ConsumerHistory] = []
    seen: set[object] = set()
    while left and len(chosen) < number:
        best = max(left, key=lambda each: len(each[1] - seen))
        left.remove(best)
        chosen.append(best[0])
        seen |= best[1]
    return chosen


def features(history: ConsumerHistory) -> set[object]:
    """What a history shows: errors by API and version, states of groups, and changes of topics."""
    found: set[object] = set()
    for step, outcome in zip(history.steps, history.outcomes, strict=True):
        state = outcome.state["groups"]["groups"][0]["group_state"]
        if isinstance(step, ChangeTopic):
            found.add((state, step.topic, step.partitions == 0))
        elif isinstance(step, Send):
            found |= {(step.api, step.version, state, *errors(outcome.answer))}
    return found


def write(histories: Sequence[ConsumerHistory]) -> None:
    text = "".join(f"{history.recorded()}\n" for history in histories)
    RECORDED.write_bytes(gzip.compress(text.encode(), mtime=0))


def read() -> list[ConsumerHistory]:
    """All that are kept."""
    with gzip.open(RECORDED, "rt", encoding="utf-8") as lines:
        return [history_from_record(line) for line in lines]
