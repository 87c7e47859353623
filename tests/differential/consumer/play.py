"""Plays a history of consumer groups on two servers, one step after the other, and compares answers and states."""

import time
from collections.abc import Callable
from typing import Any, Final, Protocol

from tests.differential.consumer.side import ConsumerSide
from tests.differential.consumer.steps import ChangeTopic, ConsumerHistory, ConsumerStep, Outcome
from tests.differential.play import differing
from tests.differential.steps import Send

PATIENCE_SECONDS: Final = 2.0
"""How long one side may lag behind the other: what follows a request in the background."""
RESOLUTION_SECONDS: Final = 0.3
"""Much longer than a server takes to resolve a regular expression in the background."""
REGEX_SECONDS: Final = 8.0
"""A history with regular expressions is over after this time: 10 s after the last look a server looks again."""


class Story(Protocol):
    """Where the steps come from: a generator, or a history that is played again."""

    def next_step(self) -> ConsumerStep | None:
        """The next step; None at the end."""

    def heard(self, step: ConsumerStep, answer: Any) -> None:
        """The answer to the step, on both sides."""


class Retelling:
    """A history's steps once more."""

    def __init__(self, history: ConsumerHistory) -> None:
        self._steps = iter(history.steps)

    def next_step(self) -> ConsumerStep | None:
        return next(self._steps, None)

    def heard(self, step: ConsumerStep, answer: Any) -> None:
        """Nothing follows from it: the steps are what they are."""


def play(story: Story, sides: tuple[ConsumerSide, ConsumerSide], seed: int = 0) -> ConsumerHistory:
    """Play to the end, or to the first difference. `sides` are Kafka and this server, in this order."""
    history = ConsumerHistory(seed)
    resolved_since: float | None = None
    try:
        while (step := story.next_step()) is not None:
            if resolved_since is not None and time.monotonic() - resolved_since > REGEX_SECONDS:
                history.ended = "regular expressions are about to be looked at again"
                break
            history.steps.append(step)
            answers = _take(step, sides)
            if _has_regex(step):
                resolved_since = resolved_since or time.monotonic()
                time.sleep(RESOLUTION_SECONDS)
            states = _states(sides)
            for side in sides:
                side.step_done()
            found = differing(*answers) + differing(*states)
            if found:
                history.difference = f"step {len(history.steps)}: {'; '.join(found)}"
                break
            history.outcomes.append(Outcome(answers[0], states[0]))
            story.heard(step, answers[0])
    finally:
        for side in sides:
            side.leave()
    return history


def _take(step: ConsumerStep, sides: tuple[ConsumerSide, ConsumerSide]) -> tuple[Any, Any]:
    kafka, ours = sides
    if isinstance(step, ChangeTopic):
        place = kafka.change_topic(step)
        ours.change_topic(step, place)
        return place, place
    return kafka.ask(step), ours.ask(step)


def _has_regex(step: ConsumerStep) -> bool:
    return isinstance(step, Send) and bool(step.body.get("subscribed_topic_regex"))


def _states(sides: tuple[ConsumerSide, ConsumerSide]) -> tuple[Any, Any]:
    """What both say of the groups, once they agree; the last of it if they don't for some time."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        states = sides[0].state(), sides[1].state()
        if states[0] == states[1] or time.monotonic() > deadline:
            return states
        time.sleep(0.05)


Meet = Callable[[], tuple[ConsumerSide, ConsumerSide]]
