"""When an fsync fails the process ends: it never goes on as if the data were safe."""

import asyncio

from _wire.errors import ErrorCode
from coordinator.config.settings import Config
from coordinator.log.errors import LogError, LogFlushError
from coordinator.node.node import Node
from tests.wire_client import ConnectionClosed, WireClient


def test_the_node_reports_a_failed_flush(tmp_path, monkeypatch):
    async def play() -> LogError:
        node = Node(Config({"log.dirs": str(tmp_path), "listeners": "PLAINTEXT://127.0.0.1:0"}))
        await node.start()

        def fail(flush, without=()):
            raise LogFlushError("the medium is gone")

        monkeypatch.setattr("coordinator.log.partition.flush.Flush.run", fail)
        asking = asyncio.get_running_loop().run_in_executor(None, ask_for_a_topic, node.bootstrap)
        try:
            return await asyncio.wait_for(node.failure, 10)
        finally:
            monkeypatch.undo()
            await node.stop()
            assert await asking is None, "the creation of the topic is not acknowledged"

    assert "the medium is gone" in str(asyncio.run(play()))


def ask_for_a_topic(bootstrap: str) -> ErrorCode | None:
    """The error it is answered with; None when the connection closes without an answer."""
    with WireClient(bootstrap) as client:
        try:
            client.create_topic("orders")
        except ConnectionClosed:
            return None
    return ErrorCode.NONE
