"""Histories of consumer groups as data, and the step that only they have."""

import json
from dataclasses import dataclass, field
from typing import Any

from tests.differential.steps import Send, step_from_json


@dataclass(frozen=True)
class ChangeTopic:
    """A topic gets so many partitions: it is created, or grows, or is deleted with 0."""

    topic: str
    partitions: int

    def as_json(self) -> dict[str, Any]:
        return {"topic": self.topic, "partitions": self.partitions}


ConsumerStep = Send | ChangeTopic


def consumer_step_from_json(written: dict[str, Any]) -> ConsumerStep:
    if "topic" in written:
        return ChangeTopic(written["topic"], written["partitions"])
    step = step_from_json(written)
    assert isinstance(step, Send), step
    return step


@dataclass
class Outcome:
    """The answer to the request of a step, and what the server says of the history's groups after it."""

    answer: Any
    state: dict[str, Any]


@dataclass
class ConsumerHistory:
    """Steps with what they led to. `ended` says why there are no more of them, `difference` what differed."""

    seed: int
    steps: list[ConsumerStep] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    ended: str = ""
    difference: str = ""

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


def history_from_record(line: str) -> ConsumerHistory:
    """What `ConsumerHistory.recorded` wrote."""
    record = json.loads(line)
    history = ConsumerHistory(record["seed"])
    state: dict[str, Any] = {}
    for each in record["steps"]:
        state = state if each["state"] is None else each["state"]
        history.steps.append(consumer_step_from_json(each["step"]))
        history.outcomes.append(Outcome(each["answer"], state))
    return history


def history_from_text(text: str) -> ConsumerHistory:
    """What `ConsumerHistory.text` wrote."""
    head, *steps = (json.loads(line) for line in text.splitlines() if line.strip())
    return ConsumerHistory(head["seed"], [consumer_step_from_json(step) for step in steps])
