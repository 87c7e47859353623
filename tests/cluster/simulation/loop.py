"""The event loop of one process of the simulation: it has connections of the simulated network, and can stand still."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, TypeVar

from coordinator.cluster.brokers.errors import BrokerError
from coordinator.timers.clock import VirtualClock
from tests.simulation.virtual_loop import VirtualHandle, VirtualLoop

if TYPE_CHECKING:
    from tests.cluster.simulation.network import Network

T = TypeVar("T")


class ProcessLoop(VirtualLoop):
    """A `VirtualLoop` with tasks and connections. All loops have one clock, and each turns alone."""

    def __init__(self, clock: VirtualClock, network: "Network", host: str) -> None:
        super().__init__(clock)
        self._network = network
        self.host: Final = host
        self.is_paused = False
        """Nothing runs meanwhile, though time goes on."""
        self.is_dead = False
        """Nothing runs any more."""
        self.problems: list[BaseException] = []
        """What no callback may raise, and what nobody has asked a task for."""

    @property
    def can_turn(self) -> bool:
        return not self.is_paused and not self.is_dead

    def create_task(self, coro: Coroutine[Any, Any, T], *, name: Any = None, context: Any = None) -> "asyncio.Task[T]":  # type: ignore[override]
        task: asyncio.Task[T] = asyncio.Task(coro, loop=self, name=name)
        task._log_destroy_pending = False  # type: ignore[attr-defined]  # as after a kill
        return task

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> VirtualHandle:
        return self.call_later(when - self.time(), callback, *args)

    async def create_connection(  # type: ignore[override]
        self, protocol_factory: Callable[[], Any], host: str, port: int, **options: Any
    ) -> tuple[Any, Any]:
        return await self._network.connect(self, protocol_factory, host, port)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        problem = context.get("exception")
        if problem is not None and not isinstance(problem, BrokerError | asyncio.CancelledError):
            self.problems.append(problem)

    def turn(self) -> None:
        """One iteration. What runs may begin a pause of its process, during which the other ones go on."""
        before = asyncio._get_running_loop()
        asyncio._set_running_loop(self)
        try:
            super().turn()
        finally:
            asyncio._set_running_loop(before)
