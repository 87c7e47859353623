"""Histories with transactions as data, and the step that only they have."""

import json
from dataclasses import dataclass, field
from typing import Any

from tests.differential.steps import Rest, Send, step_from_json


@dataclass(frozen=True)
class Restart:
    """Both servers are killed or stopped, and started again. `last` is sent, and answered, at the last moment."""

    how: str
    """kill or stop."""
    last: Send | None

    def as_json(self) -> dict[str, Any]:
        return {"restart": self.how, "last": self.last and self.last.as_json()}


TransactionStep = Send | Rest | Restart


def transaction_step_from_json(written: dict[str, Any]) -> TransactionStep:
    if "restart" not in written:
        step = step_from_json(written)
        assert isinstance(step, Send | Rest), step
        return step
    last = written["last"] and step_from_json(written["last"])
    assert last is None or isinstance(last, Send), last
    return Restart(written["restart"], last)


def step_label(step: TransactionStep) -> str | None:
    """The label of the request that is sent in a step; None if there is none."""
    sent = step.last if isinstance(step, Restart) else step
    return sent.label if isinstance(sent, Send) else None


@dataclass
class Outcome:
    """The answer to the request of a step, and the state of the server after it (`side.STATE`)."""

    answer: Any
    state: dict[str, Any]


@dataclass
class TransactionHistory:
    """Steps with what they led to. `ended` says why there are no more of them, `difference` what differed.

    `attempts`: how often it was begun, the last time included, because it went too slowly to prove anything.
    """

    seed: int
    steps: list[TransactionStep] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    ended: str = ""
    difference: str = ""
    attempts: int = 1

    def text(self) -> str:
        """The steps, one a line, after a line that says where they come from."""
        return "\n".join(json.dumps(each) for each in ({"seed": self.seed}, *(step.as_json() for step in self.steps)))

    def recorded(self) -> str:
        """Steps and outcomes as one line of JSON. A state that is that of the step before is left out."""
        written, before = [], None
        for step, outcome in zip(self.steps, self.outcomes, strict=True):
            state = None if outcome.state == before else outcome.state
            written.append({"step": step.as_json(), "answer": outcome.answer, "state": state})
            before = outcome.state
        return json.dumps({"seed": self.seed, "steps": written})


def history_from_record(line: str) -> TransactionHistory:
    """What `TransactionHistory.recorded` wrote."""
    record = json.loads(line)
    history = TransactionHistory(record["seed"])
    state: dict[str, Any] = {}
    for each in record["steps"]:
        state = state if each["state"] is None else each["state"]
        history.steps.append(transaction_step_from_json(each["step"]))
        history.outcomes.append(Outcome(each["answer"], state))
    return history


def history_from_text(text: str) -> TransactionHistory:
    """What `TransactionHistory.text` wrote."""
    head, *steps = (json.loads(line) for line in text.splitlines() if line.strip())
    return TransactionHistory(head["seed"], [transaction_step_from_json(step) for step in steps])
