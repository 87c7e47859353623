"""A history is played on Kafka and on this server, step by step, and what they tell is compared."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Protocol

from coordinator.client.wire import ClientError
from tests.differential.share_groups.generate import SHORT_LOCK_MS
from tests.differential.share_groups.known import defect_of
from tests.differential.share_groups.side import ShareSide
from tests.differential.share_groups.steps import ShareHistory, Step

PATIENCE_SECONDS: Final = 3
PAUSE_SECONDS: Final = 0.04
SESSION_SECONDS: Final = 38
"""A member that sends nothing for longer may be removed on one side first."""
LOCK_MARGIN_SECONDS: Final = 0.25
TOO_SLOW: Final = "too slow for its timeouts"


class Story(Protocol):
    """Where the steps come from."""

    def next_step(self) -> Step | None: ...

    def heard(self, step: Step, answer: Any) -> None: ...


class Retelling:
    """The steps of a history that was played before."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = list(steps)

    def next_step(self) -> Step | None:
        return self._steps.pop(0) if self._steps else None

    def heard(self, step: Step, answer: Any) -> None:
        """It goes on as it did."""


class SharePlayer:
    """One playing of one history; `sides` are Kafka and this server, in this order."""

    def __init__(self, sides: tuple[ShareSide, ShareSide]) -> None:
        self._sides = sides
        self._began = time.monotonic()
        self._locks_end = False
        self._locked_since: float | None = None

    def play(self, story: Story, seed: int) -> ShareHistory:
        """Play to the end, or to the first difference."""
        history = ShareHistory(seed)
        with ThreadPoolExecutor(2) as pool:
            while not history.ended and not history.difference and (step := story.next_step()) is not None:
                history.steps.append(step)
                history.ended = self._too_slow(step)
                if not history.ended:
                    self._take(pool, history, step, story)
        for side in self._sides:
            side.close()
        return history

    def _take(self, pool: ThreadPoolExecutor, history: ShareHistory, step: Step, story: Story) -> None:
        try:
            answers = list(pool.map(lambda side: side.take(step), self._sides))
            states = self._states(pool)
        except ClientError as problem:
            history.difference = f"step {len(history.steps)}: {problem}"
            return
        self._follow(step, answers[0])
        found = differing("answer", *answers) + differing("state", *states)
        if found:
            slow = self._too_slow(step)
            history.ended = slow or defect_of(step, answers[0], history.steps, found)
            history.difference = "" if history.ended else f"step {len(history.steps)}: {'; '.join(found)}"
            return
        history.answers.append(answers[0])
        story.heard(step, answers[0])

    def _follow(self, step: Step, answer: Any) -> None:
        """Note when the first of the locks began that may end."""
        if step.kind == "wait":
            self._locked_since = None
        elif step.kind == "configure" and step.arguments["name"] == "share.record.lock.duration.ms":
            self._locks_end = True
        elif step.kind == "fetch" and any(each["acquired"] for each in answer["places"].values()):
            self._locked_since = self._locked_since or time.monotonic()

    def _too_slow(self, step: Step) -> str:
        now = time.monotonic()
        if now - self._began > SESSION_SECONDS:
            return TOO_SLOW
        if step.kind == "wait" or not self._locks_end or self._locked_since is None:
            return ""
        return TOO_SLOW if now - self._locked_since > SHORT_LOCK_MS / 1000 - LOCK_MARGIN_SECONDS else ""

    def _states(self, pool: ThreadPoolExecutor) -> list[Any]:
        """What both tell once they agree; the last of it if they don't for some time."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            states = list(pool.map(lambda side: side.state(), self._sides))
            if states[0] == states[1] or time.monotonic() > deadline:
                return states
            time.sleep(PAUSE_SECONDS)


def differing(what: str, kafka: Any, ours: Any) -> list[str]:
    """Where they differ: `what: Kafka's ≠ ours`."""
    if isinstance(kafka, dict) and isinstance(ours, dict):
        keys = sorted(kafka.keys() | ours.keys(), key=str)
        return [each for key in keys for each in differing(f"{what}.{key}", kafka.get(key), ours.get(key))]
    return [] if kafka == ours else [f"{what}: {kafka} ≠ {ours}"]
