"""The lag of groups by partition: right, bounded, and in slices."""

import asyncio
import time
from types import SimpleNamespace

from prometheus_client.parser import text_string_to_metric_families

from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.records import Record, build_batch
from coordinator.audit.world import NoCluster
from coordinator.core.kinds.table import new_group
from coordinator.core.offsets.records import CommittedOffset
from coordinator.groups.audit_projection import AuditProjection
from coordinator.groups.audit_stream import AuditStream
from coordinator.metrics.exposition import SAMPLES_AT_ONCE
from coordinator.metrics.lag_series import PARTITIONS_AT_ONCE, read_lags
from tests.admin.http_client import Scrape, get, with_node
from tests.transactional_client import TransactionalProducer
from tests.wire_client import WireClient

AGE_MS = 3_600_000
PARTITION_LAG = "coordinator_group_partition_lag"


class Logs(NoCluster):
    """All logs end at 10."""

    def log_end_offset(self, topic, partition):
        return 10


def coordinator_of(sizes):
    """Groups that have committed offset 4 in so many partitions."""
    committed = CommittedOffset(4, -1, "", 0)
    groups = {}
    for group_id, size in sizes.items():
        groups[group_id] = new_group(group_id)
        groups[group_id].offsets.put("t", dict.fromkeys(range(size), committed))
    stream = AuditStream(None, 0)  # type: ignore[arg-type]
    projection = AuditProjection(stream, node_id=1, cluster=Logs())
    shard = SimpleNamespace(machine=SimpleNamespace(groups=groups), projection=projection)
    return SimpleNamespace(shard_of=lambda group_id: shard)


def read(sizes, partitions_max, timestamp_at=lambda *place: 1_000):
    turns: list[int] = []
    asked: list[object] = []

    async def pause():
        turns.append(len(asked))

    def asking(*place):
        asked.append(place)
        return timestamp_at(*place)

    lags = asyncio.run(read_lags(sorted(sizes), coordinator_of(sizes), partitions_max, asking, 5_000, pause))
    return lags, turns


def test_the_smallest_groups_come_first_and_whole():
    lags, _ = read({"small": 2, "large": 90, "middle": 8}, 10)
    assert [(lag.label, len(lag.partitions)) for lag in lags] == [("middle", 8), ("small", 2)]
    assert lags[1].partitions == [("t", 0, 6, 4_000), ("t", 1, 6, 4_000)]


def test_no_partition_is_looked_up_where_none_is_allowed():
    assert read({"g": 1}, 0)[0] == []


def test_others_have_their_turn_while_partitions_are_looked_up():
    _, turns = read({"g": 500, "h": 500}, 1_000)
    assert turns[-1] == 1_000
    assert max(after - before for before, after in zip([0, *turns], turns, strict=False)) <= PARTITIONS_AT_ONCE


def test_an_unknown_age_is_none():
    ((_, partitions),), _ = read({"g": 1}, 5, lambda *place: None)
    assert partitions == [("t", 0, 6, None)]


def test_a_metric_with_many_series_is_one_family(tmp_path):
    count = 2 * SAMPLES_AT_ONCE + 1

    def questions(node):
        with WireClient(node.bootstrap) as client:
            client.create_topic("wide", count)
            client.produce("wide", build_batch([Record(offset=0)]), partition=count - 1)
            offsets = [OffsetCommitRequestPartition(partition_index=each, committed_offset=0) for each in range(count)]
            topics = [OffsetCommitRequestTopic(name="wide", partitions=offsets)]
            client.request(OffsetCommitRequest(group_id="g", topics=topics), 8)
        text = get(node.admin, "/metrics").text
        assert text.count(f"# TYPE {PARTITION_LAG} ") == 1
        families = {each.name: each for each in text_string_to_metric_families(text)}
        lags = {sample.labels["partition"]: sample.value for sample in families[PARTITION_LAG].samples}
        assert lags[str(count - 1)] == 1

    with_node(tmp_path, questions)


def test_markers_and_offsets_beyond_the_end_are_told(tmp_path):
    def questions(node):
        with WireClient(node.bootstrap) as client:
            for topic in ("paid", "cut"):
                client.create_topic(topic)
            producer = TransactionalProducer(client, "pay")
            producer.send("paid", 5)
            producer.end()
            client.produce("cut", build_batch([Record(offset=each) for each in range(3)]))
            for topic, offset in (("paid", 5), ("cut", 10)):
                partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
                topics = [OffsetCommitRequestTopic(name=topic, partitions=[partition])]
                client.request(OffsetCommitRequest(group_id=topic, topics=topics), 8)
        scrape = Scrape(node.admin)
        assert scrape.value(PARTITION_LAG, group="paid", topic="paid", partition="0") == 0
        assert scrape.value(f"{PARTITION_LAG}_seconds", group="paid", topic="paid", partition="0") == 0
        assert scrape.value(PARTITION_LAG, group="cut", topic="cut", partition="0") == -7
        assert scrape.value("coordinator_group_lag", group="cut") == -7
        assert scrape.value("coordinator_group_lag", group="paid") == 0

    with_node(tmp_path, questions)


def test_a_group_without_members_has_lag_by_partition(tmp_path):
    old_ms = time.time_ns() // 1_000_000 - AGE_MS

    def questions(node):
        with WireClient(node.bootstrap) as client:
            client.create_topic("orders", 3)
            for partition in (0, 1):
                records = [Record(offset=offset, timestamp_ms=old_ms, value=b"v") for offset in range(5)]
                client.produce("orders", build_batch(records), partition=partition)
            offsets = [
                OffsetCommitRequestPartition(partition_index=index, committed_offset=offset)
                for index, offset in ((0, 0), (1, 5), (2, 0))
            ]
            topics = [OffsetCommitRequestTopic(name="orders", partitions=offsets)]
            client.request(OffsetCommitRequest(group_id="batch", topics=topics), 8)
        scrape = Scrape(node.admin)
        of_group = {"group": "batch", "topic": "orders"}
        assert scrape.value(PARTITION_LAG, **of_group, partition="0") == 5
        assert scrape.value(PARTITION_LAG, **of_group, partition="1") == 0
        assert scrape.value(f"{PARTITION_LAG}_seconds", **of_group, partition="1") == 0
        assert AGE_MS <= scrape.value(f"{PARTITION_LAG}_seconds", **of_group, partition="0") * 1000 < AGE_MS + 60_000
        assert AGE_MS <= scrape.value("coordinator_group_lag_seconds", group="batch") * 1000 < AGE_MS + 60_000
        assert scrape.value("coordinator_group_lag", group="batch") == 5

    with_node(tmp_path, questions)
