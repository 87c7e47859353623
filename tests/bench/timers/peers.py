"""One timer facility with many timers outstanding, measured in a process of its own: one JSON object of `Figures`.

    python -m tests.bench.timers.peers NAME COUNT

NAME is a key of PEERS. Deadlines are spread over DELAY_MS as those of sessions are; which timer is cancelled next is by
chance.
"""

import asyncio
import heapq
import json
import random
import resource
import sys
import time
from abc import ABC, abstractmethod
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import uvloop

from coordinator.timers.wheel import TimerWheel
from tests.bench.timers import loops

DELAY_MS = (30_000, 90_000)
STARTS_PER_TURN = 1000
"""Timers cancelled and started in one turn of an event loop; the virtual clocks go on by 1 ms after as many."""

EXPIRY_STEP_MS = 100
"""A virtual clock goes on so far at a time, when all are to come due."""

EXPIRY_SPREAD_MS = 100
"""Where the clock is the machine's, the timers that are to come due are started over so many ms, and all are due."""

SEED = 1


class Figures(NamedTuple):
    """Nanoseconds are CPU time of the measuring thread. `restart_ns` is None where there is no such thing."""

    cancel_and_start_ns: float
    restart_ns: float | None
    expiry_ns: float
    bytes_per_timer: float


class Work(NamedTuple):
    """What all peers do: start `keys`, then cancel and start those in `order`. Delays are ms."""

    keys: list[str]
    first_delays: "array[int]"
    order: "array[int]"
    delays: "array[int]"


class Peer(ABC):
    """`fill`, then `churn`, `restart`, `prepare_expiry` and `expire`, each once. Its memory is what `fill` takes.

    So what holds the timers for the caller is made before.
    """

    def __init__(self, work: Work) -> None:
        self.work = work

    @abstractmethod
    def fill(self) -> None: ...

    @abstractmethod
    def churn(self) -> None:
        """Cancel and start anew as `work.order` says."""

    def restart(self) -> bool:
        """The same without a new timer; false where there is no such thing."""
        return False

    def prepare_expiry(self) -> None:  # noqa: B027 (there is nothing to prepare where the clock is virtual)
        """Make the outstanding timers such that `expire` need not wait."""

    @abstractmethod
    def expire(self) -> int:
        """Let all come due; how many did."""


class Wheel(Peer):
    def __init__(self, work: Work) -> None:
        super().__init__(work)
        self.timers = array("Q", [0]) * len(work.keys)

    def fill(self) -> None:
        self.wheel = TimerWheel(0)
        loops.fill(self.wheel, self.timers, self.work.keys, self.work.first_delays)

    def churn(self) -> None:
        work = self.work
        loops.cancel_and_start(self.wheel, self.timers, work.keys, work.order, work.delays, STARTS_PER_TURN)

    def restart(self) -> bool:
        loops.restart(self.wheel, self.timers, self.work.order, self.work.delays, STARTS_PER_TURN)
        return True

    def expire(self) -> int:
        due: int = loops.expire(self.wheel, self.wheel.now_ms + DELAY_MS[1], EXPIRY_STEP_MS)
        return due


class Heap(Peer):
    """heapq with lazy deletion: an entry whose number is not its place's any more was cancelled.

    It stays until it surfaces, or until half of the heap is such.
    """

    def __init__(self, work: Work) -> None:
        super().__init__(work)
        self.heap: list[tuple[int, int, int]] = []
        self.numbers = list(range(len(work.keys)))

    def fill(self) -> None:
        for place, delay in enumerate(self.work.first_delays):
            heapq.heappush(self.heap, (delay, place, place))

    def churn(self) -> None:
        heap, numbers, heappush = self.heap, self.numbers, heapq.heappush
        now_ms, number, cancelled = 0, len(numbers), 0
        for place, delay in zip(self.work.order, self.work.delays, strict=True):
            cancelled += 1
            number += 1
            numbers[place] = number
            heappush(heap, (now_ms + delay, number, place))
            if number % STARTS_PER_TURN == 0:
                now_ms += 1
                if cancelled * 2 > len(heap):
                    heap[:] = [entry for entry in heap if numbers[entry[2]] == entry[1]]
                    heapq.heapify(heap)
                    cancelled = 0

    def expire(self) -> int:
        heap, numbers, heappop = self.heap, self.numbers, heapq.heappop
        due = 0
        while heap:
            _, number, place = heappop(heap)
            if numbers[place] == number:
                due += 1
        return due


class EventLoop(Peer):
    """`call_later` and `cancel` of an event loop, a turn of it after every STARTS_PER_TURN."""

    def __init__(self, work: Work, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(work)
        self.loop = loop
        self.due = 0
        self.handles = [loop.call_later(0, self._fire, "")] * len(work.keys)

    def fill(self) -> None:
        for place, delay in enumerate(self.work.first_delays):
            self.handles[place] = self.loop.call_later(delay / 1000, self._fire, self.work.keys[place])

    def _fire(self, key: str) -> None:
        self.due += 1

    def churn(self) -> None:
        self.loop.run_until_complete(self._churn())

    async def _churn(self) -> None:
        handles, keys, call_later, fire = self.handles, self.work.keys, self.loop.call_later, self._fire
        order, delays = self.work.order, self.work.delays
        for begin in range(0, len(order), STARTS_PER_TURN):
            end = begin + STARTS_PER_TURN
            for place, delay in zip(order[begin:end], delays[begin:end], strict=True):
                handles[place].cancel()
                handles[place] = call_later(delay / 1000, fire, keys[place])
            await asyncio.sleep(0)

    def prepare_expiry(self) -> None:
        for handle in self.handles:
            handle.cancel()
        self.loop.run_until_complete(asyncio.sleep(0))  # the turn that throws the cancelled ones away
        for place, key in enumerate(self.work.keys):
            delay_ms = self.work.delays[place] % EXPIRY_SPREAD_MS
            self.handles[place] = self.loop.call_later(delay_ms / 1000, self._fire, key)
        time.sleep(2 * EXPIRY_SPREAD_MS / 1000)
        self.due = 0

    def expire(self) -> int:
        self.loop.run_until_complete(self._until_all_fired())
        return self.due

    async def _until_all_fired(self) -> None:
        while self.due < len(self.handles):
            await asyncio.sleep(0)


PEERS = {
    "ours": Wheel,
    "heapq": Heap,
    "asyncio": lambda work: EventLoop(work, asyncio.new_event_loop()),
    "uvloop": lambda work: EventLoop(work, uvloop.new_event_loop()),
}


def work_for(count: int) -> Work:
    chance = random.Random(SEED)

    def delays() -> "array[int]":
        return array("q", (chance.randrange(*DELAY_MS) for _ in range(count)))

    keys = [f"group-{number}" for number in range(count)]
    return Work(keys, delays(), array("I", (chance.randrange(count) for _ in range(count))), delays())


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def nanoseconds(started: int, times: int) -> float:
    return (time.thread_time_ns() - started) / times


def measure(peer: Peer, work: Work) -> Figures:
    count = len(work.keys)
    before = resident_bytes()
    peer.fill()
    taken = resident_bytes() - before
    started = time.thread_time_ns()
    peer.churn()
    churned = nanoseconds(started, count)
    started = time.thread_time_ns()
    restarted = nanoseconds(started, count) if peer.restart() else None
    peer.prepare_expiry()
    started = time.thread_time_ns()
    due = peer.expire()
    expired = nanoseconds(started, count)
    if due != count:
        raise RuntimeError(f"{due} of {count} timers came due")
    return Figures(churned, restarted, expired, taken / count)


def main(arguments: Sequence[str]) -> None:
    name, count = arguments
    work = work_for(int(count))
    print(json.dumps(measure(PEERS[name](work), work)._asdict()))


if __name__ == "__main__":
    main(sys.argv[1:])
