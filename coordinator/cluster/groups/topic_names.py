"""The names of all topics of the cluster, for regular expressions of consumer groups: listed while there are any."""

import asyncio
from collections.abc import Callable, Collection
from typing import Any, Final, TypeAlias

from _wire.errors import MalformedMessage
from coordinator.cluster.brokers.brokers import Brokers
from coordinator.cluster.brokers.connection import LongResponse
from coordinator.cluster.brokers.errors import BrokerError
from coordinator.cluster.brokers.tasks import Tasks
from coordinator.cluster.relay.responses import in_long_steps
from coordinator.logger import logger
from coordinator.runtime.slices import Slices

LISTED_SECONDS: Final = 30
"""How soon a new topic is noticed, while groups with regular expressions send heartbeats."""
FRESH_SECONDS: Final = 1
"""Names that were listed so short ago are fresh: members that join together cause few requests."""
USED_SECONDS: Final = 60
"""Names that nobody has used for so long are listed no more, and names that are so old are not used."""
NEVER: Final = float("-inf")

Listed: TypeAlias = Callable[[bool], None]
"""Gets whether the names are known."""


class TopicNames:
    """Lives in the running event loop. The cluster's answer, which may be long, is decoded in slices."""

    def __init__(self, brokers: Brokers, slices: Slices) -> None:
        self._brokers = brokers
        self._slices = slices
        self._ids: dict[str, bytes] = {}
        self.topics_version = 0
        """Rises when there is a topic that was not there before. One that is deleted is noticed by `ClusterTopics`."""
        self._listed_at = self._used_at = NEVER
        self._waiting: list[Listed] = []
        self._tasks = Tasks()
        self._is_listing = False
        self._timer: asyncio.TimerHandle | None = None

    @property
    def topics(self) -> Collection[str]:
        return self._ids.keys()

    def stop(self) -> None:
        self._tasks.cancel()
        if self._timer is not None:
            self._timer.cancel()

    def are_listed(self, *, fresh: bool) -> bool:
        """Whether the names were listed, with `fresh` just now. They are listed again from time to time then."""
        now = asyncio.get_running_loop().time()
        self._used_at = now
        return now - self._listed_at < (FRESH_SECONDS if fresh else USED_SECONDS)

    def know(self, listed: Listed, *, fresh: bool) -> None:
        """Have the names listed, unless they are known; `listed` may be called at once."""
        if self.are_listed(fresh=fresh):
            listed(True)
            return
        self._waiting.append(listed)
        self._list_now()

    def _list_now(self) -> None:
        if not self._is_listing:
            self._is_listing = True
            self._tasks.start(self._list())

    async def _list(self) -> None:
        asked_at = asyncio.get_running_loop().time()
        try:
            response = await self._brokers.list_topics()
        except BrokerError as problem:
            self._failed(problem)
            return
        if isinstance(response, LongResponse):
            steps = in_long_steps(response.decode, response.size_bytes)
            self._slices.start(steps, lambda decoded: self._learn(decoded, asked_at), self._failed)
        else:
            self._learn(response, asked_at)

    def _learn(self, response: Any, asked_at: float) -> None:
        ids = {topic.name: topic.topic_id for topic in response.topics if not topic.error_code}
        if any(self._ids.get(name) != topic_id for name, topic_id in ids.items()):
            self.topics_version += 1
        self._ids, self._listed_at = ids, asked_at
        self._end(True)

    def _failed(self, problem: Exception) -> None:
        if not isinstance(problem, BrokerError | MalformedMessage):
            raise problem
        logger.warning("the topics of the cluster are not listed", problem=str(problem))
        self._end(False)

    def _end(self, are_listed: bool) -> None:
        self._is_listing = False
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(LISTED_SECONDS, self._list_again)
        waiting, self._waiting = self._waiting, []
        for listed in waiting:
            listed(are_listed)

    def _list_again(self) -> None:
        self._timer = None
        if asyncio.get_running_loop().time() - self._used_at < USED_SECONDS:
            self._list_now()
