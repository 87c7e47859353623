"""Histories of consumer groups as data, and the steps that only they have."""

from dataclasses import dataclass
from typing import Any, TypeAlias

from tests.differential.stateful import Restart, StatefulHistory, read_record, read_text, restart_from_json
from tests.differential.steps import Send, step_from_json


@dataclass(frozen=True)
class ChangeTopic:
    """A topic gets so many partitions: it is created, or grows, or is deleted with 0."""

    topic: str
    partitions: int

    def as_json(self) -> dict[str, Any]:
        return {"topic": self.topic, "partitions": self.partitions}


@dataclass(frozen=True)
class Wait:
    """Time passes: short timeouts run out, or regular expressions are old enough to be looked at again."""

    ms: int

    def as_json(self) -> dict[str, Any]:
        return {"wait": self.ms}


ConsumerStep: TypeAlias = Send | ChangeTopic | Wait | Restart
ConsumerHistory: TypeAlias = StatefulHistory[ConsumerStep]


def consumer_step_from_json(written: dict[str, Any]) -> ConsumerStep:
    if "topic" in written:
        return ChangeTopic(written["topic"], written["partitions"])
    if "wait" in written:
        return Wait(written["wait"])
    if "restart" in written:
        return restart_from_json(written)
    step = step_from_json(written)
    assert isinstance(step, Send), step
    return step


def history_from_record(line: str) -> ConsumerHistory:
    """What `recorded` of a history wrote."""
    return read_record(line, consumer_step_from_json)


def history_from_text(text: str) -> ConsumerHistory:
    """What `text` of a history wrote."""
    return read_text(text, consumer_step_from_json)
