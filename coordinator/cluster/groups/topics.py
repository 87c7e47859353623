"""What is known of the topics of the cluster: those that somebody has asked for, refreshed now and then."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Container, Iterable
from contextlib import suppress
from itertools import count
from typing import Final

import msgspec

from _wire.errors import ErrorCode
from coordinator.cluster.brokers.brokers import Brokers
from coordinator.cluster.brokers.errors import BrokerError
from coordinator.cluster.groups.topic_ids import TopicIds
from coordinator.logger import logger

REFRESH_SECONDS: Final = 30
"""How soon a change of a topic is noticed. Kafka's clients: metadata.max.age.ms, 5 minutes."""
NAMES_AT_ONCE: Final = 200
"""Topics in one request: what comes back is decoded in a few milliseconds."""
ANSWER_SECONDS: Final = 2
FRESH_SECONDS: Final = 0.05
"""What was said of a topic so short ago is fresh: members that join together cause few requests."""
TOPICS_MAX: Final = 20_000
"""So many are remembered: above it, those are forgotten that were asked for the longest ago."""
NO_ID: Final = bytes(16)


class DescribedTopic(msgspec.Struct, frozen=True):
    """What the cluster said of a topic; no partitions: there is none, or this node may not describe it."""

    partitions: int
    topic_id: bytes


UNKNOWN: Final = DescribedTopic(0, NO_ID)


class Asked(msgspec.Struct, frozen=True):
    """Who waits for topics to be known, and for which. What the cluster was asked before `since` is too old."""

    names: set[str]
    since: float
    answered: Callable[[None], None]
    timeout: asyncio.TimerHandle


class ClusterTopics:
    """Topics by name. One that is not known yet counts as none: who needs it has it looked up before (`know`)."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self.ids: Final = TopicIds(brokers)
        self._known: OrderedDict[str, DescribedTopic] = OrderedDict()
        self._asked_at: dict[str, float] = {}
        """Topic → when the cluster was asked for what is known of it."""
        self._names: dict[bytes, str] = {}
        self._wanted: dict[str, None] = {}
        self._is_requested = asyncio.Event()
        self._asked: dict[int, Asked] = {}
        self._numbers = count()
        self._task: asyncio.Task[None] | None = None
        self.topics_version = 0
        self.created_version = 0

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    def stop(self) -> None:
        self.ids.stop()
        if self._task is not None:
            self._task.cancel()

    def know(self, names: Iterable[str], answered: Callable[[None], None], *, fresh: bool = False) -> None:
        """Have topics looked up that are not known; `answered` is called when they are, or after a while.

        `fresh`: those that are known, too, as they may have changed since.
        """
        loop = asyncio.get_running_loop()
        since = self._fresh_since() if fresh else 0.0
        unknown = {name for name in names if not self._is_known(name, since) and self._want(name)}
        if not unknown:
            answered(None)
            return
        number = next(self._numbers)
        timeout = loop.call_later(ANSWER_SECONDS, self._end, number)
        self._asked[number] = Asked(unknown, since, answered, timeout)

    def are_fresh(self, names: Iterable[str]) -> bool:
        """Whether all are known, and were asked for just now."""
        since = self._fresh_since()
        return all(self._is_known(name, since) for name in names)

    def _fresh_since(self) -> float:
        return asyncio.get_running_loop().time() - FRESH_SECONDS

    def _is_known(self, name: str, since: float) -> bool:
        return name in self._known and self._asked_at[name] >= since

    def _end(self, number: int) -> None:
        asked = self._asked.pop(number)
        asked.timeout.cancel()
        asked.answered(None)

    def _want(self, name: str) -> bool:
        """Have a topic looked up, unless too many are wanted already."""
        if len(self._wanted) >= TOPICS_MAX:
            return False
        self._wanted[name] = None
        self._is_requested.set()
        return True

    def partition_count(self, name: str) -> int:
        return self._of(name).partitions

    def topic_id(self, name: str) -> bytes:
        return self._of(name).topic_id

    def topic_name(self, topic_id: bytes) -> str | None:
        return self._names.get(topic_id)

    def names(self) -> Container[str]:
        return {name for name, topic in self._known.items() if topic.partitions}

    def is_known(self, topic: str) -> bool:
        """Whether the cluster has told if there is such a topic."""
        is_known = topic in self._known
        if not is_known:
            self._want(topic)
        return is_known

    def existing(self, names: Collection[str]) -> set[str]:
        return {name for name in names if self._of(name).partitions}

    def log_end_offset(self, topic: str, partition: int) -> int | None:
        """The logs of the data are not on this node."""
        return None

    def data_end_offset(self, topic: str, partition: int) -> int | None:
        """The logs of the data are not on this node."""
        return None

    def _of(self, name: str) -> DescribedTopic:
        existing = self._known.get(name)
        if existing is None:
            self._want(name)
            return UNKNOWN
        self._known.move_to_end(name)
        return existing

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        refresh_at = loop.time() + REFRESH_SECONDS
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(refresh_at):
                    await self._is_requested.wait()
            names = list(self._wanted)
            if loop.time() >= refresh_at:  # also where some topic is always wanted
                names = list(self._wanted | dict.fromkeys(self._known))
                refresh_at = loop.time() + REFRESH_SECONDS
            self._is_requested.clear()
            self._wanted.clear()
            for first in range(0, max(len(names), 1), NAMES_AT_ONCE):  # without names, the brokers alone
                await self._refresh(names[first : first + NAMES_AT_ONCE])

    async def _refresh(self, names: list[str]) -> None:
        asked_at = asyncio.get_running_loop().time()
        try:
            response = await self._brokers.refresh(names)
        except BrokerError as problem:
            logger.warning("the topics of the cluster are not known", problem=str(problem))
            return
        for topic in response.topics:
            is_there = topic.error_code == ErrorCode.NONE
            self._asked_at[topic.name or ""] = asked_at
            self._learn(
                topic.name or "", DescribedTopic(len(topic.partitions), topic.topic_id) if is_there else UNKNOWN
            )
        known = [
            number
            for number, asked in self._asked.items()
            if all(self._is_known(name, asked.since) for name in asked.names)
        ]
        for number in known:
            self._end(number)

    def _learn(self, name: str, topic: DescribedTopic) -> None:
        before = self._known.get(name)
        if before == topic:
            return
        self._known[name] = topic
        if before is not None:
            self._names.pop(before.topic_id, None)
        if len(self._known) > TOPICS_MAX:
            forgotten_name, forgotten = self._known.popitem(last=False)
            self._names.pop(forgotten.topic_id, None)
            del self._asked_at[forgotten_name]
        if topic.topic_id != NO_ID:
            self._names[topic.topic_id] = name
        self.topics_version += 1
        if before is None or topic.topic_id != before.topic_id:
            self.created_version = self.topics_version
