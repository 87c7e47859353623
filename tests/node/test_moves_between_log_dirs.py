"""Partitions change their log directory while real clients write to them and read them."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from _wire.errors import ErrorCode
from _wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from _wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from _wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from _wire.records import build_batch
from tests.servers import QUICK_GROUPS, RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient

SLOW: Final = {"replica.alter.log.dirs.io.max.bytes.per.second": "1000000"}
SETTINGS: Final = QUICK_GROUPS | {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
MOVE_SECONDS: Final = 60


def alter(client: WireClient, path: Path, topic: str, *partitions: int, version: int = 2) -> list[int]:
    """The error codes."""
    topics = [AlterReplicaLogDirTopic(name=topic, partitions=list(partitions))]
    request = AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=str(path), topics=topics)])
    (result,) = client.request(request, version).results
    assert (result.topic_name, [partition.partition_index for partition in result.partitions]) == (
        topic,
        list(partitions),
    )
    return [partition.error_code for partition in result.partitions]


def described(client: WireClient, topic: str, partition: int = 0) -> dict[Path, Any]:
    """Log directory → what is said of the partition in it."""
    asked = [DescribableLogDirTopic(topic=topic, partitions=[partition])]
    results = client.request(DescribeLogDirsRequest(topics=asked), 4).results
    return {Path(result.log_dir): part for result in results for found in result.topics for part in found.partitions}


def home(client: WireClient, topic: str, partition: int = 0) -> Path:
    (path,) = [path for path, each in described(client, topic, partition).items() if not each.is_future_key]
    return path


def wait_until_moved(client: WireClient, topic: str, path: Path, partition: int = 0) -> None:
    wait_for(
        lambda: list(described(client, topic, partition)) == [path], MOVE_SECONDS, f"{topic}-{partition} in {path}"
    )


def folders(server: RunningServer, name: str) -> list[Path]:
    return sorted(path for root in server.log_dirs for path in root.glob(f"{name}*"))


class Writers:
    """Clients that write without a pause until `end`, each to all partitions of the topic."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._topic = topic
        self._has_ended = threading.Event()
        self.acknowledged: dict[str, list[bytes]] = {"idempotent": [], "committed": []}
        self.aborted: list[bytes] = []
        self.problems: list[BaseException] = []
        self._threads = [
            threading.Thread(target=self._run, args=(work, KafkaProducer(bootstrap_servers=bootstrap, **options)))
            for work, options in (
                (self._write, {"enable_idempotence": True, "linger_ms": 1}),
                (self._write_in_transactions, {"transactional_id": "writer"}),
            )
        ]
        for thread in self._threads:
            thread.start()

    def _run(self, work: Callable[[KafkaProducer], None], producer: KafkaProducer) -> None:
        try:
            work(producer)
        except BaseException as problem:
            self.problems.append(problem)
        finally:
            producer.close(timeout=5)

    def _write(self, producer: KafkaProducer) -> None:
        number = 0
        while not self._has_ended.is_set():
            values = [b"idempotent-%08d" % (number + n) for n in range(50)]
            sent = [producer.send(self._topic, value + bytes(500), partition=0) for value in values]
            for each in sent:
                each.get(timeout=30)
            self.acknowledged["idempotent"] += values
            number += len(values)

    def _write_in_transactions(self, producer: KafkaProducer) -> None:
        producer.init_transactions()
        number = 0
        while not self._has_ended.is_set():
            producer.begin_transaction()
            values = [b"committed-%08d" % (number + n) for n in range(5)]
            sent = [producer.send(self._topic, value, partition=0) for value in values]
            for each in sent:
                each.get(timeout=30)
            if number % 25 == 0:
                producer.abort_transaction()
                self.aborted += values
            else:
                producer.commit_transaction()
                self.acknowledged["committed"] += values
            number += len(values)

    def end(self) -> None:
        self._has_ended.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()
        assert self.problems == []


def consumed(bootstrap: str, topic: str, isolation_level: str) -> list[bytes]:
    partition = TopicPartition(topic, 0)
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, isolation_level=isolation_level, auto_offset_reset="earliest", group_id=None
    )
    try:
        consumer.assign([partition])
        end = consumer.end_offsets([partition])[partition]
        found: list[bytes] = []
        while consumer.position(partition) < end:
            for records in consumer.poll(1000).values():
                found += [record.value for record in records]
        return found
    finally:
        consumer.close()


def check_all(bootstrap: str, topic: str, writers: Writers) -> None:
    """Each acknowledged record is there once and in order, in both isolation levels."""
    committed = [
        value[: len(b"idempotent-00000000")].rstrip(b"\0") for value in consumed(bootstrap, topic, "read_committed")
    ]
    for kind, values in writers.acknowledged.items():
        assert [value for value in committed if value.startswith(kind.encode())] == values, kind
    assert not set(committed) & set(writers.aborted)
    assert set(consumed(bootstrap, topic, "read_uncommitted")) >= set(writers.aborted)


@pytest.mark.realtime
@pytest.mark.parametrize("policy", ["page-cache", "always"])
def test_clients_write_while_a_partition_moves_to_and_fro(tmp_path, policy):
    settings = SETTINGS | {"log.flush.policy": policy}
    with RunningServer(tmp_path, settings, log_dirs=("a", "b")) as server, WireClient(server.bootstrap) as client:
        client.create_topic("t", 1, {"segment.bytes": "1048576"})
        writers = Writers(server.bootstrap, "t")
        try:
            wait_for(lambda: len(writers.acknowledged["committed"]) > 50 or writers.problems, 30, "records")
            for _ in range(6):
                (target,) = [path for path in server.log_dirs if path != home(client, "t")]
                assert alter(client, target, "t", 0) == [ErrorCode.NONE]
                wait_until_moved(client, "t", target)
        finally:
            writers.end()
        check_all(server.bootstrap, "t", writers)
        wait_for(lambda: folders(server, "t-0") == [target / "t-0"], 10, "the removal of the former folders")
        server.kill()
        server.start()
        check_all(server.bootstrap, "t", writers)


def committed_offset(client: WireClient, group: str) -> int:
    request = OffsetFetchRequest(
        group_id=group, topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[0])], require_stable=False
    )
    (topic,) = client.request(request, 7).topics
    (partition,) = topic.partitions
    offset: int = partition.committed_offset
    return offset


def commit(client: WireClient, group: str, offset: int) -> int:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="")
    topics = [OffsetCommitRequestTopic(name="t", partitions=[partition])]
    (topic,) = client.request(OffsetCommitRequest(group_id=group, topics=topics), 7).topics
    error: int = topic.partitions[0].error_code
    return error


def test_a_group_commits_while_its_partition_moves(tmp_path):
    settings = SETTINGS | {"offsets.topic.segment.bytes": "1048576", "log.cleaner.backoff.ms": "20"}
    with RunningServer(tmp_path, settings, log_dirs=("a", "b")) as server:
        with WireClient(server.bootstrap) as client:
            client.create_topic("t")
            member = client.join_alone("with a member")
            offset = 0
            for _ in range(4):
                (target,) = [path for path in server.log_dirs if path != home(client, "__consumer_offsets")]
                assert alter(client, target, "__consumer_offsets", 0) == [ErrorCode.NONE]
                assert alter(client, target, "__group_audit", 0) == [ErrorCode.NONE]
                while home(client, "__consumer_offsets") != target or home(client, "__group_audit") != target:
                    offset += 1
                    assert commit(client, "simple", offset) == ErrorCode.NONE
                    assert client.heartbeat_error("with a member", member) == ErrorCode.NONE
            assert committed_offset(client, "simple") == offset > 4
        server.kill()
        server.start()
        with WireClient(server.bootstrap) as client:
            wait_for(lambda: committed_offset(client, "simple") == offset, 10, "the committed offset")
            assert client.heartbeat_error("with a member", member) == ErrorCode.NONE
            assert home(client, "__consumer_offsets") == target


def filled(client: WireClient, megabytes: int = 4) -> None:
    client.create_topic("t", 1, {"segment.bytes": "1048576"})
    for _ in range(megabytes * 4):
        assert client.produce("t", build_batch([(None, bytes(250_000), ())])).error_code == ErrorCode.NONE


def test_a_slow_move_is_described_given_up_and_begun_again(tmp_path):
    with RunningServer(tmp_path, SETTINGS | SLOW, log_dirs=("a", "b", "c")) as server:
        with WireClient(server.bootstrap) as client:
            filled(client)
            a = home(client, "t")
            b, c = (path for path in server.log_dirs if path != a)
            size_bytes = described(client, "t")[a].partition_size
            assert (alter(client, b, "t", 0), list(described(client, "t"))) == ([ErrorCode.NONE], sorted((a, b)))
            future = wait_for(
                lambda: [
                    each for each in described(client, "t").values() if each.is_future_key and each.offset_lag < 16
                ],
                10,
                "a part of the copy",
            )[0]
            assert 0 < future.partition_size < size_bytes
            assert 0 < future.offset_lag < 16
            assert alter(client, c, "t", 0, version=1) == [ErrorCode.NONE]
            assert sorted(described(client, "t")) == sorted((a, c))
            assert alter(client, a, "t", 0) == [ErrorCode.NONE]
            assert list(described(client, "t")) == [a]
            wait_for(lambda: folders(server, "t-0") == [a / "t-0"], 10, "the removal of the copies")
            assert alter(client, b, "t", 0) == [ErrorCode.NONE]
        server.kill()
        assert {path.parent for path in folders(server, "t-0")} == {a, b}
        server.start()
        with WireClient(server.bootstrap) as client:
            assert sorted(described(client, "t")) == sorted((a, b)), "the next start goes on"
            assert client.produce("t", build_batch([(None, b"last", ())])).base_offset == 16
        assert server.stop() == 0
        (copy,) = [path for path in folders(server, "t-0") if path.parent == b]
        assert sorted(path.name for path in copy.iterdir()) == ["partition.metadata", "source.metadata"]
        server.start()
        with WireClient(server.bootstrap) as client:
            wait_until_moved(client, "t", b)
            assert b / "t-0" in folders(server, "t-0")
            assert client.produce("t", build_batch([(None, b"last", ())])).base_offset == 17
        assert len(consumed(server.bootstrap, "t", "read_uncommitted")) == 18


def test_a_topic_is_deleted_while_it_moves(tmp_path):
    with (
        RunningServer(tmp_path, SETTINGS | SLOW, log_dirs=("a", "b")) as server,
        WireClient(server.bootstrap) as client,
    ):
        filled(client)
        (target,) = [path for path in server.log_dirs if path != home(client, "t")]
        assert alter(client, target, "t", 0) == [ErrorCode.NONE]
        client.delete_topic("t")
        assert described(client, "t") == {}
        wait_for(lambda: folders(server, "t-0") == [], 10, "the removal of all folders")


def test_a_partition_that_is_listed_twice_goes_to_the_last_directory(tmp_path):
    with RunningServer(tmp_path, SETTINGS, log_dirs=("a", "b")) as server, WireClient(server.bootstrap) as client:
        client.create_topic("t", 2)
        a, b = server.log_dirs
        topics = [AlterReplicaLogDirTopic(name="t", partitions=[0, 1, 0])]
        none = [AlterReplicaLogDirTopic(name="t", partitions=[])]
        wanted = [
            AlterReplicaLogDir(path=str(path), topics=each)
            for path, each in ((a, topics), (b, topics), (b, topics), (Path("nowhere"), none), (a, []))
        ]
        (result,) = client.request(AlterReplicaLogDirsRequest(dirs=wanted), 2).results
        assert [(partition.partition_index, partition.error_code) for partition in result.partitions] == [
            (0, 0),
            (1, 0),
        ]
        for partition in (0, 1):
            wait_until_moved(client, "t", b, partition)
        assert client.request(AlterReplicaLogDirsRequest(dirs=[]), 2).results == []
