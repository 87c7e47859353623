"""A server that compacts in its thread while clients commit, produce and read; a kill; a load of what is left."""

import contextlib
import re
from pathlib import Path

from _wire.errors import NONE
from _wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from _wire.records import batch_headers, build_batch, parse_records
from tests.servers import QUICK_GROUPS, RunningServer
from tests.waiting import wait_for
from tests.wire_client import WireClient, fetch_request, produce_request

SETTINGS = QUICK_GROUPS | {
    "offsets.topic.num.partitions": "1",
    "offsets.topic.segment.bytes": "1048576",
    "log.segment.bytes": "1048576",
    "log.cleaner.backoff.ms": "100",
    "log.segment.delete.delay.ms": "100",
}
PARTITIONS = 3
ROUNDS = 120
PADDING_BYTES = 4_000
WRITTEN_BYTES = ROUNDS * 2 * PARTITIONS * PADDING_BYTES


def commit(client: WireClient, group: str, offset: int, padding: str) -> None:
    partitions = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=offset + index, committed_metadata=padding)
        for index in range(PARTITIONS)
    ]
    topics = [OffsetCommitRequestTopic(name="orders", partitions=partitions)]
    (topic,) = client.request(OffsetCommitRequest(group_id=group, topics=topics), 8).topics
    assert [partition.error_code for partition in topic.partitions] == [NONE] * PARTITIONS


def committed(client: WireClient, group: str) -> list[int]:
    topics = [OffsetFetchRequestTopic(name="orders", partition_indexes=list(range(PARTITIONS)))]
    (topic,) = client.request(OffsetFetchRequest(group_id=group, topics=topics), 5).topics
    return [partition.committed_offset for partition in topic.partitions]


def compacted(server: RunningServer, log: str) -> list[str]:
    lines = re.sub(r"\x1b\[[0-9;]*m", "", server.log.read_text(encoding="utf-8")).splitlines()
    return [line for line in lines if "compacted a log" in line and log in line]


def size_of_logs(folder: Path) -> int:
    """Bytes of all `.log` files of a partition. A file may go between the listing and the question for its size."""
    total = 0
    for path in folder.glob("*.log"):
        with contextlib.suppress(FileNotFoundError):
            total += path.stat().st_size
    return total


def test_offsets_are_the_same_after_a_compaction_and_a_kill(tmp_path: Path) -> None:
    with RunningServer(tmp_path, SETTINGS) as server:
        with WireClient(server.bootstrap) as client:
            create_topic(client, "orders", "delete")
            for number in range(ROUNDS):
                for group in ("g1", "g2"):
                    commit(client, group, number, "m" * PADDING_BYTES)
            expected = {group: committed(client, group) for group in ("g1", "g2")}
        assert expected["g1"] == [ROUNDS - 1, ROUNDS, ROUNDS + 1]
        folder = server.data / "__consumer_offsets-0"
        # The first compaction may have run when only one of the closed segments was there.
        wait_for(lambda: size_of_logs(folder) < WRITTEN_BYTES // 2, 20, "the compaction of all but the active segment")
        wait_for(lambda: compacted(server, "__consumer_offsets-0"), 20, "the log line of a compaction")
        wait_for(lambda: not list(folder.glob("*.deleted")), 20, "the removal of the old files")
        server.kill()
        server.start()
        with WireClient(server.bootstrap) as client:
            loaded = wait_for(lambda: committed(client, "g1") == expected["g1"], 20, "the load")
            assert loaded
            assert committed(client, "g2") == expected["g2"]


def test_a_consumer_reads_the_last_value_of_each_key(tmp_path: Path) -> None:
    with RunningServer(tmp_path, SETTINGS) as server, WireClient(server.bootstrap) as client:
        create_topic(client, "table", "compact")
        for number in range(30):
            records = build_batch([(b"k%d" % (number % 4), b"%d" % number + bytes(100_000), ())], timestamp_ms=1)
            (answer,) = client.request(produce_request("table", records), 8).responses
            assert answer.partition_responses[0].error_code == NONE
        wait_for(lambda: len(read_table(client)) < 20, 20, "the compaction of all but the active segment", every_ms=100)
        table = read_table(client)
    assert [offset for offset, _, _ in table] == sorted({offset for offset, _, _ in table})
    assert {key: value.rstrip(b"\0") for _, key, value in table} == {
        b"k0": b"28",
        b"k1": b"29",
        b"k2": b"26",
        b"k3": b"27",
    }


def read_table(client: WireClient) -> list[tuple[int, bytes, bytes]]:
    """Offset, key and value of each record of the topic of 30 records."""
    offset = 0
    read: list[tuple[int, bytes, bytes]] = []
    while offset < 30:
        (topic,) = client.request(fetch_request("table", offset, max_bytes=300_000), 11).responses
        (partition,) = topic.partitions
        assert partition.error_code == NONE
        records = parse_records(partition.records or b"")
        read += [(record.offset, record.key or b"", record.value or b"") for record in records]
        offset = batch_headers(partition.records or b"")[-1].next_offset
    return read


def create_topic(client: WireClient, name: str, policy: str) -> None:
    configs = [CreatableTopicConfig(name="cleanup.policy", value=policy)]
    topic = CreatableTopic(name=name, num_partitions=PARTITIONS, replication_factor=1, configs=configs)
    (created,) = client.request(CreateTopicsRequest(topics=[topic]), 4).topics
    assert created.error_code == NONE
