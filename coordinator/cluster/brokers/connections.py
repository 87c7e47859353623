"""Connections that are made when they are needed."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Generic, TypeVar

from coordinator.cluster.brokers.connection import BrokerConnection
from coordinator.cluster.brokers.tasks import Tasks

K = TypeVar("K")


class Connections(Generic[K]):
    """One for each key. Whoever needs one that is being made waits for it."""

    def __init__(self, connect: Callable[[str], Coroutine[Any, Any, BrokerConnection]]) -> None:
        """`connect` makes a connection to HOST:PORT, or raises BrokerError."""
        self._connect = connect
        self._made: dict[K, BrokerConnection] = {}
        self._connecting: dict[K, asyncio.Task[BrokerConnection]] = {}
        self._tasks = Tasks()

    def open(self) -> Iterator[tuple[K, BrokerConnection]]:
        """Those that are open."""
        return ((key, connection) for key, connection in self._made.items() if connection.is_open)

    async def get(self, key: K, address: str) -> BrokerConnection:
        """The connection of a key; it is made if there is none, or one to another address.

        Raises:
            BrokerError: it cannot be made.
        """
        existing = self._made.get(key)
        if existing is not None and existing.is_open and existing.broker == address:
            return existing
        task = self._connecting.get(key)
        if task is None:
            task = self._connecting[key] = self._tasks.start(self._make(key, address))
        # Several may wait for it: one that is cancelled does not cancel it for the others.
        return await asyncio.shield(task)

    async def _make(self, key: K, address: str) -> BrokerConnection:
        try:
            connection = await self._connect(address)
        finally:
            del self._connecting[key]
        old = self._made.get(key)
        if old is not None:
            old.close()
        self._made[key] = connection
        return connection

    def close(self) -> None:
        self._tasks.cancel()
        for connection in self._made.values():
            connection.close()
