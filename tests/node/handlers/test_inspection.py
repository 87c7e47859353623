"""What tools ask a broker about itself; what is answered was recorded from Kafka 4.3.1."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from _wire.errors import ErrorCode
from _wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from _wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartition,
    DescribeQuorumRequestTopic,
)
from _wire.messages.list_config_resources import ListConfigResourcesRequest
from _wire.records import build_batch
from coordinator.log.files import DiskFileSystem
from tests.node.handlers.inspecting import client_of
from tests.node.handlers.test_configs import ConfigClient
from tests.servers import RunningServer

BATCH = build_batch([(b"k", b"v", ())])


@pytest.fixture(scope="module")
def client() -> Iterator[ConfigClient]:
    with client_of({"ta": 3, "tb": 1}) as connected:
        assert connected.produce("ta", BATCH).error_code == ErrorCode.NONE
        yield connected


def log_dirs(client: ConfigClient, topics: dict[str, list[int]] | None, version: int = 4) -> Any:
    asked = None
    if topics is not None:
        asked = [DescribableLogDirTopic(topic=name, partitions=indexes) for name, indexes in topics.items()]
    response = client.request(DescribeLogDirsRequest(topics=asked), version)
    assert response.error_code == ErrorCode.NONE
    (result,) = response.results
    return result


def sizes(result: Any) -> dict[tuple[str, int], int]:
    return {
        (topic.name, partition.partition_index): partition.partition_size
        for topic in result.topics
        for partition in topic.partitions
    }


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
def test_the_size_of_each_partition_is_told_and_others_are_left_out(client, version):
    result = log_dirs(client, {"ta": [0, 1, 0, 9, -1], "nope": [0], "tb": []}, version)
    assert sizes(result) == {("ta", 0): len(BATCH), ("ta", 1): 0}
    assert result.error_code == ErrorCode.NONE


def test_all_partitions_are_told_when_none_are_named(client):
    found = sizes(log_dirs(client, None))
    assert {("ta", 0), ("ta", 1), ("ta", 2), ("tb", 0), ("__consumer_offsets", 0)} <= found.keys()
    assert sizes(log_dirs(client, {})) == {}


def test_logs_on_disk_are_told_with_their_volume_without_being_opened(tmp_path):
    with RunningServer(tmp_path) as server:
        with ConfigClient(server.bootstrap) as client:
            client.create_topic("ta", 1)
            assert client.produce("ta", BATCH).error_code == ErrorCode.NONE
        server.kill()
        server.start()
        with ConfigClient(server.bootstrap) as client:
            result = log_dirs(client, {"ta": [0]})
    assert Path(result.log_dir) == server.data
    assert sizes(result) == {("ta", 0): len(BATCH)}
    total_bytes, _ = DiskFileSystem().volume_bytes(tmp_path)
    assert result.total_bytes == total_bytes
    assert 0 < result.usable_bytes <= total_bytes


def quorum(client: ConfigClient, topics: dict[str, list[int]], version: int) -> Any:
    asked = [
        DescribeQuorumRequestTopic(
            topic_name=name, partitions=[DescribeQuorumRequestPartition(partition_index=index) for index in indexes]
        )
        for name, indexes in topics.items()
    ]
    return client.request(DescribeQuorumRequest(topics=asked), version)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_node_is_the_quorum(client, version):
    response = quorum(client, {"__cluster_metadata": [0]}, version)
    assert response.error_code == ErrorCode.NONE
    ((partition,),) = [topic.partitions for topic in response.topics]
    (voter,) = partition.current_voters
    assert (partition.error_code, partition.leader_id, voter.replica_id) == (ErrorCode.NONE, 1, 1)
    assert partition.high_watermark == voter.log_end_offset > 0
    assert partition.observers == []
    assert [node.node_id for node in response.nodes] == ([1] if version == 2 else [])


@pytest.mark.parametrize(
    "topics", [{"ta": [0]}, {"__cluster_metadata": [1]}, {"__cluster_metadata": [0, 1]}, {"__cluster_metadata": []}]
)
def test_there_is_no_other_quorum(client, topics):
    response = quorum(client, topics, 2)
    found = {
        topic.topic_name: [partition.partition_index for partition in topic.partitions] for topic in response.topics
    }
    assert found == topics
    assert {partition.error_code for topic in response.topics for partition in topic.partitions} <= {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    }
    assert response.nodes == []


def test_no_partition_has_no_quorum(client):
    response = quorum(client, {}, 2)
    assert (response.error_code, response.topics, response.nodes) == (ErrorCode.NONE, [], [])


def resources(client: ConfigClient, types: list[int], version: int = 1) -> tuple[int, set[tuple[str, int]]]:
    response = client.request(ListConfigResourcesRequest(resource_types=types), version)
    found = {
        (config_resource.resource_name, config_resource.resource_type) for config_resource in response.config_resources
    }
    return response.error_code, {each for each in found if not each[0].startswith("__")}


BROKERS = {("1", 4)}
LOGGERS = {("1", 8)}
TOPICS = {("ta", 2), ("tb", 2)}


@pytest.mark.parametrize(
    ("types", "found"),
    [
        ([], TOPICS | BROKERS | LOGGERS),
        ([2], TOPICS),
        ([4], BROKERS),
        ([8], LOGGERS),
        ([16], set()),
        ([32], set()),
        ([2, 4, 2], TOPICS | BROKERS),
    ],
)
def test_what_has_configs_is_listed_by_type(client, types, found):
    assert resources(client, types) == (ErrorCode.NONE, found)


@pytest.mark.parametrize("number", [0, 1, 3, 99, -128])
def test_an_unknown_type_of_resource_is_not_supported(client, number):
    assert resources(client, [2, number]) == (ErrorCode.UNSUPPORTED_VERSION, set())


def test_version_0_lists_client_metrics_of_which_there_are_none(client):
    assert resources(client, [], version=0) == (ErrorCode.NONE, set())
