from array import array
from typing import TypeAlias

from coordinator.timers.wheel import TimerWheel

Integers: TypeAlias = array[int]

def fill(wheel: TimerWheel, timers: Integers, keys: list[str], delays_ms: Integers) -> None: ...
def cancel_and_start(
    wheel: TimerWheel,
    timers: Integers,
    keys: list[str],
    order: Integers,
    delays_ms: Integers,
    starts_per_ms: int,
) -> None: ...
def restart(wheel: TimerWheel, timers: Integers, order: Integers, delays_ms: Integers, starts_per_ms: int) -> None: ...
def expire(wheel: TimerWheel, last_ms: int, step_ms: int) -> int: ...
