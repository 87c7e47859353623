"""A disk that is full, or that can only be read: what is stored is served, and it heals."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from _wire.errors import ErrorCode
from _wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from _wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from _wire.records import build_batch, parse_records
from coordinator.config.settings import Config
from coordinator.node.disk_host import host_in_memory
from coordinator.node.node import Node
from coordinator.timers.system_clock import SystemClock
from tests.captured_logs import capture_logs
from tests.model.memory_files import MemoryFileSystem
from tests.waiting import wait_for
from tests.wire_client import WireClient

POLICIES = ["page-cache", "always"]


class Client(WireClient):
    def send_value(self, value: bytes) -> ErrorCode:
        data = PartitionProduceData(index=0, records=build_batch([(None, value, ())]))
        request = ProduceRequest(acks=-1, topic_data=[TopicProduceData(name="t", partition_data=[data])])
        return ErrorCode(self.request(request, 11).responses[0].partition_responses[0].error_code)

    def commit(self, offset: int) -> ErrorCode:
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        topic = OffsetCommitRequestTopic(name="t", partitions=[partition])
        answer = self.request(OffsetCommitRequest(group_id="g", topics=[topic]), 5)
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    def values(self) -> list[bytes | None]:
        wanted = FetchTopic(topic="t", partitions=[FetchPartition(partition=0, partition_max_bytes=1 << 20)])
        answer = self.request(FetchRequest(max_bytes=1 << 20, topics=[wanted]), 11)
        return [record.value for record in parse_records(answer.responses[0].partitions[0].records or b"")]


def with_node(disk: MemoryFileSystem, policy: str, play: Callable[[str], Any]) -> Any:
    """Run `play(bootstrap)` in a thread beside a node, which is stopped cleanly at the end."""

    async def run() -> Any:
        settings = {"log.dirs": "/data", "listeners": "PLAINTEXT://127.0.0.1:0", "log.flush.policy": policy}
        node = Node(Config(settings), host=host_in_memory(SystemClock(), disk))
        await node.start()
        try:
            return await asyncio.get_running_loop().run_in_executor(None, play, node.bootstrap)
        finally:
            await node.stop()

    return asyncio.run(run())


@pytest.fixture
def disk() -> Iterator[MemoryFileSystem]:
    disk = MemoryFileSystem()
    disk.make_directory(Path("/data"))
    yield disk


@pytest.mark.parametrize("policy", POLICIES)
def test_a_full_disk_fails_what_writes_and_heals(disk, policy):
    def play(bootstrap: str) -> None:
        with Client(bootstrap) as client:
            client.create_topic("t", 2)
            assert (client.send_value(b"before"), client.commit(1)) == (ErrorCode.NONE, ErrorCode.NONE)
            disk.is_full = True
            assert client.send_value(b"lost") is ErrorCode.KAFKA_STORAGE_ERROR
            assert client.commit(2) is ErrorCode.COORDINATOR_NOT_AVAILABLE
            with pytest.raises(AssertionError):
                client.create_topic("new")
            assert client.values() == [b"before"]
            disk.heal()
            assert client.send_value(b"after") is ErrorCode.NONE
            wait_for(lambda: client.commit(3) is ErrorCode.NONE, 10, "the partition to be loaded again")
            client.create_topic("new")

    with capture_logs() as lines:
        with_node(disk, policy, play)
    told = {line["event"] for line in lines if line["log_level"] == "error"}
    assert told == {
        "cannot append to a log; what is stored is still served",
        "cannot append; reloading the partition",
        "cannot store a change of the metadata; nothing has changed",
    }
    assert not any("exc_info" in line for line in lines)

    def again(bootstrap: str) -> None:
        with Client(bootstrap) as client:
            assert client.values() == [b"before", b"after"]

    with capture_logs() as lines:
        with_node(disk, policy, again)
    assert [line for line in lines if line["log_level"] in ("warning", "error")] == []
