"""Plays a history of consumer groups on two servers, one step after the other, and compares answers and states."""

import time
from collections.abc import Callable
from typing import Any, Final, Protocol

from _wire.errors import ErrorCode
from tests.differential.consumer.known import defect_of
from tests.differential.consumer.side import ConsumerSide
from tests.differential.consumer.steps import ChangeTopic, ConsumerHistory, ConsumerStep, Wait
from tests.differential.play import differing
from tests.differential.stateful import Outcome, Restart
from tests.differential.steps import Send

PATIENCE_SECONDS: Final = 5.0
"""How long one side may lag behind the other: what follows a request in the background."""
RESOLUTION_SECONDS: Final = 0.3
"""Much longer than a server takes to resolve a regular expression in the background."""
REGEX_SECONDS: Final = 8.0
"""A history with regular expressions is over after this time: 10 s after the last look a server looks again."""
CONFIG_SECONDS: Final = 0.3
"""Much longer than a server takes to know a config that was changed."""
SHORT_MS: Final = 3_000
"""A timeout that runs out in a Wait of AFTER_SHORT_MS, and nowhere else."""
AFTER_SHORT_MS: Final = 4_500
HURRY_SECONDS: Final = SHORT_MS / 1000 - 0.5
"""With short timeouts, the steps between two Waits take no longer than this."""
LOOK_AGAIN_MS: Final = 10_500
"""After a Wait of this time, regular expressions are looked at again if there is a reason."""
LOOKS: Final = frozenset({"ConsumerGroupHeartbeat", "JoinGroup"})
"""The requests in which a server may look at regular expressions."""


class Story(Protocol):
    """Where the steps come from: a generator, or a history that is played again."""

    hurries: bool
    """Whether there are short timeouts."""

    def next_step(self) -> ConsumerStep | None:
        """The next step; None at the end."""

    def heard(self, step: ConsumerStep, answer: Any) -> None:
        """The answer to the step, on both sides."""


class Retelling:
    """A history's steps once more."""

    def __init__(self, history: ConsumerHistory) -> None:
        self.hurries = Wait(AFTER_SHORT_MS) in history.steps
        self._steps = iter(history.steps)

    def next_step(self) -> ConsumerStep | None:
        return next(self._steps, None)

    def heard(self, step: ConsumerStep, answer: Any) -> None:
        """Nothing follows from it: the steps are what they are."""


LOOKED_AT_AGAIN: Final = "regular expressions are about to be looked at again"
SLOW_FOR_TIMEOUTS: Final = "too slow for short timeouts"
TOO_SLOW: Final = (LOOKED_AT_AGAIN, SLOW_FOR_TIMEOUTS)
"""Why a history ended whose playing took too long: it says nothing of the servers."""


class Ended(Exception):
    """The history cannot go on; the message says why."""


def cannot_restart(how: str) -> None:
    raise AssertionError("these servers cannot be restarted")


class ConsumerPlayer:
    """One playing of one history."""

    def __init__(
        self, sides: tuple[ConsumerSide, ConsumerSide], restart: Callable[[str], None] = cannot_restart
    ) -> None:
        """`sides` are Kafka and this server, in this order. `restart` restarts both."""
        self._sides = sides
        self._restart = restart
        self._resolved_since: float | None = None
        self._looks_again = False
        self._hurries = False
        self._hurry_until = float("inf")

    def play(self, story: Story, seed: int = 0) -> ConsumerHistory:
        """Play to the end, or to the first difference."""
        history = ConsumerHistory(seed)
        self._hurries = story.hurries
        defects: set[str] = set()
        try:
            while not history.difference and (step := story.next_step()) is not None:
                self._check_time()
                defects.add(defect_of(step, history.outcomes[-1].state if history.outcomes else None))
                history.steps.append(step)
                answers = self._take(step)
                states = self._states()
                for side in self._sides:
                    side.step_done()
                found = differing(*answers) + differing(*states)
                if found and (known := sorted(defects - {""})):
                    raise Ended(", or ".join(known))
                if found:
                    history.difference = f"step {len(history.steps)}: {'; '.join(found)}"
                else:
                    history.outcomes.append(Outcome(answers[0], states[0]))
                    story.heard(step, answers[0])
        except Ended as ended:
            history.ended = str(ended)
        finally:
            for side in self._sides:
                side.leave()
        return history

    def _check_time(self) -> None:
        now = time.monotonic()
        if self._resolved_since is not None and now - self._resolved_since > REGEX_SECONDS:
            raise Ended(LOOKED_AT_AGAIN)
        if now > self._hurry_until:
            raise Ended(SLOW_FOR_TIMEOUTS)

    def _take(self, step: ConsumerStep) -> tuple[Any, Any]:
        kafka, ours = self._sides
        match step:
            case ChangeTopic():
                place = kafka.change_topic(step)
                ours.change_topic(step, place)
                return place, place
            case Wait():
                self._wait(step.ms)
                return None, None
            case Restart():
                for side in self._sides:
                    side.leave()
                self._restart(step.how)
                return None, None
        self._begin_to_hurry()
        answers = kafka.ask(step), ours.ask(step)
        self._let_follow(step, answers[0])
        return answers

    def _begin_to_hurry(self) -> None:
        """The time begins with the first request after a Wait: no timer began before it."""
        if self._hurries and self._hurry_until == float("inf"):
            self._hurry_until = time.monotonic() + HURRY_SECONDS

    def _wait(self, ms: int) -> None:
        time.sleep(ms / 1000)
        self._hurry_until = float("inf")
        if ms >= LOOK_AGAIN_MS and self._resolved_since is not None:
            self._resolved_since, self._looks_again = None, True

    def _let_follow(self, step: Send, answer: Any) -> None:
        """Wait for what a request leads to in the background."""
        if step.api == "IncrementalAlterConfigs":
            time.sleep(CONFIG_SECONDS)
        if step.body.get("subscribed_topic_regex") or (self._looks_again and step.api in LOOKS):
            is_taken = isinstance(answer, dict) and answer.get("error_code") == ErrorCode.NONE
            self._looks_again = self._looks_again and not is_taken
            if not self._looks_again:
                self._resolved_since = self._resolved_since or time.monotonic()
            time.sleep(RESOLUTION_SECONDS)

    def _states(self) -> tuple[Any, Any]:
        """What both say of the groups, once they agree; the last of it if they don't for some time."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            states = self._sides[0].state(), self._sides[1].state()
            if states[0] == states[1] and not _is_ending(states[0]):
                return states
            if time.monotonic() > deadline:
                return states
            time.sleep(0.05)


def _is_ending(state: dict[str, Any]) -> bool:
    """Whether markers of a transaction are being written."""
    transactions = state["transactions"]["transaction_states"]
    return any(transaction["transaction_state"].startswith("Prepare") for transaction in transactions)
