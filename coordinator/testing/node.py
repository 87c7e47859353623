"""A node in a test from its first start to its end, with restarts between."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from coordinator.faults.faults import Faults
from coordinator.listen_address import ListenError
from coordinator.log.memory_files import MemoryFileSystem
from coordinator.node.disk_host import host_in_memory
from coordinator.node.node import Node
from coordinator.testing.control import Control
from coordinator.testing.defaults import config_of
from coordinator.testing.deliveries import Deliveries
from coordinator.testing.errors import TestingError
from coordinator.timers.clock import AdvanceableClock
from coordinator.timers.system_clock import SystemClock

REBIND_SECONDS: Final = 5
"""How long a restart waits until its own port, which it has just closed, can be bound again."""

T = TypeVar("T")
AdminRoutes = Callable[["RestartableNode"], Sequence[Any]]


class RestartableNode:
    """Its files, its clock and its ports outlive a restart; connections and faults do not. Lives in one loop.

    What is known of the faults that ended outlives it too.
    """

    def __init__(
        self,
        settings: Mapping[str, Any] | None = None,
        port: int = 0,
        admin_port: int | None = None,
        admin_routes: AdminRoutes = lambda node: (),
    ) -> None:
        """Port 0 is a free one; without an `admin_port` there is no admin port.

        Raises:
            ConfigError: a setting is unknown, or its value is not allowed.
            TestingError: a setting is the test kit's own.
        """
        self._settings = dict(settings or {})
        self._port = port
        self._admin_port = admin_port
        self._config = config_of(self._settings, port, admin_port)
        clock = self._clock = AdvanceableClock(SystemClock())
        self._host = host_in_memory(clock, MemoryFileSystem())
        self._admin_routes = admin_routes
        self._node: Node | None = None
        self._control: Control | None = None
        self._faults: Faults | None = None
        self._deliveries = Deliveries()
        self.bootstrap = ""
        self.admin: str | None = None

    async def start(self) -> None:
        """Serve when this returns.

        Raises:
            ListenError: the port cannot be bound.
        """
        node = Node(self._config, host=self._host, admin_routes=lambda node: self._admin_routes(self))
        await node.start()
        self._node, self._control = node, Control(node, self._config, self._clock, self._faults, self._deliveries)
        self._faults = self._control.faults
        self.bootstrap, self.admin = node.bootstrap, node.admin
        self._port = int(self.bootstrap.rpartition(":")[2])
        if self.admin is not None:
            self._admin_port = int(self.admin.rpartition(":")[2])
        self._config = config_of(self._settings, self._port, self._admin_port)

    async def restart(self, clean: bool = False) -> None:
        """Start again on the same logs and ports: after a clean stop, or as after `kill -9`."""
        await self.stop(clean)
        deadline = asyncio.get_running_loop().time() + REBIND_SECONDS
        while True:
            try:
                await self.start()
                return
            except ListenError:
                if asyncio.get_running_loop().time() > deadline:
                    raise
                await asyncio.sleep(0.001)

    async def stop(self, clean: bool = True) -> None:
        node, control, self._node, self._control = self._node, self._control, None, None
        if node is None or control is None:
            return
        await control.end()
        if clean:
            await node.stop()
        else:
            node.kill()

    @property
    def control(self) -> Control:
        """Raises TestingError: the node does not run."""
        if self._control is None:
            raise TestingError("the coordinator does not run: it was stopped, or is being restarted")
        return self._control

    async def ask(self, question: Callable[[Control], T]) -> T:
        return question(self.control)

    async def wait(self, question: Callable[[Control], Awaitable[T]]) -> T:
        return await question(self.control)
