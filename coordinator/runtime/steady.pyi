from collections.abc import Callable
from typing import Protocol

from coordinator.runtime.shard_drains import ShardDrains
from coordinator.wall_time import WallTime

class CallsSoon(Protocol):
    """What calls back in an event loop (`front/loop_scheduler.py`)."""

    call_soon: Callable[[Callable[[], None]], object]
    """Calls back when the data of the iteration was read."""
    is_abandoned: bool
    """Whether nothing may be done any more: the logs are about to be closed."""

class SteadyDrain:
    """Queues steady requests in the shards of a coordinator, and has these handle them.

    The first one of an iteration of the event loop has the `scheduler` call `drain` soon; without one they wait for the
    drain of their shard, as operations do.
    """

    def __init__(
        self, coordinator: ShardDrains, scheduler: CallsSoon | None, now_ms: Callable[[], int], wall: WallTime
    ) -> None: ...
    def drain(self) -> None:
        """Handle what was queued since the last call."""
