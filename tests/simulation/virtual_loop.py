"""An event loop that turns when a test says so, on the virtual clock: no sockets, no threads, no waiting."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from heapq import heappop, heappush
from itertools import count
from typing import Any, Final, TypeVar

from coordinator.timers.clock import VirtualClock

T = TypeVar("T")

TURNS_MAX: Final = 10_000
"""Turns in which a server that has nothing to wait for must have done all that it has to do."""


class VirtualHandle(asyncio.TimerHandle):
    """A callback. Whatever it raises leaves the loop, also what stands for the death of the process."""

    def __init__(
        self, when: float, callback: Callable[..., object], arguments: tuple[Any, ...], loop: "VirtualLoop"
    ) -> None:
        super().__init__(when, callback, arguments, loop)
        self._call = callback
        self._arguments = arguments

    def run(self) -> None:
        if not self.cancelled():
            self._call(*self._arguments)


class VirtualLoop(asyncio.AbstractEventLoop):
    """What the server asks of its event loop."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._ready: deque[VirtualHandle] = deque()
        self._timers: list[tuple[int, int, VirtualHandle]] = []
        self._numbers = count()

    # ---- as the server sees it

    def time(self) -> float:
        return self._clock.now_ms() / 1000

    def get_debug(self) -> bool:
        return False

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> VirtualHandle:
        handle = VirtualHandle(0.0, callback, args, self)
        self._ready.append(handle)
        return handle

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> VirtualHandle:
        return self.call_soon(callback, *args)

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> VirtualHandle:
        when_ms = self._clock.now_ms() + round(delay * 1000)
        handle = VirtualHandle(when_ms / 1000, callback, args, self)
        heappush(self._timers, (when_ms, next(self._numbers), handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """It is dropped when its time comes."""

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self)

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> "asyncio.Future[T]":  # type: ignore[override]
        """There are no threads: the function is called at once."""
        future: asyncio.Future[T] = asyncio.Future(loop=self)
        future.set_result(func(*args))
        return future

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        raise context.get("exception") or RuntimeError(context["message"])

    # ---- as the simulation drives it

    @property
    def is_idle(self) -> bool:
        return not self._ready

    def next_timer_ms(self) -> int | None:
        """The time of the next timer."""
        while self._timers and self._timers[0][2].cancelled():
            heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def turn(self) -> None:
        """One iteration: due timers, and what was ready when it began."""
        while (due_ms := self.next_timer_ms()) is not None and due_ms <= self._clock.now_ms():
            self._ready.append(heappop(self._timers)[2])
        for _ in range(len(self._ready)):
            self._ready.popleft().run()

    def turn_until_idle(self) -> None:
        for _ in range(TURNS_MAX):
            self.turn()
            if not self._ready:
                return
        raise AssertionError(f"the server is still busy after {TURNS_MAX} turns without time passing")

    def complete(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine that waits for nothing to its end."""
        with self.running():
            try:
                coroutine.send(None)
            except StopIteration as end:
                result: T = end.value
                return result
        raise AssertionError(f"{coroutine} waits for something")

    @contextmanager
    def running(self) -> Iterator[None]:
        """Within the block, this is the running event loop."""
        asyncio._set_running_loop(self)
        try:
            yield
        finally:
            asyncio._set_running_loop(None)
