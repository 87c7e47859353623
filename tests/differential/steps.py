"""A history: steps as data, so that they can be kept, played again and shrunk.

Requests are written with names that hold on every server: a member id as `s3-1` (the first id handed out to client
`s3`, for each request says its label as client id; static members' ids begin with their instance id), a topic id as
the topic's name, bytes as 0x and hexadecimal digits.
"""

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Send:
    """A request on a connection, which is opened when it is first named. `label` is its client id too."""

    label: str
    connection: str
    api: str
    version: int
    body: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        return {
            "send": self.label,
            "on": self.connection,
            "api": self.api,
            "version": self.version,
            "body": self.body,
        }


@dataclass(frozen=True)
class Close:
    """The client closes a connection, whatever waits on it."""

    connection: str

    def as_json(self) -> dict[str, Any]:
        return {"close": self.connection}


@dataclass(frozen=True)
class Pause:
    """Some time passes, in which no timer may run out: the next steps can renew sessions."""

    def as_json(self) -> dict[str, Any]:
        return {"pause": True}


@dataclass(frozen=True)
class Rest:
    """Time passes until every short timeout has run out and nothing more happens."""

    def as_json(self) -> dict[str, Any]:
        return {"rest": True}


Step = Send | Close | Pause | Rest


def step_from_json(written: dict[str, Any]) -> Step:
    if "send" in written:
        return Send(written["send"], written["on"], written["api"], written["version"], written["body"])
    if "close" in written:
        return Close(written["close"])
    return Pause() if "pause" in written else Rest()


@dataclass
class Outcome:
    """What a step led to: answers by the label of their request, and what DescribeGroups says of the groups then."""

    answers: dict[str, Any]
    groups: list[Any]


@dataclass
class History:
    """Steps with what they led to. `ended` says why there are no more of them, `difference` what differed.

    `attempts`: how often it was begun, the last time included, because it went too slowly to prove anything.
    """

    profile: str
    seed: int
    steps: list[Step] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    ended: str = ""
    difference: str = ""
    attempts: int = 1

    def text(self) -> str:
        """The steps, one a line, after a line that says where they come from."""
        head = {"profile": self.profile, "seed": self.seed}
        return "\n".join(json.dumps(each) for each in (head, *(step.as_json() for step in self.steps)))

    def recorded(self) -> str:
        """Steps and outcomes as one line of JSON."""
        steps = [step.as_json() for step in self.steps]
        outcomes = [{"answers": outcome.answers, "groups": outcome.groups} for outcome in self.outcomes]
        return json.dumps({"profile": self.profile, "seed": self.seed, "steps": steps, "outcomes": outcomes})


def history_from_record(line: str) -> History:
    """What `History.recorded` wrote."""
    record = json.loads(line)
    outcomes = [Outcome(**outcome) for outcome in record["outcomes"]]
    return History(record["profile"], record["seed"], [step_from_json(step) for step in record["steps"]], outcomes)


def history_from_text(text: str) -> History:
    """What `History.text` wrote."""
    head, *steps = (json.loads(line) for line in text.splitlines() if line.strip())
    return History(head["profile"], head["seed"], [step_from_json(step) for step in steps])
