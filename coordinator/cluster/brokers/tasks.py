"""What runs beside the steps of the loop, because it waits for others."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Tasks:
    """Each is held until it is over, as the loop itself forgets tasks that nobody holds."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start it in the running loop."""
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def ask(self, asking: Coroutine[Any, Any, T], answered: Callable[[T], None]) -> None:
        """Start it; `answered` gets the result."""

        async def ask() -> None:
            answered(await asking)

        self.start(ask())

    def cancel(self) -> None:
        """Cancel all that is not over."""
        for task in self._running:
            task.cancel()
