"""Samples of lag from a real server."""

import asyncio
import time

import pytest

from _wire.messages.delete_groups import DeleteGroupsRequest
from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from _wire.records import Record, build_batch
from coordinator.client.cluster import Cluster
from coordinator.client.wire import ClientError
from coordinator.dashboard import lag_feed as module
from coordinator.dashboard.board import Board
from coordinator.dashboard.lag_feed import LagFeed, LagSampler
from tests.servers import RunningServer
from tests.wire_client import WireClient

AGE_MS = 3_600_000


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with RunningServer(tmp_path_factory.mktemp("lag")) as running:
        with WireClient(running.bootstrap) as client:
            client.create_topic("orders", 3)
            old_ms = time.time_ns() // 1_000_000 - AGE_MS
            for partition in (0, 1):
                records = [Record(offset=offset, timestamp_ms=old_ms, value=b"v") for offset in range(10)]
                client.produce("orders", build_batch(records), partition=partition)
            commit(client, "behind", {0: 2, 1: 10, 2: 0})
            commit(client, "done", {0: 10})
            client.join_alone("member only")
        yield running


def commit(client, group_id, offsets, topic="orders"):
    partitions = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=offset)
        for index, offset in offsets.items()
    ]
    topics = [OffsetCommitRequestTopic(name=topic, partitions=partitions)]
    client.request(OffsetCommitRequest(group_id=group_id, topics=topics), 8)


@pytest.fixture
def sampler(server):
    sampler = LagSampler(server.bootstrap)
    yield sampler
    sampler.close()


def test_a_sample_has_all_groups(sampler):
    sample = sampler.sample()
    assert {name: group.lag for name, group in sample.groups.items()} == {"behind": 8, "done": 0, "member only": None}
    assert AGE_MS <= sample.groups["behind"].lag_ms < AGE_MS + 60_000
    assert sample.groups["done"].lag_ms == 0
    assert [(partition.partition, partition.lag) for partition in sample.groups["behind"].group.partitions] == [
        (0, 8),
        (1, 0),
        (2, 0),
    ]
    assert len(sample.groups["member only"].group.members) == 1
    assert sample.groups_left_out == 0


def test_a_timestamp_is_fetched_once(sampler, monkeypatch):
    asked = []
    first_records = Cluster.first_records

    def counting(self, places, leaders):
        asked.append(len(places))
        return first_records(self, places, leaders)

    monkeypatch.setattr(Cluster, "first_records", counting)
    first, second = sampler.sample(), sampler.sample()
    assert asked == [1, 0]
    assert second.groups["behind"].lag_ms >= first.groups["behind"].lag_ms >= AGE_MS


def test_groups_at_several_offsets_of_a_partition_have_their_ages(server, sampler):
    with WireClient(server.bootstrap) as client:
        client.create_topic("shared")
        for age_ms in (5 * AGE_MS, 3 * AGE_MS):
            record = Record(offset=0, timestamp_ms=time.time_ns() // 1_000_000 - age_ms)
            client.produce("shared", build_batch([record]))
        for group_id, offset in (("first", 0), ("also first", 0), ("second", 1)):
            commit(client, group_id, {0: offset}, "shared")
        sample = sampler.sample()
        hours = [sample.groups[each].lag_ms // AGE_MS for each in ("first", "also first", "second")]
        for group_id in ("first", "also first", "second"):
            client.request(DeleteGroupsRequest(groups_names=[group_id]), 2)
    assert hours == [5, 5, 3]


def test_groups_beyond_the_limit_are_counted(sampler, monkeypatch):
    monkeypatch.setattr(module, "GROUPS_MAX", 2)
    sample = sampler.sample()
    assert (sorted(sample.groups), sample.groups_left_out) == (["behind", "done"], 1)


def test_a_server_that_comes_back_is_sampled_again(tmp_path):
    with RunningServer(tmp_path) as server:
        sampler = LagSampler(server.bootstrap)
        assert sampler.sample().groups == {}
        server.stop()
        with pytest.raises(ClientError):
            sampler.sample()
        server.start()
        assert sampler.sample().groups == {}
        sampler.close()


def test_samples_and_problems_reach_the_board(server, monkeypatch):
    monkeypatch.setattr(module, "SAMPLE_SECONDS", 0.01)

    async def followed(bootstrap):
        board, is_reported = Board(), asyncio.Event()
        board.listen(lambda _: is_reported.set())
        feed = LagFeed(board, asyncio.get_running_loop(), bootstrap)
        feed.start()
        await asyncio.wait_for(is_reported.wait(), 20)
        feed.stop()
        return board.lags

    assert asyncio.run(followed(server.bootstrap)).group("behind").lag == 8
    assert asyncio.run(followed("127.0.0.1:1")).problem.startswith("cannot reach 127.0.0.1:1")
