from typing import Any

from coordinator.runtime.shard import Shard

def drain_steady(shard: Shard[Any], now_ms: int, operations_max: int) -> int | None:
    """As `drain` and `release`, of the steady requests at the head of the queue; returns how many these were.

    None if there may be more to do, or nothing could be done: `drain` has to go on with the shard.
    """
