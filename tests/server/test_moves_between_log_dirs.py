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
    assert (result.topic_name, [each.partition_index for each in result.partitions]) == (topic, list(partitions))
    return [each.error_code for each in result.partitions]


def described(client: WireClient, topic: str, partition: int = 0) -> dict[Path, Any]:
    """Log directory → what is said of the partition in it."""
    asked = [DescribableLogDirTopic(topic=topic, partitions=[partition])]
    results = client.request(DescribeLogDirsRequest(topics=asked), 4).results
    return {Path(each.log_dir): part for each in results for found in each.topics for part in found.partitions}


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
