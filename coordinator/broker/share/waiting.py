"""Share fetches that wait for records: who is woken when there may be some.

Counterpart in Kafka: the purgatory of `DelayedShareFetch`. The fetches that wait for a share partition are looked at in
their order, until nothing is left for the next one: many that wait cost an append no more than those it serves.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

import msgspec

from coordinator.broker.data.append_notifier import AppendNotifier, Listener
from coordinator.broker.partitions import Partitions
from coordinator.broker.share.share_partition import SharePartition
from coordinator.log.partition.partition_log import PartitionLog
from coordinator.logger import logger
from coordinator.runtime.slices import Slices, Steps, awaited
from coordinator.timers.timers import CancellableTimers

ADDED_AT_ONCE: Final = 200
"""Share partitions of a fetch that are looked at in one step."""


class ShareFetchTimeoutKey(msgspec.Struct, frozen=True, eq=False):
    """The timer key of a share fetch that waits: `max_wait_ms` have passed."""

    fetch: "WaitingFetch"


class WaitingFetch(msgspec.Struct, eq=False):
    """A fetch that waits until `min_bytes` can be acquired, or until `deadline_ms`."""

    share_partitions: Sequence[SharePartition]
    min_bytes: int
    max_bytes: int
    deadline_ms: int
    answer: Callable[[bool], None] | None = None
    """Called once, with whether the time is over."""
    timer: int = 0
    must_look_again: bool = False
    """Whether there was something for it to see while it looked at its share partitions."""

    def is_ready(self, woken: SharePartition | None = None) -> Steps[bool]:
        """Whether there is enough, or an error of reading; `woken` is the one that has changed.

        One that could not be loaded is told at the end, as on Kafka: its clients ask again at once.
        """
        settings = self.share_partitions[0].settings
        if woken is not None and woken.can_be_fetched(settings):
            available = woken.available_bytes(settings)
            if available < 0 or min(available, self.max_bytes // len(self.share_partitions)) >= self.min_bytes > 0:
                return True
        counts = []
        for number, share_partition in enumerate(self.share_partitions, 1):
            if share_partition.can_be_fetched(settings):
                counts.append(share_partition.available_bytes(settings))
            if number % ADDED_AT_ONCE == 0:
                yield
        if not counts:
            return False
        share_bytes = max(self.max_bytes // len(counts), 1)
        return min(counts) < 0 or sum(min(count, share_bytes) for count in counts) >= self.min_bytes


class _Waits:
    """The fetches that wait for one share partition."""

    __slots__ = ("fetches", "is_served", "listener", "must_look_again")

    def __init__(self, listener: Listener) -> None:
        self.fetches: dict[WaitingFetch, None] = {}
        self.listener = listener
        self.is_served = False
        self.must_look_again = False


class WaitingFetches:
    """All share fetches that wait."""

    def __init__(
        self, partitions: Partitions, notifier: AppendNotifier, timers: CancellableTimers, slices: Slices
    ) -> None:
        self._partitions = partitions
        self._notifier = notifier
        self._timers = timers
        self._slices = slices
        self.by_share_partition: Final[dict[SharePartition, _Waits]] = {}
        """Those that somebody waits for. To read only."""
        self.expired = 0
        """Fetches whose `max_wait_ms` had passed."""

    def add(self, fetch: WaitingFetch) -> Steps[None]:
        """Let a fetch wait for its share partitions."""
        for number, share_partition in enumerate(fetch.share_partitions, 1):
            waits = self.by_share_partition.get(share_partition)
            if waits is None:
                waits = self.by_share_partition[share_partition] = _Waits(partial(self._log_changed, share_partition))
                self._notifier.add_listener((share_partition.log,), waits.listener)
            waits.fetches[fetch] = None
            if number % ADDED_AT_ONCE == 0:
                yield

    def start(self, fetch: WaitingFetch, answer: Callable[[bool], None]) -> None:
        """`answer` is called when the fetch is to look again."""
        fetch.answer = answer
        if not fetch.timer:
            fetch.timer = self._timers.start(ShareFetchTimeoutKey(fetch), fetch.deadline_ms)

    def sleep(self, until_ms: int) -> Steps[None]:
        """Wait for nothing but the time."""
        fetch = WaitingFetch((), 0, 0, until_ms)
        try:
            yield from awaited(partial(self.start, fetch))
        finally:
            self.remove(fetch)

    def expire(self, fetch: WaitingFetch) -> None:
        """The time of a fetch is over."""
        fetch.timer = 0
        if fetch.answer is not None:
            self.expired += 1
            answer, fetch.answer = fetch.answer, None
            answer(True)

    def remove(self, fetch: WaitingFetch) -> None:
        """A fetch waits no longer, or its client is gone."""
        fetch.answer = None
        if fetch.timer:
            self._timers.cancel(fetch.timer)
            fetch.timer = 0
        for share_partition in fetch.share_partitions:
            waits = self.by_share_partition.get(share_partition)
            if waits is not None and fetch in waits.fetches:
                del waits.fetches[fetch]
                if not waits.fetches:
                    del self.by_share_partition[share_partition]
                    self._notifier.remove_listener((share_partition.log,), waits.listener)

    def wake_all(self, share_partitions: Iterable[SharePartition]) -> None:
        for share_partition in share_partitions:
            self.wake(share_partition)

    def wake(self, share_partition: SharePartition) -> None:
        """There may be something to acquire of a share partition, or something to tell."""
        waits = self.by_share_partition.get(share_partition)
        if waits is None:
            return
        if waits.is_served:
            waits.must_look_again = True
            return
        waits.is_served = True

        def failed(problem: Exception) -> None:
            waits.is_served = False
            logger.error("unhandled exception while share fetches are woken", problem=repr(problem))

        self._slices.start(self._serve(share_partition, waits), lambda _: None, failed)

    def _serve(self, share_partition: SharePartition, waits: _Waits) -> Steps[None]:
        waits.must_look_again = True
        while waits.must_look_again:
            waits.must_look_again = False
            for fetch in list(waits.fetches):
                settings = share_partition.settings
                if not share_partition.can_be_fetched(settings) or share_partition.available_bytes(settings) == 0:
                    break
                if fetch.answer is None:
                    fetch.must_look_again = True
                elif fetch in waits.fetches:
                    is_ready = yield from fetch.is_ready(share_partition)
                    if is_ready and fetch.answer is not None:
                        answer, fetch.answer = fetch.answer, None
                        answer(False)
                yield
        waits.is_served = False

    def _log_changed(self, share_partition: SharePartition, log: PartitionLog) -> None:
        self.wake(share_partition)
