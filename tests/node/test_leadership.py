"""A node that leads only a part of the partitions sends clients to the node that leads the others."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from _wire.errors import ErrorCode
from _wire.messages.describe_cluster import DescribeClusterRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.messages.offset_fetch import OffsetFetchRequest
from _wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from coordinator.config.group_keys import OFFSETS_TOPIC_NUM_PARTITIONS
from coordinator.config.server_keys import NODE_ID
from coordinator.config.settings import Config
from coordinator.core.partitioning import partition_for
from coordinator.metadata.leadership import RemoteNode
from coordinator.node.node import Node
from tests.wire_client import WireClient, fetch_request, join_request

SELF: Final = NODE_ID.default
OTHER: Final = RemoteNode(7, "elsewhere", 9093)
OFFSETS_PARTITIONS: Final = 4


class LeaderOfEven:
    """This node leads the partitions of even number, another the rest."""

    version: Final = 0

    def leader_of(self, topic: str, partition: int) -> int:
        return OTHER.node_id if partition % 2 else SELF

    def other_nodes(self) -> Sequence[RemoteNode]:
        return (OTHER,)


def ask_node(folder: Path, questions: Callable[[WireClient], None]) -> None:
    """Run a node that leads every other partition, and ask it."""

    def ask(bootstrap: str) -> None:
        with WireClient(bootstrap) as client:
            questions(client)

    async def play() -> None:
        settings = {
            "log.dirs": str(folder),
            "listeners": "PLAINTEXT://127.0.0.1:0",
            OFFSETS_TOPIC_NUM_PARTITIONS.name: str(OFFSETS_PARTITIONS),
        }
        node = Node(Config(settings), LeaderOfEven())
        await node.start()
        try:
            await asyncio.get_running_loop().run_in_executor(None, ask, node.bootstrap)
        finally:
            await node.stop()

    asyncio.run(play())


def group_in(*, led_here: bool) -> str:
    names = (f"group-{number}" for number in range(100))
    return next(name for name in names if (partition_for(name, OFFSETS_PARTITIONS) % 2 == 0) == led_here)


def test_groups_are_coordinated_by_the_leader_of_their_partition(tmp_path):
    here, elsewhere = group_in(led_here=True), group_in(led_here=False)

    def questions(client: WireClient) -> None:
        found = client.request(FindCoordinatorRequest(coordinator_keys=[here, elsewhere], key_type=0), 4).coordinators
        assert [each.node_id for each in found] == [SELF, OTHER.node_id]
        assert (found[1].host, found[1].port) == (OTHER.host, OTHER.port)
        client.join_alone(here)
        assert client.request(join_request(elsewhere), 3).error_code == ErrorCode.NOT_COORDINATOR
        assert client.heartbeat_error(elsewhere, "nobody") == ErrorCode.NOT_COORDINATOR
        fetched = client.request(OffsetFetchRequest(group_id=elsewhere, topics=None), 5)
        assert fetched.error_code == ErrorCode.NOT_COORDINATOR

    ask_node(tmp_path, questions)


def test_metadata_names_each_leader_and_every_node(tmp_path):
    def questions(client: WireClient) -> None:
        client.create_topic("orders", 3)
        described = client.request(MetadataRequest(topics=[MetadataRequestTopic(name="orders")]), 9)
        assert [broker.node_id for broker in described.brokers] == [SELF, OTHER.node_id]
        partitions = described.topics[0].partitions
        assert [partition.leader_id for partition in partitions] == [SELF, OTHER.node_id, SELF]
        assert [partition.replica_nodes for partition in partitions] == [[SELF], [OTHER.node_id], [SELF]]
        brokers = client.request(DescribeClusterRequest(), 0).brokers
        assert [(broker.broker_id, broker.port) for broker in brokers][1:] == [(OTHER.node_id, OTHER.port)]

    ask_node(tmp_path, questions)


def test_partitions_led_elsewhere_are_neither_written_nor_read(tmp_path):
    def questions(client: WireClient) -> None:
        client.create_topic("orders", 2)
        expected = [ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]

        wanted = [OffsetForLeaderPartition(partition=index, leader_epoch=0) for index in range(3)]
        epochs = client.request(
            OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic="orders", partitions=wanted)]), 3
        )
        assert [partition.error_code for partition in epochs.topics[0].partitions] == expected

        asked = [ListOffsetsPartition(partition_index=index, timestamp=-1) for index in range(3)]
        offsets = client.request(ListOffsetsRequest(topics=[ListOffsetsTopic(name="orders", partitions=asked)]), 5)
        assert [partition.error_code for partition in offsets.topics[0].partitions] == expected

        fetches = [client.request(fetch_request("orders", partition=index), 11) for index in range(3)]
        assert [fetch.responses[0].partitions[0].error_code for fetch in fetches] == expected

        assert client.produce("orders", None, partition=1).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER

    ask_node(tmp_path, questions)
