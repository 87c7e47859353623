"""Histories in which each step leads to an answer and to a state that is asked for, as data.

Those of transactions and those of consumer groups are such; each has steps of its own beside those of all histories.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from tests.differential.steps import Send, step_from_json


class AnyStep(Protocol):
    """A step of a history."""

    def as_json(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Restart:
    """Both servers are killed or stopped, and started again. `last` is sent, and answered, at the last moment."""

    how: str
    """kill or stop."""
    last: Send | None = None

    def as_json(self) -> dict[str, Any]:
        return {"restart": self.how, "last": self.last and self.last.as_json()}


def restart_from_json(written: dict[str, Any]) -> Restart:
    last = written["last"] and step_from_json(written["last"])
    assert last is None or isinstance(last, Send), last
    return Restart(written["restart"], last)


@dataclass
class Outcome:
    """The answer to the request of a step, and the state of the server after it (`STATE` of its side)."""

    answer: Any
    state: dict[str, Any]


S = TypeVar("S", bound=AnyStep)


@dataclass
class StatefulHistory(Generic[S]):
    """Steps with what they led to. `ended` says why there are no more of them, `difference` what differed.

    `attempts`: how often it was begun, the last time included, because it went too slowly to prove anything.
    """

    seed: int
    steps: list[S] = field(default_factory=list)
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


def read_record(line: str, step_of: Callable[[dict[str, Any]], S]) -> StatefulHistory[S]:
    """What `StatefulHistory.recorded` wrote; `step_of` reads a step."""
    record = json.loads(line)
    history = StatefulHistory[S](record["seed"])
    state: dict[str, Any] = {}
    for each in record["steps"]:
        state = state if each["state"] is None else each["state"]
        history.steps.append(step_of(each["step"]))
        history.outcomes.append(Outcome(each["answer"], state))
    return history


def read_text(text: str, step_of: Callable[[dict[str, Any]], S]) -> StatefulHistory[S]:
    """What `StatefulHistory.text` wrote; `step_of` reads a step."""
    head, *steps = (json.loads(line) for line in text.splitlines() if line.strip())
    return StatefulHistory[S](head["seed"], [step_of(step) for step in steps])
