"""Since when committed offsets are what they are, by the records of a real server."""

import time
from collections.abc import Iterator

import pytest

from _wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from coordinator.client import standing_offsets as module
from coordinator.client.cluster import Cluster
from coordinator.client.standing_offsets import Standing, find_standing
from coordinator.core.partitioning import partition_for
from coordinator.internal_topics import OFFSETS_TOPIC
from tests.servers import RunningServer
from tests.transactional_client import TransactionalProducer
from tests.waiting import wait_for
from tests.wire_client import WireClient

T = ("t", 0)


@pytest.fixture
def client(server: RunningServer) -> Iterator[WireClient]:
    with WireClient(server.bootstrap) as connected:
        yield connected


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def next_ms() -> int:
    """The present time, of which all that was before differs."""
    before = now_ms()
    wait_for(lambda: now_ms() > before, 5, "the next millisecond")
    return now_ms()


def commit(client: WireClient, group_id: str, offset: int) -> None:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    topics = [OffsetCommitRequestTopic(name="t", partitions=[partition])]
    answer = client.request(OffsetCommitRequest(group_id=group_id, topics=topics), 8)
    assert answer.topics[0].partitions[0].error_code == 0


def standing(server: RunningServer, group_id: str, offset: int, at_ms: int | None = None) -> Standing | None:
    with Cluster(server.bootstrap, "test", 4) as cluster:
        return find_standing(cluster, group_id, {T: offset}, at_ms or now_ms()).get(T)


@pytest.fixture(autouse=True, scope="module")
def topic(server: RunningServer) -> None:
    with WireClient(server.bootstrap) as connected:
        connected.create_topic("t")


def test_an_offset_stands_from_its_first_commit_on(server, client):
    commit(client, "first", 3)
    begin_ms = next_ms()
    commit(client, "first", 4)
    end_ms = next_ms()
    commit(client, "first", 4)
    found = standing(server, "first", 4)
    assert found is not None
    assert begin_ms <= found.since_ms < end_ms <= (found.committed_ms or 0) <= now_ms()
    assert (found.moved_ms, found.is_longer) == (found.since_ms, False)


def test_the_first_offset_of_a_new_group_has_not_stood_before(server, client):
    commit(client, "new", 3)
    found = standing(server, "new", 3)
    assert found is not None
    assert (found.is_longer, found.moved_ms, found.committed_ms) == (False, None, found.since_ms)


def test_what_was_committed_before_all_that_is_looked_at_is_older(server, client):
    commit(client, "older", 3)
    at_ms = now_ms() + module.WINDOW_MS + 60_000
    assert standing(server, "older", 3, at_ms) == Standing(at_ms - module.WINDOW_MS, is_longer=True)


def test_an_offset_that_is_no_longer_the_last_one_moves(server, client):
    commit(client, "moves", 3)
    assert standing(server, "moves", 2) is None


def test_who_owns_it_since_a_moment_ago_has_not_owned_it_before(server, client):
    commit(client, "returns", 2)
    commit(client, "returns", 3)
    joined_ms = next_ms()
    client.join_alone("returns")
    found = standing(server, "returns", 3)
    assert found is not None
    assert found.since_ms >= joined_ms > (found.moved_ms or 0)
    assert not found.is_longer


def test_other_groups_of_the_partition_change_nothing(server, client):
    with Cluster(server.bootstrap, "test", 4) as cluster:
        count = cluster.partition_count(OFFSETS_TOPIC)
    names = (f"g{number}" for number in range(100 * count))
    own, other, *_ = (name for name in names if partition_for(name, count) == 0)
    commit(client, own, 3)
    next_ms()
    commit(client, other, 7)
    client.join_alone(other)
    found = standing(server, own, 3)
    assert found is not None
    assert found.committed_ms == found.since_ms


def test_an_offset_of_a_transaction_counts_from_its_end_on(server, client):
    commit(client, "pays", 3)
    producer = TransactionalProducer(client, "pays")
    producer.send_offset("pays", "t", 4)
    pending = standing(server, "pays", 3)
    assert pending is not None
    assert pending.moved_ms is None
    end_ms = next_ms()
    producer.end()
    found: list[Standing] = []

    def ended() -> bool:
        found[:] = filter(None, [standing(server, "pays", 4)])
        return bool(found)

    wait_for(ended, 10, "the end of the transaction")
    assert found[0].since_ms >= end_ms
    producer.send_offset("pays", "t", 9)
    producer.end(committed=False)
    assert standing(server, "pays", 4) is not None


def test_the_newest_records_alone_are_looked_through(server, client, monkeypatch):
    for offset in (1, 2, 3):
        commit(client, "busy", offset)
        next_ms()
    commit(client, "busy", 3)
    monkeypatch.setattr(module, "RECORDS_MAX", 1)
    found = standing(server, "busy", 3)
    assert found is not None
    assert (found.is_longer, found.moved_ms, found.committed_ms) == (True, None, found.since_ms)


def test_a_large_partition_is_read_in_parts(server, client, monkeypatch):
    monkeypatch.setattr(module, "FETCH_BYTES", 1)
    for offset in range(5):
        commit(client, "parts", offset)
    found = standing(server, "parts", 4)
    assert found is not None
    assert found.moved_ms == found.since_ms
