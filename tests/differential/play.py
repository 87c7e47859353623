"""Plays a history on two sides in step and compares: who is answered and who waits, each answer, each group."""

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol

from _wire.errors import ErrorCode
from tests.differential.sides import Side
from tests.differential.steps import History, Outcome, Pause, Rest, Send, Step

SHORT_SESSION_MS: Final = 2000
SHORT_REBALANCE_MS: Final = 4000
LONG_MS: Final = 600_000
"""A timeout is one of these, so that time decides nothing by chance: what may run out does so in a Rest, when nobody
asks anything, and what may not has minutes left."""
INITIAL_DELAY: Final = "initial-delay"
INITIAL_DELAY_MS: Final = 1000
"""The profile that has a `group.initial.rebalance.delay.ms`, and how long it is."""

BURST_SECONDS: Final = 0.4
"""Where timers are short, steps come in bursts no longer than this, with a Pause or a Rest between them."""
PAUSE_SECONDS: Final = 1.3
"""Two of them are longer than SHORT_SESSION_MS, one and a burst are shorter, by 300 ms or more either way."""
REST_SECONDS: Final = SHORT_REBALANCE_MS / 1000 + 0.8
"""Nothing has happened for so long: no short timer is left, for each of them would have run out."""
RESTLESS_SECONDS: Final = 60
LOOK_AGAIN_SECONDS: Final = 0.5
PATIENCE_SECONDS: Final = 1.0
"""How long one side may lag behind the other; no longer than any timeout, so that it cannot hide one."""
ATTEMPTS: Final = 6
STEPS_AT_ONE_TIME: Final = 3
"""Histories that take steps at the same moment."""


class Difference(Exception):
    """The sides do not agree; the message says on what."""


class Ended(Exception):
    """From here on the sides may rightly differ, so the history is over."""


class TooSlow(Exception):
    """A burst of steps took so long that a timer may have run out in it: the history proves nothing."""


class Story(Protocol):
    """Where the steps come from: a generator, or a history that is played again."""

    profile: str
    hurries: bool
    """Whether timeouts are short, so that time counts."""

    def next_step(self) -> Step | None:
        """The next step; None at the end."""

    def heard(self, step: Step, outcome: Outcome) -> None:
        """What the step led to, on both sides."""


class Retelling:
    """A history's steps once more."""

    def __init__(self, history: History) -> None:
        self.profile = history.profile
        self.hurries = history.profile == INITIAL_DELAY or any(isinstance(step, Rest | Pause) for step in history.steps)
        self._steps = iter(history.steps)

    def next_step(self) -> Step | None:
        return next(self._steps, None)

    def heard(self, step: Step, outcome: Outcome) -> None:
        """Nothing follows from it: the steps are what they are."""


class Player:
    """One playing of one history on two sides."""

    def __init__(
        self, sides: tuple[Side, Side], gate: asyncio.Semaphore, patience_seconds: float = PATIENCE_SECONDS
    ) -> None:
        """`gate` bounds how many histories take steps at one time, so that a burst is short; rests need no place."""
        self._patience_seconds = patience_seconds
        self._sides = sides
        self._gate = gate
        self._now = time.monotonic
        self._known: set[str] = set()
        self._sent: dict[str, Send] = {}
        self._leader_of: dict[str, str] = {}
        self._burst_ends = float("inf")

    async def play(self, story: Story, seed: int = 0) -> History:
        """Play to the end. Raises TooSlow."""
        history = History(story.profile, seed)
        await self._gate.acquire()
        try:
            self._begin_burst(story.hurries, self._now())
            while (step := story.next_step()) is not None:
                history.steps.append(step)
                outcome = await self._take(step, story.hurries)
                history.outcomes.append(outcome)
                story.heard(step, outcome)
        except Difference as difference:
            history.difference = str(difference)
        except Ended as ended:
            history.ended = str(ended)
        finally:
            self._gate.release()
            for side in self._sides:
                side.leave()
        return history

    def _begin_burst(self, hurries: bool, at: float) -> None:
        self._burst_ends = at + BURST_SECONDS if hurries else float("inf")

    async def _take(self, step: Step, hurries: bool) -> Outcome:
        if isinstance(step, Send):
            self._sent[step.label] = step
        if isinstance(step, Pause):
            await self._pause()
        await asyncio.gather(*(side.take(step) for side in self._sides))
        if isinstance(step, Rest):
            await self._let_others_go_on(self._rest())
        groups = await self._agree()
        if isinstance(step, Rest):
            self._begin_burst(hurries, self._now())
        elif self._now() > self._burst_ends:
            raise TooSlow
        return self._compare(groups)

    async def _pause(self) -> None:
        """The next burst begins PAUSE_SECONDS after the beginning of this one."""
        begins = self._burst_ends - BURST_SECONDS + PAUSE_SECONDS
        await self._let_others_go_on(asyncio.sleep(begins - self._now()))
        self._begin_burst(True, begins)

    async def _rest(self) -> None:
        since = began = self._now()
        before: Any = None
        while self._now() - since < REST_SECONDS:
            if self._now() - began > RESTLESS_SECONDS:
                raise Ended("the group does not come to rest")
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
            seen = [(sorted(side.answers), await side.describe()) for side in self._sides]
            if seen != before:
                before, since = seen, self._now()

    async def _let_others_go_on(self, waiting: Coroutine[Any, Any, None]) -> None:
        """Give up the place at the gate for as long as nothing is sent."""
        self._gate.release()
        try:
            await waiting
        finally:
            await self._gate.acquire()

    async def _agree(self) -> list[Any]:
        """Wait until both sides have answered the same requests and describe the groups alike; the groups then."""
        deadline: float | None = None
        while True:
            before = [len(side.answers) for side in self._sides]
            groups = await asyncio.gather(*(side.describe() for side in self._sides))
            if [len(side.answers) for side in self._sides] != before:
                continue
            first, second = (side.answers.keys() - self._known for side in self._sides)
            if first == second and groups[0] == groups[1]:
                return groups[0]
            deadline = deadline or self._now() + self._patience_seconds
            if self._now() > deadline:
                self._tell_difference(first, second, groups)
            await asyncio.sleep(0.02)

    def _tell_difference(self, first: set[str], second: set[str], groups: list[Any]) -> None:
        self._check_free_leaders(first & second, groups[0] + groups[1])
        self._check_syncs_of_the_removed(first, second)
        if first != second:
            answers = self._sides[0].answers | self._sides[1].answers
            only = [f"{label} {json.dumps(answers[label])}" for label in sorted(first ^ second)]
            raise Difference(f"answered by {'Kafka' if first - second else 'us'} alone: {'; '.join(only)}")
        raise Difference("groups: " + "; ".join(differing(*groups)))

    def _check_syncs_of_the_removed(self, first: set[str], second: set[str]) -> None:
        """Raises Ended when all that differs is that we answered the SyncGroup of members that were removed.

        What stands in line behind such a SyncGroup is answered by us alone, too.
        """
        ours = self._sides[1].answers
        syncs = [self._sent[label] for label in second - first if self._sent[label].api == "SyncGroup"]
        hang = {step.connection for step in syncs if ours[step.label].get("error_code") == ErrorCode.UNKNOWN_MEMBER_ID}
        if first < second and {self._sent[label].connection for label in second - first} <= hang:
            raise Ended("we answer the SyncGroup of a removed member, Kafka never does (decision 006)")

    def _compare(self, groups: list[Any]) -> Outcome:
        labels = self._sides[0].answers.keys() - self._known
        self._known |= labels
        self._check_free_leaders(labels, groups)
        first, second = ({label: side.answers[label] for label in sorted(labels)} for side in self._sides)
        if first != second:
            raise Difference("; ".join(differing(first, second)))
        for label, answer in first.items():
            if answer.get("leader"):
                self._leader_of[self._group(label)] = answer["leader"]
        return Outcome(first, groups)

    def _group(self, label: str) -> str:
        group_id: str = self._sent[label].body.get("group_id", "")
        return group_id

    def _check_free_leaders(self, labels: set[str], groups: list[Any]) -> None:
        """Which member follows a leader that is gone is free: Kafka takes the first of a hash map.

        Raises Ended when the sides took different members and neither of them led before. Members are those that a
        leader knows, and those of `groups`: the leader's connection may be closed, or the members be gone again.
        """
        answers = [side.answers[label] for side in self._sides for label in labels]
        lists = [each.get("members", ()) for each in (*answers, *groups)]
        members = {member["member_id"] for each in lists for member in each}
        for label in labels:
            chosen = {side.answers[label].get("leader") for side in self._sides}
            former = self._leader_of.get(self._group(label))
            if len(chosen) > 1 and former not in chosen and chosen <= members:
                raise Ended("each side chose another of the members to follow its leader")


async def play(
    tell: Callable[[], Story], meet: Callable[[], tuple[Side, Side]], gate: asyncio.Semaphore, seed: int
) -> History:
    """Play a story to its end, with new sides from the beginning where it went too slowly."""
    for attempt in range(1, ATTEMPTS + 1):
        with contextlib.suppress(TooSlow):
            history = await Player(meet(), gate).play(tell(), seed)
            history.attempts = attempt
            return history
    return History(tell().profile, seed, ended=f"too slow {ATTEMPTS} times", attempts=ATTEMPTS)


def differing(first: Any, second: Any, path: str = "") -> list[str]:
    """Where two answers differ: `path: Kafka's value ≠ ours`."""
    if isinstance(first, dict) and isinstance(second, dict) and first.keys() == second.keys():
        return [found for key in first for found in differing(first[key], second[key], f"{path}.{key}".lstrip("."))]
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        pairs = enumerate(zip(first, second, strict=True))
        return [found for index, (a, b) in pairs for found in differing(a, b, f"{path}[{index}]")]
    return [] if first == second else [f"{path}: {json.dumps(first)} ≠ {json.dumps(second)}"]
