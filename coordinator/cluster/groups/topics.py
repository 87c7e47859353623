"""What is known of the topics of the cluster: those that somebody has asked for, refreshed now and then."""

import asyncio
from collections.abc import Callable, Collection, Container, Iterable
from contextlib import suppress
from itertools import count
from typing import Final

import msgspec

from _wire.errors import ErrorCode
from coordinator.cluster.brokers.brokers import Brokers
from coordinator.cluster.brokers.errors import BrokerError
from coordinator.cluster.brokers.tasks import Tasks
from coordinator.cluster.groups.topic_ids import TopicIds
from coordinator.cluster.groups.topic_names import TopicNames
from coordinator.logger import logger

REFRESH_SECONDS: Final = 30
"""How soon a change of a topic is noticed. Kafka's clients: metadata.max.age.ms, 5 minutes."""
NAMES_AT_ONCE: Final = 200
"""Topics in one request: what comes back is decoded in a few milliseconds."""
ANSWER_SECONDS: Final = 2
FRESH_SECONDS: Final = 0.05
"""What was said of a topic so short ago is fresh: members that join together cause few requests."""
ABSENT_MAX: Final = 20_000
"""So many names that no topic has are remembered, and so many are looked up at a time: clients can make any number."""
TOPICS_MAX: Final = 100_000
"""So many topics are remembered. A consumer group loses the partitions of a topic that is forgotten, so no name that a
client makes up takes the place of one. Above it, those are forgotten that became known the longest ago."""
NO_ID: Final = bytes(16)


class DescribedTopic(msgspec.Struct, frozen=True):
    """What the cluster said of a topic. `UNKNOWN`: there is none, or this node may not describe it."""

    partitions: int
    topic_id: bytes


UNKNOWN: Final = DescribedTopic(0, NO_ID)


class Asked(msgspec.Struct, frozen=True):
    """Who waits for topics to be known, and for which. What the cluster was asked before `since` is too old."""

    names: set[str]
    """Those that the cluster has not told of yet."""
    since: float
    answered: Callable[[bool], None]
    timeout: asyncio.TimerHandle


class ClusterTopics:
    """Topics by name. One that is not known yet counts as none: who needs it has it looked up before (`know`)."""

    def __init__(self, brokers: Brokers, all_names: TopicNames) -> None:
        self._brokers = brokers
        self.ids: Final = TopicIds(brokers)
        self.all: Final = all_names
        self._described: dict[str, DescribedTopic] = {}
        self._absent: dict[str, None] = {}
        """Names that no topic has."""
        self._asked_at: dict[str, float] = {}
        """Topic → when the cluster was asked for what is known of it."""
        self._names: dict[bytes, str] = {}
        self._requested: dict[str, None] = {}
        self._is_requested = asyncio.Event()
        self._asked: dict[int, Asked] = {}
        self._numbers = count()
        self._tasks = Tasks()
        self.topics_version = 0
        self._on_change: list[Callable[[], None]] = []

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` when a topic that somebody has asked for was made, deleted, or has grown."""
        self._on_change.append(listener)

    @property
    def created_version(self) -> int:
        """That of the names: only regular expressions match topics that nobody has named."""
        return self.all.topics_version

    def start(self) -> None:
        self._tasks.start(self._run())

    def stop(self) -> None:
        self.ids.stop()
        self.all.stop()
        self._tasks.cancel()

    def know(self, names: Iterable[str], answered: Callable[[bool], None], *, fresh: bool = False) -> None:
        """Have topics looked up that are not known; `answered` gets True when they are, or False after a while.

        `fresh`: those that are known, too, as they may have changed since.
        """
        loop = asyncio.get_running_loop()
        since = self._fresh_since() if fresh else 0.0
        unknown = {name for name in names if not self._is_fresh(name, since)}
        if not all(map(self._want, unknown)) or not unknown:
            answered(not unknown)
            return
        number = next(self._numbers)
        timeout = loop.call_later(ANSWER_SECONDS, self._end, number, False)
        self._asked[number] = Asked(unknown, since, answered, timeout)

    def are_answered(self, names: Iterable[str]) -> bool:
        """Whether the cluster has told of all of them if there is such a topic."""
        return all(map(self._is_answered, names))

    def _is_answered(self, name: str) -> bool:
        return name in self._described or name in self._absent

    def are_fresh(self, names: Iterable[str]) -> bool:
        """Whether all are known, and were asked for just now."""
        since = self._fresh_since()
        return all(self._is_fresh(name, since) for name in names)

    def _fresh_since(self) -> float:
        return asyncio.get_running_loop().time() - FRESH_SECONDS

    def _is_fresh(self, name: str, since: float) -> bool:
        return self._is_answered(name) and self._asked_at[name] >= since

    def _end(self, number: int, are_answered: bool) -> None:
        asked = self._asked.pop(number)
        asked.timeout.cancel()
        asked.answered(are_answered)

    def _want(self, name: str) -> bool:
        """Have a topic looked up, unless too many are wanted already."""
        if len(self._requested) >= ABSENT_MAX:
            return False
        self._requested[name] = None
        self._is_requested.set()
        return True

    def partition_count(self, name: str) -> int:
        return self._of(name).partitions

    def topic_id(self, name: str) -> bytes:
        return self._of(name).topic_id

    def topic_name(self, topic_id: bytes) -> str | None:
        return self._names.get(topic_id)

    def names(self) -> Container[str]:
        return set(self._described)

    def has_metadata(self, topic: str) -> bool:
        """Whether the cluster has told if there is such a topic."""
        is_answered = self._is_answered(topic)
        if not is_answered:
            self._want(topic)
        return is_answered

    def existing(self, names: Collection[str]) -> set[str]:
        return self._described.keys() & names

    def log_end_offset(self, topic: str, partition: int) -> int | None:
        """The logs of the data are not on this node."""
        return None

    def data_end_offset(self, topic: str, partition: int) -> int | None:
        """The logs of the data are not on this node."""
        return None

    def _of(self, name: str) -> DescribedTopic:
        existing = self._described.get(name)
        if existing is None:
            self.has_metadata(name)  # has it looked up
            return UNKNOWN
        return existing

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        refresh_at = loop.time() + REFRESH_SECONDS
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(refresh_at):
                    await self._is_requested.wait()
            names = list(self._requested)
            if loop.time() >= refresh_at:  # also where some topic is always wanted
                names = list(self._requested | dict.fromkeys(self._described) | self._absent)
                refresh_at = loop.time() + REFRESH_SECONDS
            self._is_requested.clear()
            self._requested.clear()
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
            is_there = topic.error_code == ErrorCode.NONE and topic.partitions
            self._asked_at[topic.name or ""] = asked_at
            self._learn(
                topic.name or "", DescribedTopic(len(topic.partitions), topic.topic_id) if is_there else UNKNOWN
            )
        reported = {topic.name or "" for topic in response.topics}
        for number, asked in list(self._asked.items()):
            if asked_at >= asked.since:
                asked.names.difference_update(reported)
            if not asked.names:
                self._end(number, True)

    def _learn(self, name: str, topic: DescribedTopic) -> None:
        was_answered, before = self._is_answered(name), self._described.get(name, UNKNOWN)
        if was_answered and before == topic:
            return
        self._names.pop(before.topic_id, None)
        if topic is UNKNOWN:
            self._described.pop(name, None)
            self._absent[name] = None
            if len(self._absent) > ABSENT_MAX:
                self._forget(next(iter(self._absent)))
        else:
            self._absent.pop(name, None)
            self._described[name] = topic
            self._names[topic.topic_id] = name
            if len(self._described) > TOPICS_MAX:
                self._forget(next(iter(self._described)))
        self.topics_version += 1
        if was_answered:
            for listener in self._on_change:
                listener()

    def _forget(self, name: str) -> None:
        self._absent.pop(name, None)
        self._names.pop(self._described.pop(name, UNKNOWN).topic_id, None)
        del self._asked_at[name]
