"""What is tried again: after how long, for how long, and with whom."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Final, TypeVar

from coordinator.cluster.brokers.errors import BrokerError

FIRST_SECONDS: Final = 0.02
MAX_SECONDS: Final = 1.0

T = TypeVar("T")


class Backoff:
    """Doubles with each try, up to a second (Kafka's clients: retry.backoff.ms and retry.backoff.max.ms)."""

    def __init__(self) -> None:
        self.tries = 0

    def next_seconds(self) -> float:
        """How long to wait before the next try."""
        self.tries += 1
        return min(FIRST_SECONDS * float(1 << min(self.tries - 1, 10)), MAX_SECONDS)


async def tried(ask: Callable[[], Coroutine[Any, Any, T]], failed: Callable[[BrokerError], T], seconds: float) -> T:
    """The result of `ask`, which is tried again for a while where it raises BrokerError; `failed` says what that is."""
    loop, backoff = asyncio.get_running_loop(), Backoff()
    until = loop.time() + seconds
    while True:
        try:
            return await ask()
        except BrokerError as problem:
            result = failed(problem)
        if loop.time() >= until:
            return result
        await asyncio.sleep(backoff.next_seconds())


async def first_of(attempts: Iterable[Callable[[], Coroutine[Any, Any, T]]]) -> T:
    """The result of the first one that does not raise BrokerError.

    Raises:
        BrokerError: all do; it is that of the last one.
    """
    problem = BrokerError("no broker is known")
    for attempt in attempts:
        try:
            return await attempt()
        except BrokerError as failure:
            problem = failure
    raise problem
