"""Polls the groups of a Kafka in a thread of its own: who is in them, for their history, and their lag."""

import threading
from collections import deque
from collections.abc import Callable, Container, Iterator
from time import monotonic
from typing import Final, Self

import msgspec

from coordinator.client.bootstrap import Server
from coordinator.client.wire import ClientError
from coordinator.logger import logger
from coordinator.observe.group_stream import PollOfGroup
from coordinator.observe.places import Place, Source
from coordinator.observe.poll import LIST_GROUPS, PresentGroup
from coordinator.observe.polling import GroupPoller, Polled, PollEnd

PAUSE_SHARE: Final = 0.5
"""Of an interval: so long a poll takes at least, with pauses between its slices."""
PAUSE_MAX_SECONDS: Final = 0.5
RETRY_SECONDS: Final = 10.0
CLOSE_SECONDS: Final = 2.0
PARTITIONS_KEPT: Final = 100_000
"""Whose lag is kept one by one, of all groups together."""
PARTS_MAX: Final = 1_000
"""Slices that the watcher has not taken yet. Beyond that none is added: the next poll tells it, too."""


class GroupNow(msgspec.Struct, frozen=True):
    """What the metrics have of a group. `partitions` are topic, partition and lag; None: there are too many.

    `members` is None if the group may not be described, `lag` if nothing is committed.
    """

    group_id: str
    state: str
    epoch: int | None
    members: int | None
    lag: int | None
    partitions: list[tuple[str, int, int]] | None

    @classmethod
    def of(cls, group: PresentGroup, *, names_partitions: bool) -> Self:
        partitions = [
            (partition.topic, partition.partition, partition.lag)
            for partition in group.partitions
            if partition.lag is not None
        ]
        return cls(
            group.group_id,
            group.state,
            group.epoch,
            len(group.members) if group.is_described else None,
            group.lag,
            partitions if names_partitions else None,
        )


class PolledNow(msgspec.Struct):
    """What the last whole poll showed. Times in ms are wall-clock time."""

    at_ms: int = 0
    groups: dict[str, GroupNow] = {}
    requests: int = 0
    """That were sent since the start."""
    took_seconds: float = 0
    left_out: int = 0


class GroupPolls:
    """`pop` gives what polls showed since it was called last. `now` is for the metrics, in any thread."""

    def __init__(
        self,
        server: Server,
        every_seconds: float,
        selected: Container[str] | None = None,
        *,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`selected` None: all groups."""
        self._every, self._clock = every_seconds, clock
        self._poller = GroupPoller(server, selected, clock=clock)
        self._parts: deque[Polled | PollEnd] = deque()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="polls", daemon=True)
        self._logged: set[str] = set()
        self.problem = ""
        """Why the last poll is not whole."""
        self._slices = 1
        self.now = PolledNow()

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """End the thread; one that waits for an answer ends with it."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(CLOSE_SECONDS)

    def pop(self) -> Iterator[tuple[str, str, PollOfGroup]]:
        """Group, its type, and what a poll showed of it."""
        while self._parts:
            part = self._parts.popleft()
            if isinstance(part, PollEnd):
                place = Place(Source.POLL, LIST_GROUPS, part.time_ms)
                for group_id, group_type in part.gone.items():
                    yield group_id, group_type, PollOfGroup(None, place, part.asked_at)
                continue
            for polled in part.groups:
                group = msgspec.structs.replace(polled.group, partitions=[])  # its lag is no part of its history
                poll = PollOfGroup(group, group.place, part.asked_at, polled.absent_ms)
                yield polled.group.group_id, polled.group.type, poll

    # ---- in its thread

    def _run(self) -> None:
        while not self._stopped.is_set():
            begun = self._clock()
            wait = self._every
            try:
                self._poll(begun)
            except ClientError as problem:
                wait = min(self._every, RETRY_SECONDS)
                if str(problem) != self.problem:
                    self.problem = str(problem)
                    logger.warning("groups cannot be polled; it is tried again", problem=self.problem)
            except Exception:
                logger.exception("unhandled exception while polling groups; continuing with the next poll")
                self._poller.close()
            self._stopped.wait(max(0.0, wait - (self._clock() - begun)))
        self._poller.close()

    def _poll(self, begun: float) -> None:
        slices = 0
        found: dict[str, GroupNow] = {}
        partitions = 0
        pause = min(PAUSE_MAX_SECONDS, self._every * PAUSE_SHARE / self._slices)
        for part in self._poller.poll():
            if len(self._parts) < PARTS_MAX:
                self._parts.append(part)
            if isinstance(part, PollEnd):
                self._end(part, found, begun)
                continue
            slices += 1
            for polled in part.groups:
                partitions += len(polled.group.partitions)
                is_kept = partitions <= PARTITIONS_KEPT
                found[polled.group.group_id] = GroupNow.of(polled.group, names_partitions=is_kept)
            if self._stopped.wait(pause):
                return
        self._slices = max(1, slices)
        self.now = msgspec.structs.replace(self.now, requests=self._poller.requests)

    def _end(self, end: PollEnd, found: dict[str, GroupNow], begun: float) -> None:
        if self.problem:
            self.problem = ""
            logger.info("groups are polled again")
        for right, missing_of in end.missing.items():
            if right not in self._logged:
                self._logged.add(right)
                logger.warning("polls lack a right; the rest goes on", right=right, of=missing_of)
        self.now = PolledNow(end.time_ms, found, self.now.requests, self._clock() - begun, end.left_out)
