"""A node with TLS in the event loop of a test, whose clients are in threads."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import uvloop

from coordinator.config.settings import Config
from coordinator.node.node import Node
from tests.certificates import tls_settings
from tests.front.log_lines import LogLines, log_lines
from tests.servers import QUICK_GROUPS

T = TypeVar("T")

DEADLINE_SECONDS: Final = 10
Story = Callable[["TlsNode"], Awaitable[None]]


class TlsNode:
    """The node, and the lines of its log."""

    def __init__(self, node: Node, lines: LogLines) -> None:
        self.node: Final = node
        self.lines: Final = lines

    def address(self, listener: str = "SSL") -> str:
        """HOST:PORT of a listener."""
        (found,) = (endpoint for endpoint in self.node.front.listeners.endpoints if endpoint.name == listener)
        return f"{found.host}:{found.port}"

    @property
    def connections(self) -> list[Any]:
        return list(self.node.front.dispatcher.connections)

    @property
    def tls(self) -> Any:
        """The listeners with TLS."""
        assert self.node.front.listeners.tls is not None
        return self.node.front.listeners.tls

    @property
    def limits(self) -> Any:
        return self.node.front.listeners._limits

    def closed_because(self) -> list[str]:
        """The reasons for which connections were closed."""
        self.node.front.peers.rejections.report()
        return [line["reason"] for line in self.lines.of("connection closed")]

    async def client(self, function: Callable[..., T], *arguments: Any) -> T:
        """Do what a client does, in a thread."""
        return await asyncio.to_thread(function, *arguments)

    async def until(self, condition: Callable[[], object], what: str) -> None:
        deadline = asyncio.get_running_loop().time() + DEADLINE_SECONDS
        while not condition():
            assert asyncio.get_running_loop().time() < deadline, f"waited for {what}"
            await asyncio.sleep(0.005)


def play(folder: Path, story: Story, **settings: str) -> None:
    """Start a node, play the story, stop the node. Names of settings have underscores for dots."""

    async def main() -> None:
        with log_lines() as lines:
            given = QUICK_GROUPS | {"log.dirs": str(folder / "data")} | tls_settings(folder, **settings)
            node = Node(Config(given))
            await node.start()
            try:
                await story(TlsNode(node, lines))
            finally:
                await node.stop()

    uvloop.run(main())
