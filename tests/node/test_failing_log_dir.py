"""A log directory that fails while the server runs: the others are served, and nothing acknowledged is lost.

What a client is answered was compared with Kafka 4.3.1 whose second directory was removed.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from _wire.errors import ErrorCode
from _wire.messages.describe_log_dirs import DescribeLogDirsRequest
from _wire.messages.find_coordinator import FindCoordinatorRequest
from _wire.messages.init_producer_id import InitProducerIdRequest
from _wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from _wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from _wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from _wire.records import build_batch
from coordinator.core.partitioning import partition_for
from tests.node.faulty_serve import CONTROL, EVERYTHING_THAT_WRITES
from tests.node.test_faulty_disk import Client, FaultyServer
from tests.waiting import wait_for
from tests.wire_client import ConnectionClosed, fetch_request

SHARDS: Final = 4
PARTITIONS: Final = range(3)
LINE: Final = "a log directory failed; it is offline until the next start, the others are served"


@pytest.fixture
def settings() -> dict[str, str]:
    return {}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str]) -> Iterator[FaultyServer]:
    monkeypatch.setenv(CONTROL, str(tmp_path / "faults"))
    count = str(SHARDS)
    settings |= {"offsets.topic.num.partitions": count, "transaction.state.log.num.partitions": count}
    if "metadata.log.dir" in settings:
        settings["metadata.log.dir"] = str(tmp_path / settings["metadata.log.dir"])
    with FaultyServer(tmp_path, settings, ("data", "other")) as server:
        server.prepare()
        yield server
        assert "Traceback" not in server.log.read_text()


@pytest.fixture
def client(server: FaultyServer) -> Iterator[Client]:
    with Client(server.bootstrap) as client:
        client.request(FindCoordinatorRequest(key_type=1, coordinator_keys=["any"]), 4)
        for key in keys("transactions").values():
            request = InitProducerIdRequest(transactional_id=key, transaction_timeout_ms=60_000)
            wait_for(partial(has_producer_id, client, request), 10, "the transactions")
        yield client


def keys(what: object) -> dict[int, str]:
    """Partition → the name of a group, or transactional id, that belongs to it."""
    return {partition_for(f"key-{n}", SHARDS): f"key-{n}" for n in range(40)}


def topics_of(client: Client, directory: Path) -> dict[str, list[int]]:
    (found,) = [
        result
        for result in client.request(DescribeLogDirsRequest(topics=None), 4).results
        if result.log_dir == str(directory)
    ]
    return {topic.name: [partition.partition_index for partition in topic.partitions] for topic in found.topics}


def is_offline(client: Client, directory: Path) -> bool:
    (found,) = [
        result
        for result in client.request(DescribeLogDirsRequest(topics=None), 4).results
        if result.log_dir == str(directory)
    ]
    return (found.error_code, found.total_bytes) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)


def has_producer_id(client: Client, request: InitProducerIdRequest) -> bool:
    return bool(client.request(request, 4).error_code == ErrorCode.NONE)


def is_committed(client: Client, group: str) -> bool:
    return commit(client, group) is ErrorCode.NONE


def commit(client: Client, group: str) -> ErrorCode:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topic = OffsetCommitRequestTopic(name="t", partitions=[partition])
    answer = client.request(OffsetCommitRequest(group_id=group, topics=[topic]), 5)
    return ErrorCode(answer.topics[0].partitions[0].error_code)


def check_answers(client: Client, offline: dict[str, list[int]]) -> None:
    """Check what is answered about the partitions of each directory: `offline` are those of the one that failed."""

    def expected(error: ErrorCode, topic: str) -> dict[int, ErrorCode]:
        return {index: error if index in offline[topic] else ErrorCode.NONE for index in PARTITIONS}

    storage_errors = expected(ErrorCode.KAFKA_STORAGE_ERROR, "t")
    assert {index: client.send_value(b"more", index) for index in PARTITIONS} == storage_errors
    assert {index: client.fetch(index)[0] for index in PARTITIONS} == storage_errors
    wanted = [ListOffsetsPartition(partition_index=index, timestamp=-1) for index in PARTITIONS]
    listed = client.request(ListOffsetsRequest(topics=[ListOffsetsTopic(name="t", partitions=wanted)]), 5)
    assert {
        partition.partition_index: partition.error_code for partition in listed.topics[0].partitions
    } == storage_errors
    (topic,) = client.request(MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 9).topics
    for partition in topic.partitions:
        is_off = partition.partition_index in offline["t"]
        assert partition.error_code == (ErrorCode.LEADER_NOT_AVAILABLE if is_off else ErrorCode.NONE)
        assert (partition.leader_id, partition.isr_nodes, partition.offline_replicas) == (
            (-1, [], [1]) if is_off else (1, [1], [])
        )
    for key_type, name in ((0, "__consumer_offsets"), (1, "__transaction_state")):
        for partition, key in keys(name).items():
            is_off = partition in offline[name]
            request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
            found = client.request(request, 4).coordinators[0].error_code
            assert found == (ErrorCode.COORDINATOR_NOT_AVAILABLE if is_off else ErrorCode.NONE)
            refused = ErrorCode.NOT_COORDINATOR if is_off else ErrorCode.NONE
            if key_type == 0:
                assert commit(client, key) == refused
            else:
                of_producer = InitProducerIdRequest(transactional_id=key, transaction_timeout_ms=60_000)
                assert client.request(of_producer, 4).error_code == refused


def check_back(server: FaultyServer, stored: dict[int, list[bytes | None]]) -> None:
    """Check that after a start without faults all is served, with what was acknowledged."""
    server.fail()
    server.start()
    with Client(server.bootstrap) as client:
        for index, values in stored.items():
            error, found = client.fetch(index)
            assert (error, found[: len(values)]) == (ErrorCode.NONE, values)
            assert client.send_value(b"again", index) is ErrorCode.NONE
        for key in keys("groups").values():
            wait_for(partial(is_committed, client, key), 10, "the groups")
    assert server.stop() == 0


def stored(client: Client) -> dict[int, list[bytes | None]]:
    return {index: client.fetch(index)[1] for index in PARTITIONS}


def by_produce(client: Client, offline: dict[str, list[int]]) -> None:
    assert client.send_value(b"lost", offline["t"][0]) is ErrorCode.KAFKA_STORAGE_ERROR


def by_commit(client: Client, offline: dict[str, list[int]]) -> None:
    group = keys("groups")[offline["__consumer_offsets"][0]]
    assert commit(client, group) in (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)


def by_transaction(client: Client, offline: dict[str, list[int]]) -> None:
    key = keys("transactions")[offline["__transaction_state"][0]]
    request = InitProducerIdRequest(transactional_id=key, transaction_timeout_ms=60_000)
    refused = client.request(request, 4).error_code
    assert refused in (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)


@pytest.mark.parametrize("noticed", [by_produce, by_commit, by_transaction])
@pytest.mark.parametrize(
    "faults",
    [["write EIO other/"], [f"{operation} EROFS other/" for operation in EVERYTHING_THAT_WRITES]],
    ids=["EIO", "read-only"],
)
def test_a_directory_that_cannot_be_written_is_offline_and_the_others_are_served(
    server: FaultyServer,
    client: Client,
    faults: list[str],
    noticed: Callable[[Client, dict[str, list[int]]], None],
):
    other = server.folder / "other"
    offline = topics_of(client, other)
    assert {name: len(found) for name, found in offline.items() if name.startswith("__")} == {
        "__consumer_offsets": 2,
        "__group_audit": 2,
        "__transaction_state": 2,
    }
    before = stored(client)
    server.fail(*faults)
    noticed(client, offline)
    wait_for(lambda: is_offline(client, other), 5, "the directory to be offline")
    check_answers(client, offline)
    assert server.stop() == 0, "the other directory is closed cleanly"
    (line,) = server.lines("error")
    assert LINE in line
    assert f"directory={other}" in line
    check_back(server, before)


def test_a_directory_that_is_gone_is_offline(server, client):
    other = server.folder / "other"
    offline = topics_of(client, other)
    before = stored(client)
    other.rename(server.folder / "kept")
    new = next(index for index in range(4) if index in offline["u"])
    assert client.send_value(b"lost", new, topic="u") is ErrorCode.KAFKA_STORAGE_ERROR
    wait_for(lambda: is_offline(client, other), 5, "the directory to be offline")
    check_answers(client, offline)
    assert server.stop() == 0
    (line,) = server.lines("error")
    assert LINE in line
    assert not other.exists(), "nothing was made in its place"
    (server.folder / "kept").rename(other)
    check_back(server, before)


@pytest.mark.parametrize("settings", [{"log.flush.offset.checkpoint.interval.ms": "200"}])
def test_a_directory_that_is_gone_is_noticed_by_the_checkpoints(server, client):
    other = server.folder / "other"
    offline = topics_of(client, other)
    other.rename(server.folder / "kept")
    wait_for(lambda: LINE in server.log.read_text(), 5, "the directory to be offline")
    check_answers(client, offline)
    assert server.stop() == 0
    assert len(server.lines("error")) == 1


def test_a_fetch_that_waits_is_answered(server, client):
    other = server.folder / "other"
    index = topics_of(client, other)["t"][0]
    with Client(server.bootstrap) as waiting:
        end = len(client.fetch(index)[1])
        sent = waiting.send(fetch_request("t", end, partition=index, max_wait_ms=60_000), 11)
        server.fail("write EIO other/")
        client.send_value(b"lost", index)
        (answer,) = waiting.receive(sent).responses[0].partitions
        assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_new_topics_go_to_the_directories_that_are_left(server, client):
    other = server.folder / "other"
    offline = topics_of(client, other)
    server.fail("write EIO other/")
    by_produce(client, offline)
    wait_for(lambda: is_offline(client, other), 5, "the directory to be offline")
    client.create_topic("new", 4)
    for index in range(4):
        assert client.send_value(b"stored", index, topic="new") is ErrorCode.NONE
    assert topics_of(client, server.data)["new"] == [0, 1, 2, 3]


@pytest.mark.parametrize("settings", [{"log.flush.policy": "always"}])
def test_a_group_commit_answers_for_each_directory(server, client):
    other = server.folder / "other"
    offline = topics_of(client, other)
    server.fail("flush EIO other/")
    data = [PartitionProduceData(index=n, records=build_batch([(None, b"v", ())])) for n in PARTITIONS]
    request = ProduceRequest(acks=-1, topic_data=[TopicProduceData(name="t", partition_data=data)])
    answers = client.request(request, 11).responses[0].partition_responses
    errors = {answer.index: ErrorCode(answer.error_code) for answer in answers}
    off = ErrorCode.KAFKA_STORAGE_ERROR
    assert errors == {index: off if index in offline["t"] else ErrorCode.NONE for index in PARTITIONS}
    assert is_offline(client, other), "at once: what is not durable is not served"
    check_answers(client, offline)
    assert server.stop() == 0
    (line,) = server.lines("error")
    assert f"{LINE}; acknowledged data in it may be lost" in line


@pytest.mark.parametrize("settings", [{"log.flush.interval.messages": "1"}])
def test_a_flush_in_the_background_that_fails(server, client):
    other = server.folder / "other"
    offline = topics_of(client, other)
    server.fail("flush EIO other/")
    client.send_value(b"not safe", offline["t"][0])
    wait_for(lambda: is_offline(client, other), 5, "the directory to be offline")
    check_answers(client, offline)
    assert server.stop() == 0
    (line,) = server.lines("error")
    assert f"{LINE}; acknowledged data in it may be lost" in line


def test_a_full_disk_does_not_take_its_directory_offline(server, client):
    other = server.folder / "other"
    index = topics_of(client, other)["t"][0]
    for fault in ("write ENOSPC other/", "write EDQUOT other/", "open EMFILE other/"):
        server.fail(fault)
        client.send_value(b"perhaps", index)
        assert not is_offline(client, other)
    server.fail()
    assert client.send_value(b"stored", index) is ErrorCode.NONE
    assert server.stop() == 0


def test_what_can_be_read_in_the_directory_of_the_metadata_log_is_served(server, client):
    index = topics_of(client, server.data)["t"][0]
    values = client.fetch(index)
    server.fail("write EIO data/")
    for _ in range(20):
        assert client.send_value(b"lost", index) is ErrorCode.KAFKA_STORAGE_ERROR
    assert client.fetch(index) == values
    assert not is_offline(client, server.data)
    server.fail()
    assert client.send_value(b"stored", index) is ErrorCode.NONE
    assert server.stop() == 0
    (line,) = server.lines("error")
    assert "cannot append to a log" in line


@pytest.mark.parametrize("settings", [{"log.flush.offset.checkpoint.interval.ms": "200"}])
def test_without_the_directory_of_the_metadata_log_the_process_ends(server, client):
    server.data.rename(server.folder / "kept")
    assert server.wait_for_end() == 1
    last = server.log.read_text().splitlines()[-1]
    assert last.startswith(f"coordinator: stopping: log directory {server.data}, which has the metadata log, is gone: ")
    assert server.lines("error") == []


@pytest.mark.parametrize("settings", [{"metadata.log.dir": "metadata"}])
def test_the_last_directory_is_served_until_it_is_gone(server, client):
    other = server.folder / "other"
    index, last = topics_of(client, server.data)["t"][0], topics_of(client, other)
    server.fail(*(f"write EIO {log_dir.name}/t-" for log_dir in server.log_dirs))
    client.send_value(b"lost", index)
    wait_for(lambda: is_offline(client, server.data), 5, "the first directory to be offline")
    assert client.send_value(b"lost", last["t"][0]) is ErrorCode.KAFKA_STORAGE_ERROR
    assert client.fetch(last["t"][0])[0] is ErrorCode.NONE
    server.fail()
    other.rename(server.folder / "kept")
    with suppress(ConnectionClosed):
        client.send_value(b"lost", last["u"][0], topic="u")
    assert server.wait_for_end() == 1
    said = server.log.read_text().splitlines()[-1]
    assert said.startswith(f"coordinator: stopping: log directory {other}, which was the last one, is gone: ")
