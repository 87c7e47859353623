"""A start that fails costs the next one nothing."""

import asyncio
import socket
from pathlib import Path

import pytest

from coordinator.config import Config
from coordinator.log.directory import CLEAN_SHUTDOWN
from coordinator.server.listeners import ListenError
from coordinator.server.node import Node
from tests.servers import RunningServer


def node(data: Path, port: int) -> Node:
    return Node(Config({"log.dirs": str(data), "listeners": f"PLAINTEXT://127.0.0.1:{port}"}))


@pytest.mark.parametrize("clean", [True, False])
def test_an_address_in_use_leaves_the_mark_of_the_clean_shutdown(tmp_path, clean):
    with RunningServer(tmp_path) as server:
        if clean:
            server.stop()
        else:
            server.kill()
        mark = server.data / CLEAN_SHUTDOWN
        assert mark.exists() == clean

        async def start_in_vain() -> None:
            with socket.socket() as taken:
                taken.bind(("127.0.0.1", 0))
                taken.listen()
                with pytest.raises(ListenError):
                    await node(server.data, taken.getsockname()[1]).start()

        asyncio.run(start_in_vain())
        assert mark.exists() == clean
        server.start()
        server.stop()
        assert mark.exists()
