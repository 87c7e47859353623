"""A server with several log directories, of which one fails."""

import urllib.request
from pathlib import Path
from typing import Any

import pytest

from _wire.errors import ErrorCode
from _wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.records import build_batch
from coordinator.core.partitioning import partition_for
from coordinator.log.recovery.last_stop import BOOT_ID, read_boot_id
from tests.node.handlers.test_configs import ConfigClient
from tests.servers import QUICK_GROUPS, RunningServer

BATCH = build_batch([(b"k", b"v", ())])
SETTINGS = QUICK_GROUPS | {"offsets.topic.num.partitions": "4", "admin.listener": "127.0.0.1:0"}


def described(client: ConfigClient, topics: dict[str, list[int]] | None = None) -> dict[Path, Any]:
    asked = None
    if topics is not None:
        asked = [DescribableLogDirTopic(topic=name, partitions=indexes) for name, indexes in topics.items()]
    response = client.request(DescribeLogDirsRequest(topics=asked), 4)
    return {Path(result.log_dir): result for result in response.results}


def partitions(result: Any) -> dict[str, dict[int, int]]:
    return {topic.name: {p.partition_index: p.partition_size for p in topic.partitions} for topic in result.topics}


def coordinator_errors(client: ConfigClient) -> dict[int, int]:
    """Partition of __consumer_offsets → the answer to FindCoordinator."""
    groups = {partition_for(f"group-{n}", 4): f"group-{n}" for n in range(40)}
    request = FindCoordinatorRequest(coordinator_keys=list(groups.values()))
    answers = {coordinator.key: coordinator.error_code for coordinator in client.request(request, 4).coordinators}
    return {partition: answers[group] for partition, group in groups.items()}


def test_a_failed_directory_is_offline_and_comes_back(tmp_path):
    with RunningServer(tmp_path, SETTINGS, log_dirs=("a", "b")) as server:
        a, b = server.log_dirs
        with ConfigClient(server.bootstrap) as client:
            client.create_topic("topic", 4)
            for index in range(4):
                assert client.produce("topic", BATCH, partition=index).error_code == ErrorCode.NONE
            found = described(client, {"topic": [0, 1, 2, 3], "__consumer_offsets": [0, 1]})
            assert list(found) == [a, b]
            of_b = list(partitions(found[b])["topic"])
            assert {path: len(partitions(each)["topic"]) for path, each in found.items()} == {a: 2, b: 2}
            assert partitions(found[b])["topic"] == dict.fromkeys(of_b, len(BATCH))
            assert all(0 < each.usable_bytes <= each.total_bytes for each in found.values())
            groups_of_b = list(partitions(described(client)[b])["__consumer_offsets"])
            assert (len(groups_of_b), set(coordinator_errors(client).values())) == (2, {ErrorCode.NONE})
        server.kill()
        assert [(path / BOOT_ID).read_text() for path in (a, b)] == [read_boot_id()] * 2
        b.rename(tmp_path / "kept")
        b.write_text("a disk that fails")
        server.start()
        with ConfigClient(server.bootstrap) as client:
            errors = {index: client.produce("topic", BATCH, partition=index).error_code for index in range(4)}
            assert errors == {n: ErrorCode.KAFKA_STORAGE_ERROR if n in of_b else ErrorCode.NONE for n in range(4)}
            found = described(client)
            assert (found[b].error_code, found[b].topics) == (ErrorCode.KAFKA_STORAGE_ERROR, [])
            assert found[a].error_code == ErrorCode.NONE
            request = MetadataRequest(topics=[MetadataRequestTopic(name="topic")])
            ((topic,),) = [client.request(request, 9).topics]
            for partition in topic.partitions:
                is_offline = partition.partition_index in of_b
                assert (partition.leader_id, partition.offline_replicas) == ((-1, [1]) if is_offline else (1, []))
                assert partition.error_code == (ErrorCode.LEADER_NOT_AVAILABLE if is_offline else ErrorCode.NONE)
            unavailable = {n for n, error in coordinator_errors(client).items() if error != ErrorCode.NONE}
            assert unavailable == set(groups_of_b)
        with urllib.request.urlopen(f"http://{server.admin}/metrics") as page:
            assert b"\nkafka_log_logmanager_offlinelogdirectorycount 1" in page.read()
        with urllib.request.urlopen(f"http://{server.admin}/readyz") as page:  # what can be served is served
            assert b'"active":2' in page.read().replace(b" ", b"")
        assert server.stop() == 0
        b.unlink()
        (tmp_path / "kept").rename(b)
        server.start()
        with ConfigClient(server.bootstrap) as client:
            offsets = [client.produce("topic", BATCH, partition=index).base_offset for index in range(4)]
        assert offsets == [1 if index in of_b else 2 for index in range(4)]


@pytest.mark.parametrize(
    ("names", "said"),
    [(("a", "", "b"), "the name of a directory is empty"), (("a", "b", "b/../a"), "/b/../a is named twice")],
)
def test_a_list_that_cannot_be_used_is_one_line(tmp_path, names, said):
    server = RunningServer(tmp_path, log_dirs=("a",))
    server.log_dirs = [tmp_path / name if name else "" for name in names]  # type: ignore[misc]
    with pytest.raises(AssertionError):
        server.start()
    (line,) = server.log.read_text().splitlines()
    assert line.startswith("coordinator: log.dirs=")
    assert said in line
    assert not (tmp_path / "a").exists()


def test_a_directory_that_is_left_out_is_one_line(tmp_path):
    with RunningServer(tmp_path, SETTINGS, log_dirs=("a", "b")) as server:
        server.stop()
        lines = len(server.log.read_text().splitlines())
        server.log_dirs.pop()
        with pytest.raises(AssertionError):
            server.start()
        server._process = None
        (line,) = server.log.read_text().splitlines()[lines:]
        assert line.startswith(f"coordinator: log directory {tmp_path / 'b'} (directory.id ")
        assert "is missing, and has " in line
