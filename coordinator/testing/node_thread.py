"""Runs a node in a thread of its own, and takes it questions from other threads."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import Future
from typing import Any, Final, TypeVar

import uvloop

from coordinator.testing.control import Control
from coordinator.testing.errors import TestingError
from coordinator.testing.logs import logs_of_this_thread_diverted
from coordinator.testing.node import RestartableNode

THREAD: Final = "coordinator"

T = TypeVar("T")


class NodeThread:
    """Started once, stopped once. Its thread is a daemon: it ends with the process, whatever the test does."""

    def __init__(self, settings: Mapping[str, Any] | None = None, port: int = 0) -> None:
        """Raises ConfigError and TestingError: a setting is not allowed."""
        self._node = RestartableNode(settings, port)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._thread: threading.Thread | None = None

    @property
    def is_running(self) -> bool:
        return self._loop is not None

    @property
    def bootstrap(self) -> str:
        if not self.is_running:
            raise TestingError("the coordinator does not run: enter its context, or call start()")
        return self._node.bootstrap

    def start(self) -> None:
        """Serve when this returns.

        Raises:
            TestingError: it runs already.
            ListenError: the port cannot be bound.
        """
        if self._thread is not None:
            raise TestingError("a coordinator is started once; make another one")
        ready: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, args=(ready,), name=THREAD, daemon=True)
        self._thread.start()
        ready.result()

    def stop(self) -> None:
        """Stop, if it runs; nothing is left of it: no thread, no port, no file."""
        loop, thread, self._loop = self._loop, self._thread, None
        if loop is None or thread is None or self._stopping is None:
            return
        loop.call_soon_threadsafe(self._stopping.set)
        thread.join()

    def ask(self, question: Callable[[Control], T]) -> "Future[T]":
        """Have a function called in the loop of the node."""
        return self._submit(self._node.ask(question))

    def wait(self, question: Callable[[Control], Awaitable[T]]) -> "Future[T]":
        """Have a coroutine run in the loop of the node."""
        return self._submit(self._node.wait(question))

    def restart(self, clean: bool) -> "Future[None]":
        return self._submit(self._node.restart(clean))

    def _submit(self, coroutine: Coroutine[Any, Any, T]) -> "Future[T]":
        if self._loop is None:
            coroutine.close()
            raise TestingError("the coordinator does not run: enter its context, or call start()")
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def _run(self, ready: "Future[None]") -> None:
        with logs_of_this_thread_diverted():
            uvloop.run(self._serve(ready))

    async def _serve(self, ready: "Future[None]") -> None:
        self._stopping = asyncio.Event()
        try:
            await self._node.start()
        except BaseException as problem:
            ready.set_exception(problem)
            return
        self._loop = asyncio.get_running_loop()
        ready.set_result(None)
        await self._stopping.wait()
        await self._node.stop(clean=False)
