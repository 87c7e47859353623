"""Names of topics by their ids, as the cluster has them: requests that name topics by id are handled by name."""

from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Mapping
from typing import Final, TypeAlias

import msgspec

from coordinator.cluster.brokers.brokers import Brokers
from coordinator.cluster.brokers.errors import BrokerError
from coordinator.cluster.brokers.tasks import Tasks
from coordinator.logger import logger

IDS_AT_ONCE: Final = 200
"""Ids in one request to the cluster: what comes back is decoded in a few milliseconds."""
REMEMBERED_MAX: Final = 20_000
"""So many names are remembered. An id that no topic has is not, as a client can make any number of them."""
IDS_MAX: Final = 10_000
"""Ids that one request may look up."""
WAITING_MAX: Final = 200_000
"""Ids that may wait for their names together."""

Named: TypeAlias = Callable[[Mapping[bytes, str] | None], None]
"""Gets the names of those ids that a topic has; None: that is not known now."""


class Lookup(msgspec.Struct):
    """Ids that somebody waits for, and the names that were found."""

    unknown: list[bytes]
    names: dict[bytes, str]
    named: Named


class TopicIds:
    """Lives in the running event loop. The name of an id never changes, so it is never asked for again."""

    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self._names: OrderedDict[bytes, str] = OrderedDict()
        self._lookups: deque[Lookup] = deque()
        self._waiting = 0
        """Ids of the lookups."""
        self._tasks = Tasks()
        self._is_asking = False

    def stop(self) -> None:
        self._tasks.cancel()

    def find(self, ids: Collection[bytes], named: Named) -> None:
        """Find the names of topics; `named` may be called at once. It gets None also if these are too many ids."""
        if len(ids) > IDS_MAX + REMEMBERED_MAX:
            named(None)
            return
        names = {topic_id: self._names[topic_id] for topic_id in ids if topic_id in self._names}
        for topic_id in names:
            self._names.move_to_end(topic_id)
        unknown = list({topic_id for topic_id in ids if topic_id not in names})
        if not unknown:
            named(names)
        elif len(unknown) > IDS_MAX or self._waiting + len(unknown) > WAITING_MAX:
            named(None)
        else:
            self._waiting += len(unknown)
            self._lookups.append(Lookup(unknown, names, named))
            if not self._is_asking:
                self._is_asking = True
                self._tasks.start(self._look_up())

    async def _look_up(self) -> None:
        """Ask for the ids that wait, one request at a time, in which those who wait have their turns."""
        try:
            while self._lookups:
                await self._ask(self._next())
        finally:
            self._is_asking = False

    def _next(self) -> list[tuple[Lookup, list[bytes]]]:
        room, asked = IDS_AT_ONCE, []
        while room and self._lookups:
            lookup = self._lookups.popleft()
            ids, lookup.unknown = lookup.unknown[:room], lookup.unknown[room:]
            room -= len(ids)
            self._waiting -= len(ids)
            asked.append((lookup, ids))
        return asked

    async def _ask(self, asked: list[tuple[Lookup, list[bytes]]]) -> None:
        try:
            found = await self._brokers.names_of({topic_id for _, ids in asked for topic_id in ids})
        except BrokerError as problem:
            logger.warning("the names of topics are not known by their ids", problem=str(problem))
            for lookup, _ in asked:
                self._waiting -= len(lookup.unknown)
                lookup.named(None)
            return
        self._learn(found)
        for lookup, ids in asked:
            lookup.names.update((topic_id, found[topic_id]) for topic_id in ids if topic_id in found)
            if lookup.unknown:
                self._lookups.append(lookup)
            else:
                lookup.named(lookup.names)

    def _learn(self, found: Mapping[bytes, str]) -> None:
        self._names.update(found)
        while len(self._names) > REMEMBERED_MAX:
            self._names.popitem(last=False)
