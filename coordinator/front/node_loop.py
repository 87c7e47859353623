"""The event loop as one node uses it: its timers, and long work in slices."""

import asyncio
from collections.abc import Callable

from coordinator.front.host import Host
from coordinator.front.loop_scheduler import LoopScheduler
from coordinator.front.wall_clock import log_step
from coordinator.log.errors import LogError
from coordinator.runtime.delays import Delays
from coordinator.runtime.slices import Slices
from coordinator.timers.wheel import TimerWheel
from coordinator.wall_time import WallTime


class NodeLoop:
    """Made in the running loop."""

    def __init__(self, host: Host) -> None:
        loop = asyncio.get_running_loop()
        self.now_ms: Callable[[], int] = host.clock.now_ms
        """The time of deadlines, in milliseconds since the epoch; it never goes back."""
        self.wall_ms: Callable[[], int] = host.wall_ms or host.clock.now_ms
        """The time of records, in milliseconds since the epoch. It follows when the system's clock is set."""
        self.wall = WallTime(self.wall_ms, log_step)
        self.wheel = TimerWheel(self.now_ms())
        self.scheduler = LoopScheduler(loop, self.wheel, self.now_ms)
        self.delays = Delays(self.scheduler)
        self.scheduler.on_due(self.delays.due)
        self.slices = Slices(loop.call_soon)
        self.call_soon: Callable[[Callable[[], None]], object] = loop.call_soon
        self.deliver: Callable[[Callable[[], None]], object] = loop.call_soon_threadsafe
        """Calls in the loop what a thread hands over."""
        self.failure: asyncio.Future[LogError] = loop.create_future()
        """Done when the process must end without a stop.

        An fsync failed, so what it was to make safe may be lost; or a log directory without which it cannot go on.
        """

    def fail(self, problem: LogError) -> None:
        if not self.failure.done():
            self.failure.set_result(problem)

    def abandon(self) -> None:
        """Do nothing more at the end of iterations and in slices: the logs are about to be closed."""
        self.scheduler.abandon()
        self.slices.stop()
