"""Plays a history with transactions on two sides, one request at a time, and compares answers and states."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

from tests.differential.play import Difference, Ended, TooSlow, differing
from tests.differential.stateful import Outcome, Restart
from tests.differential.steps import Rest, Send
from tests.differential.transactions.generate import SHORT_MS
from tests.differential.transactions.steps import TransactionHistory, TransactionStep

PATIENCE_SECONDS: Final = 5.0
"""How long the states of the sides may differ: markers are written after the answer."""
REST_SECONDS: Final = SHORT_MS / 1000 + 1.5
"""So long after it began, a transaction with the short timeout has been aborted."""
HURRY_SECONDS: Final = SHORT_MS / 1000 - 0.5
"""With short timeouts, the steps between two Rests take no longer than this."""
LOOK_AGAIN_SECONDS: Final = 0.02
FREE_AFTER_RESTART: Final = frozenset({"producers", "ends", "committed ends", "offsets", "stable offsets"})
RESTART_AMID_MARKERS: Final = "a server ended while markers were written: some are there twice, or on Kafka not at all"
"""What was written before the end is written again. And Kafka may take a partition that it does not know yet after its
start for deleted, so that it never gets its marker (`TransactionMarkerChannelManager.addTxnMarkersToBrokerQueue`)."""


class Side(Protocol):
    """Somebody who answers the requests of one history."""

    def prepare(self) -> None:
        """Make what the history needs. It may block."""

    async def ask(self, step: Send) -> Any:
        """The answer to a request; None if there is none."""

    async def state(self) -> dict[str, Any]:
        """What the server says of the history's transactions, producers, logs and offsets."""

    def step_done(self) -> None:
        """The state after a step was compared."""

    def leave(self) -> None:
        """The history is over, or the server is about to end."""


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


class StatesDiffer(Difference):
    """The servers are in different states after a step; `parts` names what differs."""

    def __init__(self, sent: Send | None, first: dict[str, Any], second: dict[str, Any]) -> None:
        self.parts = {name for name in first if first[name] != second[name]}
        after = f"state after {sent.label} {sent.api} v{sent.version}" if sent else "state"
        super().__init__(f"{after}: " + ("; ".join(differing(first, second)) or "the transaction does not end"))


class TransactionPlayer:
    """One playing of one history."""

    def __init__(self, sides: tuple[Side, Side], gate: asyncio.Semaphore, restarts: Restarts) -> None:
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
                sent, answer, state = await self._take(step, story)
                history.outcomes.append(Outcome(answer, state))
                if sent is not None:
                    story.heard(sent, answer)
        except Difference as difference:
            history.difference = str(difference)
        except Ended as ended:
            history.ended = str(ended)
        finally:
            self._gate.release()
            for side in self._sides:
                side.leave()
            await self._restarts.ended()
        return history

    def _hurry(self, story: Story) -> None:
        self._hurry_until = time.monotonic() + HURRY_SECONDS if story.hurries else float("inf")

    async def _take(self, step: TransactionStep, story: Story) -> tuple[Send | None, Any, dict[str, Any]]:
        """The request of the step, the answer to it, and the state after it."""
        sent, answer = None, None
        if isinstance(step, Send):
            sent, answer = step, await self._ask(step)
        elif isinstance(step, Rest):
            await self._let_others_go_on(asyncio.sleep(REST_SECONDS))
        else:
            sent, answer = step.last, await self._restart(step)
        try:
            state = await self._compare_states(sent)
        except StatesDiffer as difference:
            if isinstance(step, Restart) and step.last is not None and difference.parts <= FREE_AFTER_RESTART:
                raise Ended(RESTART_AMID_MARKERS) from None
            raise
        for side in self._sides:
            side.step_done()
        if time.monotonic() > self._hurry_until and isinstance(step, Send):
            raise TooSlow
        if not isinstance(step, Send):
            self._hurry(story)
        return sent, answer, state

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
                side.leave()

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

    async def _compare_states(self, sent: Send | None) -> dict[str, Any]:
        """Wait until neither side writes markers, and both are in the same state; the state."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            first, second = await asyncio.gather(*(side.state() for side in self._sides))
            if first == second and not _is_ending(first):
                return first
            if time.monotonic() > deadline:
                raise StatesDiffer(sent, first, second)
            await asyncio.sleep(LOOK_AGAIN_SECONDS)


def _is_ending(state: dict[str, Any]) -> bool:
    described = state["transactions"]
    return isinstance(described, dict) and any(
        each["transaction_state"].startswith("Prepare") for each in described["transaction_states"]
    )
