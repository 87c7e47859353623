"""Waiting for the coordinator of a test to do something, without asking it again and again."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from coordinator.testing.errors import WaitTimeout


@dataclass(eq=False, slots=True)
class Waiter:
    """`is_met` is asked after each change; `complaint` makes the message if it is never met."""

    is_met: Callable[[], bool]
    complaint: Callable[[], str]
    done: "asyncio.Future[None]"


class Waiters:
    """Those that wait in the loop of a node. `check` is called at the end of each iteration."""

    def __init__(self) -> None:
        self._waiting: list[Waiter] = []

    async def wait(self, is_met: Callable[[], bool], seconds: float, complaint: Callable[[], str]) -> None:
        """Return when the condition is met, also if it is no longer by then.

        Raises:
            WaitTimeout: it was not met within `seconds` of real time; the message is the complaint.
            TestingError: the node was stopped or restarted meanwhile.
        """
        if is_met():
            return
        waiter = Waiter(is_met, complaint, asyncio.get_running_loop().create_future())
        self._waiting.append(waiter)
        try:
            await asyncio.wait_for(waiter.done, max(0.0, seconds))
        except TimeoutError:
            raise WaitTimeout(complaint()) from None
        finally:
            self._waiting.remove(waiter)

    async def end(self, problem: Exception) -> None:
        """Raise the problem in all that wait; return when they have got it."""
        for waiter in self._waiting:
            if not waiter.done.done():
                waiter.done.set_exception(problem)
        while self._waiting:
            await asyncio.sleep(0)

    def check(self, now_ms: int) -> None:
        for waiter in self._waiting:
            if not waiter.done.done() and waiter.is_met():
                waiter.done.set_result(None)
