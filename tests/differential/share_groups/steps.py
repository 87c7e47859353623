"""What a history of a share group consists of."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Place = tuple[str, int]
"""Topic and partition."""


class Step(NamedTuple):
    """A request, or something else that is done to both servers: `kind` is a method of `side.ShareSide`."""

    kind: str
    arguments: dict[str, Any]

    def text(self) -> str:
        return json.dumps([self.kind, self.arguments])


@dataclass
class ShareHistory:
    """The steps of a seed, and how it ended."""

    seed: int
    steps: list[Step] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)
    """Kafka's."""
    difference: str = ""
    ended: str = ""
    """Why it ended early."""

    def text(self) -> str:
        lines = [f"# seed {self.seed}", *(step.text() for step in self.steps)]
        return "".join(f"{line}\n" for line in lines)


def steps_from_text(lines: Iterable[str]) -> list[Step]:
    """The steps of a history as it was printed."""
    return [Step(*json.loads(line)) for line in lines if line.startswith("[")]


def place_of(text: str) -> Place:
    """The place that `place_text` wrote."""
    topic, _, partition = text.rpartition(":")
    return topic, int(partition)


def place_text(place: Place) -> str:
    return f"{place[0]}:{place[1]}"
