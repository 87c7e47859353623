"""Histories with transactions as data."""

from typing import Any, TypeAlias

from tests.differential.stateful import Restart, StatefulHistory, read_record, read_text, restart_from_json
from tests.differential.steps import Rest, Send, step_from_json

TransactionStep: TypeAlias = Send | Rest | Restart
TransactionHistory: TypeAlias = StatefulHistory[TransactionStep]


def transaction_step_from_json(written: dict[str, Any]) -> TransactionStep:
    if "restart" in written:
        return restart_from_json(written)
    step = step_from_json(written)
    assert isinstance(step, Send | Rest), step
    return step


def step_label(step: TransactionStep) -> str | None:
    """The label of the request that is sent in a step; None if there is none."""
    sent = step.last if isinstance(step, Restart) else step
    return sent.label if isinstance(sent, Send) else None


def history_from_record(line: str) -> TransactionHistory:
    """What `recorded` of a history wrote."""
    return read_record(line, transaction_step_from_json)


def history_from_text(text: str) -> TransactionHistory:
    """What `text` of a history wrote."""
    return read_text(text, transaction_step_from_json)
