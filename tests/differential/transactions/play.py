"""Plays a history with transactions on two sides, one request at a time, and compares answers and states."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from tests.differential.play import Difference, TooSlow, differing
from tests.differential.steps import Rest, Send
from tests.differential.transactions.generate import SHORT_MS
from tests.differential.transactions.side import TransactionSide
from tests.differential.transactions.steps import Restart, TransactionStep

PATIENCE_SECONDS: Final = 5.0
"""How long the states of the sides may differ: markers are written after the answer."""
REST_SECONDS: Final = SHORT_MS / 1000 + 1.5
"""So long after it began, a transaction with the short timeout has been aborted."""
HURRY_SECONDS: Final = SHORT_MS / 1000 - 0.5
"""With short timeouts, the steps between two Rests take no longer than this."""
LOOK_AGAIN_SECONDS: Final = 0.02


@dataclass
class TransactionHistory:
    """Steps with the answer to each; the states after it are compared and forgotten."""

    seed: int
    steps: list[TransactionStep] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)
    difference: str = ""
    attempts: int = 1


class Story(Protocol):
    """Where the steps come from."""

    hurries: bool

    def next_step(self) -> Any: ...

    def heard(self, step: Send, answer: Any) -> None: ...


class Retelling:
    """A history's steps once more."""

    def __init__(self, history: TransactionHistory) -> None:
        self.hurries = any(isinstance(step, Rest) for step in history.steps)
        self._steps = iter(history.steps)

    def next_step(self) -> TransactionStep | None:
        return next(self._steps, None)

    def heard(self, step: Send, answer: Any) -> None:
        """Nothing follows from it."""


class Restarts:
    """Restarts the servers when all histories that are under way wait for it."""

    def __init__(self, restart: Callable[[str], Awaitable[None]]) -> None:
        self._restart = restart
        self._under_way = 0
        self._waiting: list[tuple[Callable[[], Awaitable[None]], str, asyncio.Future[None]]] = []
        self.count = 0

    def began(self) -> None:
        self._under_way += 1

    async def ended(self) -> None:
        self._under_way -= 1
        await self._check()

    async def wait(self, how: str, at_last: Callable[[], Awaitable[None]]) -> None:
        """`at_last` is done at the last moment before the servers end."""
        done = asyncio.get_running_loop().create_future()
        self._waiting.append((at_last, how, done))
        await self._check()
        await done

    async def _check(self) -> None:
        if not self._waiting or len(self._waiting) < self._under_way:
            return
        waiting, self._waiting = self._waiting, []
        self.count += 1
        try:
            await asyncio.gather(*(at_last() for at_last, _, _ in waiting))
            await self._restart(waiting[0][1])
        finally:
            for _, _, done in waiting:
                done.set_result(None)


class TransactionPlayer:
    """One playing of one history."""

    def __init__(
        self, sides: tuple[TransactionSide, TransactionSide], gate: asyncio.Semaphore, restarts: Restarts
    ) -> None:
        """`gate` bounds how many histories take steps at one time."""
        self._sides = sides
        self._gate = gate
        self._restarts = restarts
        self._hurry_until = float("inf")

    async def play(self, story: Story, seed: int) -> TransactionHistory:
        """Play to the end. Raises TooSlow."""
        history = TransactionHistory(seed)
        self._restarts.began()
        await self._gate.acquire()
        try:
            await asyncio.gather(*(asyncio.to_thread(side.prepare) for side in self._sides))
            self._hurry(story)
            while (step := story.next_step()) is not None:
                history.steps.append(step)
                sent, answer = await self._take(step, story)
                history.answers.append(answer)
                if sent is not None:
                    story.heard(sent, answer)
        except Difference as difference:
            history.difference = str(difference)
        finally:
            self._gate.release()
            for side in self._sides:
                side.leave()
            await self._restarts.ended()
        return history

    def _hurry(self, story: Story) -> None:
        self._hurry_until = time.monotonic() + HURRY_SECONDS if story.hurries else float("inf")

    async def _take(self, step: TransactionStep, story: Story) -> tuple[Send | None, Any]:
        sent, answer = None, None
        if isinstance(step, Send):
            sent, answer = step, await self._ask(step)
        elif isinstance(step, Rest):
            await self._let_others_go_on(asyncio.sleep(REST_SECONDS))
        else:
            sent, answer = step.last, await self._restart(step)
        await self._compare_states(sent)
        if time.monotonic() > self._hurry_until and isinstance(step, Send):
            raise TooSlow
        if not isinstance(step, Send):
            self._hurry(story)
        return sent, answer

    async def _ask(self, step: Send) -> Any:
        first, second = await asyncio.gather(*(side.ask(step) for side in self._sides))
        if first != second:
            raise Difference("; ".join(differing({step.label: first}, {step.label: second})))
        return first

    async def _restart(self, step: Restart) -> Any:
        answer = None

        async def at_last() -> None:
            nonlocal answer
            if step.last is not None:
                answer = await asyncio.gather(*(side.ask(step.last) for side in self._sides))
            for side in self._sides:
                side.disconnect()

        await self._let_others_go_on(self._restarts.wait(step.how, at_last))
        if answer is not None and answer[0] != answer[1]:
            raise Difference("; ".join(differing({"at the restart": answer[0]}, {"at the restart": answer[1]})))
        return answer and answer[0]

    async def _let_others_go_on(self, waiting: Awaitable[None]) -> None:
        self._gate.release()
        try:
            await waiting
        finally:
            await self._gate.acquire()

    async def _compare_states(self, sent: Send | None) -> None:
        """Wait until neither side writes markers, and both are in the same state."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            first, second = await asyncio.gather(*(side.state() for side in self._sides))
            if first == second and not _is_ending(first):
                return
            if time.monotonic() > deadline:
                after = f"state after {sent.label} {sent.api} v{sent.version}" if sent else "state"
                ending = [name for name, state in (("Kafka", first), ("ours", second)) if _is_ending(state)]
                raise Difference(f"{after}: {ending} {first['transactions']} " + "; ".join(differing(first, second)))
            await asyncio.sleep(LOOK_AGAIN_SECONDS)


def _is_ending(state: dict[str, Any]) -> bool:
    described = state["transactions"]
    return isinstance(described, dict) and any(
        each["transaction_state"].startswith("Prepare") for each in described["transaction_states"]
    )
