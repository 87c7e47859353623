"""Between the steps by which requests are handled (`runtime/slices.py`), and the coroutines that ask the cluster."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from coordinator.runtime.slices import Awaited, Steps, awaited

T = TypeVar("T")


class Tasks:
    """What runs beside the steps of the loop, because it waits for others.

    Each task is held until it is over, as the loop itself forgets tasks that nobody holds.
    """

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start it in the running loop."""
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def every(
        self, seconds: float, work: Callable[[], Coroutine[Any, Any, None]], *, starts_now: bool = False
    ) -> asyncio.Task[None]:
        """Do it again and again, with a pause before each time; with `starts_now` not before the first one."""

        async def repeat() -> None:
            if starts_now:
                await work()
            while True:
                await asyncio.sleep(seconds)
                await work()

        return self.start(repeat())

    def ask(self, asking: Callable[[], Coroutine[Any, Any, T]], answered: Callable[[T], None]) -> None:
        """Start it; `answered` gets the result."""

        async def ask() -> None:
            answered(await asking())

        self.start(ask())

    def steps(self, asking: Callable[[], Coroutine[Any, Any, T]]) -> Steps[T]:
        """Wait in steps for the result of a coroutine, which goes on if the steps are closed.

        Raises what it raises.
        """

        def start(answered: Callable[[asyncio.Task[T]], None]) -> None:
            def ended(task: asyncio.Task[T]) -> None:
                if not task.cancelled():
                    answered(task)

            self.start(asking()).add_done_callback(ended)

        task: asyncio.Task[T] = yield from awaited(start)
        return task.result()

    def cancel(self) -> None:
        """Cancel all that is not over."""
        for task in self._running:
            task.cancel()

    async def stop(self) -> None:
        """Cancel all that is not over, and wait until it is."""
        self.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)


async def completed(steps: Steps[T]) -> T:
    """The result of steps that are taken in a task. Others have their turns between them."""
    try:
        while True:
            waits_for = next(steps)
            if isinstance(waits_for, Awaited):
                await _answered(waits_for)
            else:
                await asyncio.sleep(0)
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        steps.close()


async def _answered(waits_for: Awaited[Any]) -> None:
    answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def resume(answered: Awaited[Any]) -> None:
        if not answer.done():  # the task may have been cancelled meanwhile
            answer.set_result(None)

    waits_for.when_answered(resume)
    await answer


async def ask_about_all(elements: Iterable[T], ask: Callable[[T, Callable[[Any], None]], None], at_once: int) -> None:
    """Ask about each element, about so many at a time. The last answers are not waited for."""
    turn = asyncio.Semaphore(at_once)
    for element in elements:
        await turn.acquire()
        ask(element, lambda answer: turn.release())
