"""A start that fails costs the next one nothing."""

import asyncio
import re
import socket
from pathlib import Path

import pytest

from _wire.records import build_batch
from coordinator.config.settings import Config
from coordinator.listen_address import ListenError
from coordinator.log.recovery.last_stop import CLEAN_SHUTDOWN
from coordinator.node.node import Node
from tests.servers import RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient


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


def test_a_large_log_is_recovered_before_clients_are_served_and_a_small_one_when_it_is_used(tmp_path):
    batch = build_batch([(None, bytes(500_000), ())])
    with RunningServer(tmp_path) as server:
        with WireClient(server.bootstrap) as client:
            for topic, batches in (("large", 10), ("small", 1)):
                client.create_topic(topic)
                for _ in range(batches):
                    assert client.produce(topic, batch).error_code == 0
        server.kill()
        server.start()
        wait_for(lambda: scanned_bytes(server), 10, "the line about the recovery, which a thread writes")
        with WireClient(server.bootstrap) as client:
            for topic, batches in (("large", 10), ("small", 1)):
                assert client.produce(topic, batch).base_offset == batches
        assert 10 * len(batch) <= max(scanned_bytes(server)) < 11 * len(batch)


def scanned_bytes(server: RunningServer) -> list[int]:
    """What the recoveries have read, as the server has logged until now."""
    return [int(each) for each in re.findall(r"scanned_bytes=(\d+)", server.log.read_text())]
