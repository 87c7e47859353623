"""A node is built of parts, and goes without those that nobody asked for."""

import asyncio
import inspect
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, Final

import pytest

import coordinator
from _wire.apis import APIS
from _wire.errors import ErrorCode
from _wire.messages.api_versions import ApiVersionsRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from coordinator.config.settings import Config
from coordinator.log.memory_files import MemoryFileSystem
from coordinator.node.disk_host import host_in_memory
from coordinator.node.node import Node
from coordinator.timers.system_clock import SystemClock
from tests.front.log_lines import log_lines
from tests.wire_client import ConnectionClosed, WireClient, produce_request

DATA_PLANE: Final = {
    "Produce",
    "Fetch",
    "ListOffsets",
    "OffsetForLeaderEpoch",
    "DeleteRecords",
    "InitProducerId",
    "AddPartitionsToTxn",
    "AddOffsetsToTxn",
    "EndTxn",
    "TxnOffsetCommit",
    "WriteTxnMarkers",
    "DescribeProducers",
    "DescribeTransactions",
    "ListTransactions",
}
SETTINGS: Final = {
    "log.dirs": "/data",
    "listeners": "PLAINTEXT://127.0.0.1:0",
    "offsets.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
}
POSITIONAL_MAX: Final = 6
FOLDERS_OF_PARTS: Final = ("broker", "groups", "metadata", "quotas", "runtime", "server", "transactions")


def beside_a_node_of_groups(disk: MemoryFileSystem, play: Callable[[str], Any]) -> Any:
    """Run `play(bootstrap)` in a thread beside a node without a data plane, which is stopped cleanly at the end."""

    async def run() -> Any:
        node = Node(Config(SETTINGS), host=host_in_memory(SystemClock(), disk), has_data_plane=False)
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


def test_a_node_without_a_data_plane_has_none_of_its_routes(disk):
    def play(bootstrap: str) -> set[str]:
        with WireClient(bootstrap) as client:
            listed = client.request(ApiVersionsRequest(), 0).api_keys
        with WireClient(bootstrap) as client, pytest.raises(ConnectionClosed):
            client.request(produce_request("t", b""), 9)
        return {APIS[key.api_key].name for key in listed}

    served = beside_a_node_of_groups(disk, play)
    assert not served & DATA_PLANE
    assert {"JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "OffsetFetch", "Metadata", "CreateTopics"} <= served


def test_a_node_without_a_data_plane_serves_groups_and_knows_them_after_a_restart(disk):
    def play(bootstrap: str) -> tuple[ErrorCode, int]:
        topic = OffsetCommitRequestTopic(
            name="t", partitions=[OffsetCommitRequestPartition(partition_index=0, committed_offset=7)]
        )
        with WireClient(bootstrap) as client:
            client.create_topic("t")
            member_id = client.join_alone("g")
            assert client.heartbeat_error("g", member_id) == ErrorCode.NONE
            commit = OffsetCommitRequest(
                group_id="g", generation_id_or_member_epoch=1, member_id=member_id, topics=[topic]
            )
            client.request(commit, 7)
            (found,) = client.request(FindCoordinatorRequest(key_type=1, coordinator_keys=["x"]), 4).coordinators
            return ErrorCode(found.error_code), offset_of(client)

    with log_lines() as lines:
        assert beside_a_node_of_groups(disk, play) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, 7)

        def play_again(bootstrap: str) -> int:
            with WireClient(bootstrap) as client:
                return offset_of(client)

        assert beside_a_node_of_groups(disk, play_again) == 7
        assert lines.problems == []


def offset_of(client: WireClient) -> int:
    wanted = OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[0])])
    offset: int = client.request(wanted, 5).topics[0].partitions[0].committed_offset
    return offset


def classes_of_parts() -> Iterator[type]:
    """The classes of which a server is made, in the folders of its parts."""
    (root,) = map(Path, coordinator.__path__)
    for path in sorted(path for folder in FOLDERS_OF_PARTS for path in (root / folder).rglob("*.py")):
        name = ".".join(("coordinator", *path.relative_to(root).with_suffix("").parts))
        module = __import__(name, fromlist=["_"])
        for value in vars(module).values():
            if inspect.isclass(value) and value.__module__ == module.__name__ and "__init__" in vars(value):
                yield value


@pytest.mark.parametrize("made", list(classes_of_parts()), ids=lambda made: made.__name__)
def test_parts_are_handed_over_by_name_where_there_are_many(made):
    """Requests and tuples are made of what they consist of, in its order; they are no parts of a node."""
    if is_dataclass(made) or issubclass(made, tuple):
        return
    positional = [
        parameter
        for parameter in list(inspect.signature(made.__init__).parameters.values())[1:]
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    assert len(positional) <= POSITIONAL_MAX, [each.name for each in positional]
