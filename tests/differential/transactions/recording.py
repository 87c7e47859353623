"""Histories with transactions kept with Kafka's answers, so that our server can be compared where no Kafka runs."""

import gzip
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from _wire.errors import ErrorCode
from tests.differential.stateful import Restart
from tests.differential.steps import Rest, Send
from tests.differential.transactions.steps import TransactionHistory, history_from_record

RECORDED: Final = Path(__file__).parent.parent / "recorded" / "transactions.jsonl.gz"
WITH_RESTART: Final = 3
"""So many of the histories that are kept restart the servers at most."""


def choose(histories: Iterable[TransactionHistory], number: int) -> list[TransactionHistory]:
    """Some that agree and have no rest. Each next one is that which shows most that those before it do not."""
    left = [
        (history, features(history))
        for history in histories
        if not history.difference and not history.ended and not any(isinstance(step, Rest) for step in history.steps)
    ]
    chosen: list[TransactionHistory] = []
    seen: set[object] = set()
    while left and len(chosen) < number:
        best = max(left, key=lambda each: len(each[1] - seen))
        left.remove(best)
        chosen.append(best[0])
        seen |= best[1]
        if sum(map(restarts, chosen)) >= WITH_RESTART:
            left = [each for each in left if not restarts(each[0])]
    return chosen


def restarts(history: TransactionHistory) -> bool:
    return any(isinstance(step, Restart) for step in history.steps)


def features(history: TransactionHistory) -> set[object]:
    """What a history shows: APIs by version with their errors, and the states of transactions."""
    shown: set[object] = set()
    for step, outcome in zip(history.steps, history.outcomes, strict=False):
        sent = step.last if isinstance(step, Restart) else step
        if isinstance(sent, Send):
            shown |= {(sent.api, sent.version, error) for error in errors(outcome.answer)}
        transactions = outcome.state["transactions"]["transaction_states"]
        shown |= {(type(step), transaction["transaction_state"]) for transaction in transactions}
    return shown


def errors(answer: Any) -> Iterator[str]:
    """The names of the error codes in an answer."""
    if isinstance(answer, list):
        for element in answer:
            yield from errors(element)
    elif isinstance(answer, dict):
        for name, said in answer.items():
            if name.endswith("error_code"):
                yield ErrorCode(said).name
            else:
                yield from errors(said)


def write(histories: Sequence[TransactionHistory]) -> None:
    text = "".join(f"{history.recorded()}\n" for history in histories)
    RECORDED.write_bytes(gzip.compress(text.encode(), mtime=0))


def read() -> list[TransactionHistory]:
    """All that are kept."""
    with gzip.open(RECORDED, "rt", encoding="utf-8") as lines:
        return [history_from_record(line) for line in lines]
