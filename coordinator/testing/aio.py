"""A coordinator in the process of a test, for asyncio: as coordinator.py, and whatever asks the server is awaited."""

import asyncio
from collections.abc import Collection, Coroutine, Iterable, Mapping
from typing import Any, Self, Unpack

from coordinator.audit.schema import AuditEvent
from coordinator.faults.faults import FaultReport
from coordinator.testing import requests
from coordinator.testing.coordinator import WAIT_SECONDS
from coordinator.testing.fault_fields import FaultMethods
from coordinator.testing.node_thread import NodeThread
from coordinator.testing.records import Content
from coordinator.testing.snapshots import GroupSnapshot


class AsyncCoordinator:
    """The real server in a thread of this process, with a loop of its own."""

    def __init__(self, settings: Mapping[str, Any] | None = None, *, port: int = 0) -> None:
        """As `Coordinator`."""
        self._node = NodeThread(settings, port)
        self.faults = AsyncFaults(self._node)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """As `Coordinator.start`."""
        await asyncio.to_thread(self._node.start)

    async def stop(self) -> None:
        """As `Coordinator.stop`."""
        await asyncio.to_thread(self._node.stop)

    async def restart(self, clean: bool = False) -> None:
        """As `Coordinator.restart`."""
        await asyncio.wrap_future(self._node.restart(clean))

    @property
    def bootstrap(self) -> str:
        """HOST:PORT for clients."""
        return self._node.bootstrap

    async def create_topic(self, name: str, partitions: int = 1) -> None:
        """As `Coordinator.create_topic`."""
        await asyncio.wrap_future(self._node.ask(lambda control: control.create_topic(name, partitions)))

    async def produce(
        self,
        topic: str,
        values: Iterable[Content],
        keys: Iterable[Content] | None = None,
        partition: int | None = None,
    ) -> list[tuple[int, int]]:
        """As `Coordinator.produce`."""
        return await asyncio.wrap_future(self._node.ask(requests.produce(topic, values, keys, partition)))

    def group(self, group_id: str) -> "AsyncGroup":
        """A group, whether it exists or not."""
        return AsyncGroup(self._node, group_id)

    async def events(self, group_id: str) -> list[AuditEvent]:
        """As `Coordinator.events`."""
        return await self.group(group_id).events()

    async def why(self, group_id: str, generation: int | None = None) -> str:
        """As `Coordinator.why`."""
        return await self.group(group_id).why(generation)

    async def assert_rebalances(
        self, group_id: str, at_most: int | None = None, **expected: Unpack[requests.Expected]
    ) -> None:
        """As `Group.assert_rebalances`."""
        await self.group(group_id).assert_rebalances(at_most, **expected)

    async def assert_delivered(
        self, group_id: str, at_most: int | None = None, **expected: Unpack[requests.ExpectedDeliveries]
    ) -> None:
        """As `Group.assert_delivered`."""
        await self.group(group_id).assert_delivered(at_most, **expected)

    async def advance(self, seconds: float, silent: Collection[str] = ()) -> None:
        """As `Coordinator.advance`."""
        names = requests.require_silent_names(silent)
        await asyncio.wrap_future(self._node.ask(lambda control: control.advance(seconds, names)))


class AsyncGroup:
    """A group of a coordinator."""

    def __init__(self, node: NodeThread, group_id: str) -> None:
        self._node = node
        self.id = requests.require_group_id(group_id)

    def __repr__(self) -> str:
        return f"AsyncGroup({self.id!r})"

    async def describe(self) -> GroupSnapshot:
        """The whole group at one moment."""
        return await asyncio.wrap_future(self._node.ask(requests.group(self.id)))

    async def wait_for(
        self,
        state: str | None = None,
        *,
        members: int | None = None,
        generation: int | None = None,
        partitions: int | None = None,
        timeout: float = WAIT_SECONDS,
    ) -> GroupSnapshot:
        """As `Group.wait_for`."""
        waited = self._node.wait(requests.wait_for_group(self.id, state, members, generation, partitions, timeout))
        return await asyncio.wrap_future(waited)

    async def events(self) -> list[AuditEvent]:
        """As `Group.events`."""
        return await asyncio.wrap_future(self._node.ask(requests.events(self.id)))

    async def why(self, generation: int | None = None) -> str:
        """As `Group.why`."""
        return await asyncio.wrap_future(self._node.ask(requests.story(self.id, generation)))

    async def configure(self, configs: Mapping[str, Any]) -> None:
        """As `Group.configure`."""
        await asyncio.wrap_future(self._node.ask(requests.configure(self.id, configs)))

    async def assert_rebalances(self, at_most: int | None = None, **expected: Unpack[requests.Expected]) -> None:
        """As `Group.assert_rebalances`."""
        await asyncio.wrap_future(self._node.ask(requests.rebalances(self.id, at_most, **expected)))

    async def assert_delivered(
        self, at_most: int | None = None, **expected: Unpack[requests.ExpectedDeliveries]
    ) -> None:
        """As `Group.assert_delivered`."""
        await asyncio.wrap_future(self._node.ask(requests.deliveries(self.id, at_most, **expected)))


class AsyncFault:
    """A fault that was injected."""

    def __init__(self, node: NodeThread, fault_id: int) -> None:
        self._node = node
        self.id = fault_id

    async def hits(self) -> int:
        """How often it took effect."""
        return (await self._report()).hits

    async def remove(self) -> None:
        """As `Fault.remove`."""
        await asyncio.wrap_future(self._node.ask(lambda control: control.faults.remove(self.id)))

    async def _report(self) -> FaultReport:
        return await asyncio.wrap_future(self._node.ask(lambda control: control.faults.report(self.id)))


class AsyncBarrier(AsyncFault):
    """Requests that are held."""

    async def wait_for(self, requests: int = 1, timeout: float = WAIT_SECONDS) -> int:
        """As `Barrier.wait_for`."""
        waited = self._node.wait(lambda control: control.wait_for_held(self.id, requests, timeout))
        return await asyncio.wrap_future(waited)

    async def release(self, count: int | None = None) -> int:
        """As `Barrier.release`."""
        return await asyncio.wrap_future(self._node.ask(lambda control: control.faults.release(self.id, count)))


class AsyncFaults(FaultMethods[Coroutine[Any, Any, AsyncFault], Coroutine[Any, Any, AsyncBarrier]]):
    """Injects faults into one coordinator; `await` each."""

    def __init__(self, node: NodeThread) -> None:
        self._node = node

    async def add(self, fields: dict[str, Any]) -> AsyncFault:
        return AsyncFault(self._node, await self._add_fields(fields))

    async def add_barrier(self, fields: dict[str, Any]) -> AsyncBarrier:
        return AsyncBarrier(self._node, await self._add_fields(fields))

    async def _add_fields(self, fields: dict[str, Any]) -> int:
        return (await asyncio.wrap_future(self._node.ask(lambda control: control.faults.add(fields)))).fault_id

    async def assert_all_hit(self) -> None:
        """As `Faults.assert_all_hit`."""
        await asyncio.wrap_future(self._node.ask(requests.all_hit()))

    async def clear(self) -> None:
        """As `Faults.clear`."""
        await asyncio.wrap_future(self._node.ask(lambda control: control.faults.clear()))
